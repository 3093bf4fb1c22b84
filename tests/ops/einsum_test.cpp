// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// The definition: a sum over all labels, for equations of letters only.
std::vector<double> by_loops(const std::string& equation, const std::vector<Tensor>& operands) {
  std::vector<std::string> parts(1);
  size_t arrow = equation.find("->");
  for (char c : equation.substr(0, arrow)) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  std::string output = equation.substr(arrow + 2), all = output;
  std::vector<int64_t> size(128, 1), index(128, 0);
  std::vector<std::vector<double>> data;
  for (size_t i = 0; i < parts.size(); ++i) {
    data.push_back(read(operands[i]));
    for (size_t d = 0; d < parts[i].size(); ++d) {
      size_t label = static_cast<size_t>(parts[i][d]);
      size[label] = std::max(size[label], operands[i].shape()[static_cast<int>(d)]);
      if (all.find(parts[i][d]) == std::string::npos) all += parts[i][d];
    }
  }
  int64_t total = 1, outputs = 1;
  for (char c : all) total *= size[static_cast<size_t>(c)];
  for (char c : output) outputs *= size[static_cast<size_t>(c)];
  std::vector<double> result(static_cast<size_t>(outputs));
  for (int64_t e = 0; e < total; ++e) {
    int64_t rest = e;
    for (size_t i = all.size(); i-- > 0;) {
      size_t label = static_cast<size_t>(all[i]);
      index[label] = rest % size[label];
      rest /= size[label];
    }
    double product = 1;
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < parts[i].size(); ++d) {
        int64_t length = operands[i].shape()[static_cast<int>(d)];
        at = at * length + (length == 1 ? 0 : index[static_cast<size_t>(parts[i][d])]);
      }
      product *= data[i][static_cast<size_t>(at)];
    }
    result[static_cast<size_t>(e / (total / outputs))] += product;
  }
  return result;
}

struct Case {
  const char* equation;
  std::vector<Shape> shapes;
};
const std::vector<Case> cases = {
    {"ij,jk->ik", {{2, 3}, {3, 4}}},
    {"ij,jk->ki", {{2, 3}, {3, 4}}},
    {"i,j->ij", {{2}, {3}}},
    {"i,i->", {{4}, {4}}},
    {"ij->ji", {{2, 3}}},
    {"ij->", {{2, 3}}},
    {"ij->j", {{2, 3}}},
    {"ii->i", {{3, 3}}},
    {"ii->", {{3, 3}}},
    {"iij->ji", {{3, 3, 2}}},
    {"iji,jk->k", {{3, 2, 3}, {2, 4}}},
    {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 2}}},
    {"bhid,bhjd->bhij", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
    {"ij,ij->ij", {{2, 3}, {2, 3}}},
    {"ij,j->i", {{2, 1}, {3}}},
    {"ij,jk->ik", {{2, 1}, {3, 4}}},
    {"ij,jk->ik", {{2, 3}, {1, 4}}},
    {"ij,kj,kl->il", {{2, 3}, {4, 3}, {4, 2}}},
    {"ab,bc,cd,de->ae", {{2, 3}, {3, 4}, {4, 2}, {2, 3}}},
    {"a,ab,b,c,cd,d,ad->bc", {{2}, {2, 3}, {3}, {2}, {2, 2}, {2}, {2, 2}}},
    {"ijk,ilm,njm,nlk,abc->", {{2, 3, 2}, {2, 2, 3}, {2, 3, 3}, {2, 2, 2}, {1, 2, 1}}},
};

TEST(Einsum, EqualsItsDefinition) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.equation);
    std::vector<Tensor> operands;
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      operands.push_back(noise(c.shapes[i], static_cast<unsigned>(i + 1)));
    }
    expect_near(einsum(c.equation, operands), by_loops(c.equation, operands), 1e-12);
  }
}

TEST(Einsum, GradientsAndDevices) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.equation);
    std::vector<Tensor> operands;
    for (size_t i = 0; i < c.shapes.size(); ++i) {
      operands.push_back(noise(c.shapes[i], static_cast<unsigned>(i + 1)));
    }
    Function f = [&](const std::vector<Tensor>& t) { return einsum(c.equation, t); };
    check_gradients(f, operands);
    check_devices(f, c.shapes);
  }
  Function product = [](const std::vector<Tensor>& t) { return einsum("iij,jk->ik", t); };
  check_gradients(product, {noise({2, 2, 3}, 1), noise({3, 2}, 2)}, 2);
}

