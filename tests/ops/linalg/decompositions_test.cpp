// SPDX-License-Identifier: Apache-2.0
// Decompositions of several parts: what they promise, their gradients, and every way of running.
// Those of one part have cases in tests/every_operator.
#include <cmath>

#include "autodiff/backward.h"
#include "graph/modes.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

Tensor flat(const std::vector<Tensor>& parts) {
  std::vector<Tensor> vectors;
  for (const Tensor& part : parts) vectors.push_back(reshape(part, {part.size()}));
  return concat(vectors, 0);
}

Tensor symmetric(const Tensor& x) { return x + transpose(x); }

Function qr_of(bool complete) {
  return [=](const std::vector<Tensor>& in) {
    Qr of = qr(in[0], complete);
    return flat({of.q, of.r});
  };
}
Tensor eigh_of(const std::vector<Tensor>& in) {
  Eigh of = eigh(symmetric(in[0]));
  return flat({of.values, of.vectors});
}
Function svd_of(bool full) {
  return [=](const std::vector<Tensor>& in) {
    Svd of = svd(in[0], full);
    return flat({of.u, of.s, of.vt});
  };
}
Tensor slogdet_of(const std::vector<Tensor>& in) {
  Slogdet of = slogdet(in[0]);
  return flat({of.sign, of.logabsdet});
}

void expect_orthonormal(const Tensor& columns, double tolerance) {
  int64_t n = columns.shape().back();
  Tensor product = matmul(transpose(columns), columns);
  expect_near(product - eye(n, n, 0, columns.dtype(), columns.device()),
              std::vector<double>(static_cast<size_t>(product.size())), tolerance);
}

void expect_same(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  expect_near(a, read(b), tolerance);
}

const Shape shapes[] = {{5, 3}, {3, 5}, {4, 4}, {2, 3, 6, 4}, {1, 7}, {7, 1}, {40, 33}};

class OnDevices : public ::testing::TestWithParam<const char*> {
 protected:
  Device& device() const { return GetParam() == std::string("cpu") ? cpu() : reference(); }
  static double tolerance(Dtype dtype) { return dtype == Dtype::float64 ? 1e-13 : 2e-5; }
};
INSTANTIATE_TEST_SUITE_P(Linalg, OnDevices, ::testing::Values("cpu", "reference"));

TEST_P(OnDevices, QrMultipliesBack) {
  for (Dtype dtype : {Dtype::float64, Dtype::float32}) {
    for (const Shape& shape : shapes) {
      for (bool complete : {false, true}) {
        Tensor x = noise(shape, 1, dtype, device());
        Qr of = qr(x, complete);
        expect_orthonormal(of.q, tolerance(dtype));
        expect_same(matmul(of.q, of.r), x, 4 * tolerance(dtype));
        expect_same(triu(of.r, 0), of.r, 0);
      }
    }
  }
}

TEST_P(OnDevices, SvdMultipliesBack) {
  for (Dtype dtype : {Dtype::float64, Dtype::float32}) {
    for (const Shape& shape : shapes) {
      Tensor x = noise(shape, 2, dtype, device());
      for (bool full : {false, true}) {
        Svd of = svd(x, full);
        expect_orthonormal(of.u, tolerance(dtype));
        expect_orthonormal(transpose(of.vt), tolerance(dtype));
        int64_t p = of.s.shape().back();
        Tensor u = slice(of.u, of.u.rank() - 1, 0, p, 1);
        Tensor vt = slice(of.vt, of.vt.rank() - 2, 0, p, 1);
        expect_same(matmul(u * unsqueeze(of.s, -2), vt), x, 8 * tolerance(dtype));
        expect_same(sort(of.s, -1, true), of.s, 0);
        expect_same(svdvals(x), of.s, 8 * tolerance(dtype));
      }
    }
  }
}

TEST_P(OnDevices, EighMultipliesBack) {
  for (Dtype dtype : {Dtype::float64, Dtype::float32}) {
    for (const Shape& shape : {Shape{4, 4}, Shape{2, 3, 5, 5}, Shape{1, 1}, Shape{33, 33}}) {
      Tensor x = symmetric(noise(shape, 3, dtype, device()));
      Eigh of = eigh(x);
      expect_orthonormal(of.vectors, tolerance(dtype));
      expect_same(matmul(of.vectors * unsqueeze(of.values, -2), transpose(of.vectors)), x,
                  20 * tolerance(dtype));
      expect_same(sort(of.values, -1, false), of.values, 0);
      expect_same(eigvalsh(x), of.values, 20 * tolerance(dtype));
      // The upper triangle is not read.
      expect_same(eigvalsh(tril(x, 0)), eigvalsh(x), 0);
    }
  }
}

// Vectors that no singular value determines are orthonormal all the same.
TEST_P(OnDevices, SvdOfDeficientMatrices) {
  // Products of few columns, as whole numbers and not.
  for (unsigned seed = 0; seed < 40; ++seed) {
    int64_t p = 2 + seed % 9, q = p + seed % 4, rank = 1 + seed % (p - 1);
    Tensor left = noise({p, rank}, seed, Dtype::float64, device()) * 4;
    Tensor right = noise({rank, q}, seed + 100, Dtype::float64, device()) * 4;
    if (seed % 2) left = round(left), right = round(right);
    Tensor x = matmul(left, right);
    Svd of = svd(x, false);
    expect_orthonormal(of.u, 1e-13);
    expect_same(matmul(of.u * unsqueeze(of.s, -2), of.vt), x, 1e-12);
  }
  for (const Tensor& x : {zeros_like(noise({4, 3}, 1, Dtype::float64, device())),
                          ones_like(noise({3, 4}, 1, Dtype::float64, device())),
                          make({3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 1}, Dtype::float64, device())}) {
    Svd of = svd(x, true);
    expect_orthonormal(of.u, 1e-13);
    expect_orthonormal(transpose(of.vt), 1e-13);
    Svd reduced = svd(x, false);
    expect_same(matmul(reduced.u * unsqueeze(reduced.s, -2), reduced.vt), x, 1e-13);
  }
  Tensor ones = ones_like(noise({3, 4}, 1, Dtype::float64, device()));
  expect_near(matrix_rank(ones, nullptr), {1});
  expect_near(pinv(ones, nullptr), std::vector<double>(12, 1.0 / 12), 1e-14);
}

TEST_P(OnDevices, ScalesDoNotOverflow) {
  for (double scale : {1e-200, 1e200}) {
    Tensor x = make({2, 2}, {3 * scale, scale, scale, 3 * scale}, Dtype::float64, device());
    expect_near(eigvalsh(x) / scale, {2, 4}, 1e-13);
    expect_near(svdvals(x) / scale, {4, 2}, 1e-13);
    expect_near(slogdet(x).logabsdet, {std::log(8.0) + 2 * std::log(scale)}, 1e-11);
    Qr of = qr(x, false);
    expect_orthonormal(of.q, 1e-13);
  }
}

TEST_P(OnDevices, KnownValues) {
  Tensor x = make({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4}, Dtype::float64, device());
  expect_near(det(x), {-6, 0});
  Slogdet of = slogdet(x);
  expect_near(of.sign, {-1, 0});
  expect_near(of.logabsdet, {std::log(6.0), -INFINITY});
  expect_near(solve(select(x, 0, 0), make({2}, {2, 7}, Dtype::float64, device())), {1, 1});
  expect_near(inverse(select(x, 0, 0)), {-2.0 / 3, 1.0 / 3, 0.5, 0});
  // Signs of free vectors: the component that is nearly the largest, or the first of them.
  Eigh turned = eigh(make({2, 2}, {2, 1, 1, 2}, Dtype::float64, device()));
  double h = std::sqrt(0.5);
  expect_near(turned.vectors, {h, h, -h, h});
  // Tall, with a square of each kind.
  expect_near(cholesky(make({2, 2}, {4, 99, 2, 5}, Dtype::float64, device()), false), {2, 0, 1, 2});
  expect_near(matrix_power(select(x, 0, 0), 0), {1, 0, 0, 1});
  expect_near(matrix_power(make({2, 2}, {1, 1, 0, 1}, Dtype::int64, device()), 10), {1, 10, 0, 1});
}