TEST(Einsum, ImplicitOutputAndEllipsis) {
  Tensor a = noise({2, 3}, 1), b = noise({3, 4}, 2);
  expect_near(einsum("ij,jk", {a, b}), by_loops("ij,jk->ik", {a, b}));
  expect_near(einsum(" k i , k j ", {a, noise({2, 4}, 2)}),
              by_loops("ki,kj->ij", {a, noise({2, 4}, 2)}));
  expect_near(einsum("ba", {a}), by_loops("ba->ab", {a}));
  expect_near(einsum("bA", {a}), by_loops("bA->Ab", {a}));  // upper case comes first
  Tensor x = noise({5, 1, 2, 3}, 3), y = noise({4, 3, 2}, 4);
  Tensor z = einsum("...ij,...jk", {x, y});
  EXPECT_EQ(to_string(z.shape()), "[5,4,2,2]");
  expect_near(z, read(matmul(x, y)));
  EXPECT_EQ(to_string(einsum("i...->...i", {noise({2, 3, 4}, 1)}).shape()), "[3,4,2]");
  EXPECT_EQ(to_string(einsum("...,...", {noise({2, 1}, 1), noise({3}, 1)}).shape()), "[2,3]");
  EXPECT_EQ(to_string(einsum("i...", {noise({2, 3}, 1)}).shape()), "[3,2]");
  EXPECT_EQ(to_string(einsum(",", {noise({}, 1), noise({}, 1)}).shape()), "[]");
}

TEST(Einsum, EmptyAndIntegers) {
  expect_near(einsum("ij,jk->ik", {noise({2, 0}, 1), noise({0, 3}, 1)}), {0, 0, 0, 0, 0, 0});
  Tensor a = make({2, 2}, {1, 2, 3, 4}, Dtype::int32), b = make({2}, {10, 100}, Dtype::int32);
  Tensor c = einsum("ij,j->i", {a, b});
  EXPECT_EQ(c.dtype(), Dtype::int32);
  expect_near(c, {210, 430});
}

TEST(Einsum, NamesFaults) {
  Tensor a = noise({2, 3}, 1), b = noise({4, 2}, 2);
  auto message = [&](const char* equation, std::vector<Tensor> operands) {
    return message_of([&] { einsum(equation, operands); });
  };
  EXPECT_EQ(message("ij,jk->ik", {a, b}),
            "einsum: \"ij,jk->ik\": label 'j' has size 3, but 4 in operand 1 [4,2]");
  EXPECT_EQ(message("ii", {noise({1, 3}, 1)}),
            "einsum: \"ii\": label 'i' stands for two sizes in [1,3]");
  EXPECT_EQ(message("ij,jk", {a}),
            "einsum: \"ij,jk\": the equation has 2 operands, but 1 tensors were given");
  EXPECT_EQ(message("ijk->i", {a}),
            "einsum: \"ijk->i\": operand 0 has 3 labels, its tensor [2,3] 2 dimensions");
  EXPECT_EQ(message("i->i", {a}),
            "einsum: \"i->i\": operand 0 has 1 labels, its tensor [2,3] 2 dimensions");
  EXPECT_EQ(message("ij->k", {a}), "einsum: \"ij->k\": no operand has the result's label 'k'");
  EXPECT_EQ(message("ij->ii", {a}), "einsum: \"ij->ii\": label 'i' stands twice in the result");
  EXPECT_EQ(message("i1->i", {a}), "einsum: \"i1->i\": at 1: unexpected '1'");
  EXPECT_EQ(message("i..->i", {a}), "einsum: \"i..->i\": at 1: expected \"...\"");
  EXPECT_EQ(message("ij-i", {a}), "einsum: \"ij-i\": at 2: expected \"->\"");
  EXPECT_EQ(message("...j->j", {a}),
            "einsum: \"...j->j\": the operands have broadcast axes, so the result needs \"...\"");
}

}  // namespace
}  // namespace mt::testing