TEST_P(OnDevices, EmptyMatrices) {
  auto none = [&](const Shape& shape) { return full(shape, 0, Dtype::float32, device()); };
  expect_near(det(none({3, 0, 0})), {1, 1, 1});
  EXPECT_EQ(to_string(inverse(none({0, 3, 3})).shape()), "[0,3,3]");
  EXPECT_EQ(read(inverse(none({0, 3, 3}))).size(), 0u);
  EXPECT_EQ(read(solve(none({2, 0, 0}), none({2, 0, 4}))).size(), 0u);
  EXPECT_EQ(to_string(solve(ones_like(none({1, 1})), none({1, 0})).shape()), "[1,0]");
  EXPECT_EQ(read(qr(none({0, 3}), false).r).size(), 0u);
  expect_near(qr(none({2, 0}), true).q, {1, 0, 0, 1});
  expect_near(svd(none({2, 0}), true).u, {1, 0, 0, 1});
  EXPECT_EQ(to_string(eigh(none({0, 2, 2})).vectors.shape()), "[0,2,2]");
  EXPECT_EQ(to_string(pinv(none({2, 0, 3}), nullptr).shape()), "[2,3,0]");
  expect_near(matrix_rank(none({2, 0, 3}), nullptr), {0, 0});
}

TEST(Decompositions, Gradients) {
  for (const Shape& shape : {Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 3}}) {
    check_gradients(qr_of(false), {noise(shape, 4)}, 2, 1e-5);
    check_gradients(svd_of(false), {noise(shape, 5)}, 2, 1e-4);
  }
  check_gradients(qr_of(true), {noise({2, 4}, 6)}, 2, 1e-5);
  check_gradients(eigh_of, {noise({2, 3, 3}, 7)}, 2, 1e-5);
  check_gradients(slogdet_of, {noise({2, 3, 3}, 8)}, 2, 1e-5);
}

// A determinant is a polynomial: its gradients are the cofactors, and theirs, also where the matrix
// is singular, of any rank.
TEST(Decompositions, DeterminantsOfSingularMatricesHaveGradients) {
  Function f = [](const std::vector<Tensor>& in) { return det(in[0]); };
  Tensor x = leaf(make({2, 2}, {1, 2, 2, 4}));
  Tensor y = det(x);
  expect_near(gradients({y}, {ones_like(y)}, {x})[0], {4, -2, -2, 1});
  {
    GradientMode none(false);
    expect_near(gradients({y}, {ones_like(y)}, {x})[0], {4, -2, -2, 1});
  }
  check_gradients(f, {make({2, 1, 1}, {0, 3})}, 2);
  check_gradients(f, {make({3, 2, 2}, {0, 1, 0, 0, 0, 0, 0, 0, 3, 4, 5, 6})}, 2);
  Tensor a = noise({4, 2}, 1), b = noise({2, 4}, 2), thin = noise({4, 1}, 3);
  for (const Tensor& singular : {matmul(a, b), matmul(a, b) + matmul(thin, transpose(thin)),
                                 tril(noise({4, 4}, 4), -1), triu(noise({4, 4}, 5), 1)}) {
    check_gradients(f, {singular}, 2);
  }
  check_gradients(f, {noise({2, 3, 3}, 6)}, 2);
}

// Too large for minors, the cofactors still come from the elimination.
TEST(Decompositions, LargeDeterminantsHaveGradients) {
  Function f = [](const std::vector<Tensor>& in) { return det(in[0]); };
  Tensor x = noise({10, 10}, 1);
  check_gradients(f, {x}, 2, 1e-5);
  Tensor once = slice(x, 0, 0, 9, 1), twice = slice(x, 0, 0, 8, 1);
  check_gradients(f, {concat({once, slice(x, 0, 3, 1, 1)}, 0)}, 1, 1e-5);
  check_gradients(f, {concat({slice(x, 0, 3, 1, 1) * 2.0, twice, slice(x, 0, 3, 1, 1)}, 0)}, 1);
  // Beyond the first derivative a singular one has no answer, rather than a wrong one.
  Tensor none = slice(x, 0, 3, 1, 1) * 0.0, flat = concat({once, none}, 0);
  check_gradients(f, {flat}, 1, 1e-5);
  Tensor singular = leaf(flat), y = det(singular);
  Tensor slope = gradients({y}, {ones_like(y)}, {singular})[0];
  for (double curve : read(gradients({sum(slope, {})}, {ones_like(y)}, {singular})[0])) {
    EXPECT_TRUE(std::isnan(curve));
  }
  for (int64_t n : {3, 12}) check_devices(f, {{2, n, n}});
}

// Of one vector too many each, the completed ones are the same on every device as well.
TEST(Decompositions, Devices) {
  for (const Shape& shape : {Shape{4, 2}, Shape{2, 4}, Shape{2, 3, 3}}) {
    check_devices(qr_of(false), {shape});
    check_devices(svd_of(false), {shape}, Dtype::float32, 1e-4);
  }
  check_devices(qr_of(true), {{3, 3}});
  check_devices(svd_of(true), {{2, 2}}, Dtype::float64, 1e-11);
  check_devices(eigh_of, {{2, 4, 4}}, Dtype::float32, 1e-4);
  check_devices(slogdet_of, {{2, 4, 4}});
}

// What turns with the vectors of an equal value has no gradient; what does not, has.
TEST(Decompositions, GradientsAtEqualValues) {
  Tensor x = leaf(make({3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 5}));
  Eigh of = eigh(x);
  Tensor root = matmul(of.vectors * unsqueeze(sqrt(of.values), -2), transpose(of.vectors));
  double a = 0.5 / std::sqrt(2), b = 0.5 / std::sqrt(5);
  expect_near(gradients({sum(matrix_diagonal(root, 0))}, {}, {x})[0], {a, 0, 0, 0, a, 0, 0, 0, b});
  expect_near(gradients({sum(eigvalsh(x))}, {}, {x})[0], {1, 0, 0, 0, 1, 0, 0, 0, 1});
  expect_near(gradients({sum(svd(x, false).s)}, {}, {x})[0], {1, 0, 0, 0, 1, 0, 0, 0, 1});
  // The pseudo-inverse of a rotation, all of whose singular values are 1, near an inverse.
  Tensor turn = leaf(make({2, 2}, {0.6, -0.8, 0.8, 0.6}));
  Tensor through = gradients({project(pinv(turn, nullptr))}, {}, {turn})[0];
  expect_near(through, read(gradients({project(inverse(turn))}, {}, {turn})[0]), 1e-12);
}

// The rest of the vectors is arbitrary, so no gradient comes from there.
TEST(Decompositions, FullVectors) {
  Tensor x = leaf(noise({4, 2}, 9));
  Tensor reduced = gradients({project(svd(x, false).s)}, {}, {x})[0];
  expect_near(gradients({project(svd(x, true).s)}, {}, {x})[0], read(reduced), 1e-12);
  Tensor rest = slice(svd(x, true).u, 1, 2, 2, 1);
  expect_near(gradients({project(rest)}, {}, {x})[0], std::vector<double>(8));
  EXPECT_EQ(
      message_of([&] { gradients({project(qr(x, true).q)}, {}, {x}); }),
      "qr: the complete factors of [4,2], which has more rows than columns, have no gradient");
}

}  // namespace
}  // namespace mt::testing
