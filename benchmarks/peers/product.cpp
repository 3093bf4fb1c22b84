// SPDX-License-Identifier: Apache-2.0
// Matrix products of a library of linear algebra, called directly. Compiled once for each library,
// which PEER names, and for our own kernels, without the call around them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "../module.h"
#include "lines.h"

#define DNNL 1
#define OPENBLAS 2
#define BLIS 3
#define XSMM 4
#define KERNEL 5

#if PEER == DNNL
#include <omp.h>
#include <dnnl.hpp>
#include <memory>
#include <unordered_map>
#elif PEER == OPENBLAS
#include <cblas.h>
#elif PEER == BLIS
#include <blis.h>
#elif PEER == XSMM
#include <libxsmm.h>
#elif PEER == KERNEL
#include <memory>
#include "backends/cpu/contract/contract.h"
#endif

namespace {

// c[m, n] = a b, row-major; a transposed operand lies as its transpose.
template <class T>
struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  const T *a, *b;
  T* c;
#if PEER == DNNL
  bool rounded;  // may be computed in bfloat16
  std::shared_ptr<struct Rounded> primitive;
#elif PEER == XSMM
  libxsmm_smmfunction kernel;  // of the column-major transpose: cᵀ = bᵀ aᵀ
#elif PEER == KERNEL
  std::shared_ptr<mt::cpu::PreparedContraction> prepared;
  std::shared_ptr<void> scratch;
#endif
};

#if PEER == DNNL
constexpr bool has_float64 = false;
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const char* version() {
  return TEXT(DNNL_VERSION_MAJOR) "." TEXT(DNNL_VERSION_MINOR) "." TEXT(DNNL_VERSION_PATCH);
}
void set_threads(int threads) { omp_set_num_threads(threads); }

// dnnl_sgemm() is strict; a primitive has a mode.
struct Rounded {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::matmul matmul;
  std::unordered_map<int, dnnl::memory> arguments;

  explicit Rounded(const Product<float>& p) {
    auto description = [](int64_t rows, int64_t columns, bool transposed) {
      const dnnl::memory::dims strides{transposed ? 1 : columns, transposed ? rows : 1};
      return dnnl::memory::desc({rows, columns}, dnnl::memory::data_type::f32, strides);
    };
    const auto a = description(p.m, p.k, p.transpose_a), b = description(p.k, p.n, p.transpose_b);
    const auto c = description(p.m, p.n, false);
    dnnl::primitive_attr how;
    how.set_fpmath_mode(dnnl::fpmath_mode::bf16);
#if DNNL_VERSION_MAJOR < 3
    matmul = dnnl::matmul({{a, b, c}, how, engine});
#else
    matmul = dnnl::matmul({engine, a, b, c, how});
#endif
    arguments = {{DNNL_ARG_SRC, {a, engine, const_cast<float*>(p.a)}},
                 {DNNL_ARG_WEIGHTS, {b, engine, const_cast<float*>(p.b)}},
                 {DNNL_ARG_DST, {c, engine, p.c}}};
  }
};

bool prepare(Product<float>& p) {
  if (p.rounded) p.primitive = std::make_shared<Rounded>(p);
  return true;
}
void multiply(const Product<float>& p) {
  if (p.primitive) {
    p.primitive->matmul.execute(p.primitive->stream, p.primitive->arguments);
    p.primitive->stream.wait();
    return;
  }
  dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1, p.a,
             p.transpose_a ? p.m : p.k, p.b, p.transpose_b ? p.k : p.n, 0, p.c, p.n);
}
#elif PEER == OPENBLAS
constexpr bool has_float64 = true;
const char* version() {  // "OpenBLAS 0.3.21 ..."
  static const std::string config = openblas_get_config();
  static const std::string number = config.substr(9, config.find(' ', 9) - 9);
  return number.c_str();
}
void set_threads(int threads) { openblas_set_num_threads(threads); }
template <class T>
bool prepare(Product<T>&) {
  return true;
}
template <class T>
void multiply(const Product<T>& p) {
  const auto m = static_cast<blasint>(p.m), n = static_cast<blasint>(p.n);
  const auto k = static_cast<blasint>(p.k);
  const auto ta = p.transpose_a ? CblasTrans : CblasNoTrans;
  const auto tb = p.transpose_b ? CblasTrans : CblasNoTrans;
  const blasint a_step = p.transpose_a ? m : k, b_step = p.transpose_b ? k : n;
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, p.a, a_step, p.b, b_step, 0, p.c, n);
  } else {
    cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, p.a, a_step, p.b, b_step, 0, p.c, n);
  }
}
#elif PEER == BLIS
constexpr bool has_float64 = true;
const char* version() { return bli_info_get_version_str(); }
void set_threads(int threads) { bli_thread_set_num_threads(threads); }
template <class T>
bool prepare(Product<T>&) {
  return true;
}
template <class T>
void multiply(const Product<T>& p) {
  T one = 1, zero = 0, *a = const_cast<T*>(p.a), *b = const_cast<T*>(p.b);
  const inc_t a_row = p.transpose_a ? 1 : p.k, a_column = p.transpose_a ? p.m : 1;
  const inc_t b_row = p.transpose_b ? 1 : p.n, b_column = p.transpose_b ? p.k : 1;
  if constexpr (std::is_same_v<T, float>) {
    bli_sgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, p.m, p.n, p.k, &one, a, a_row, a_column, b,
              b_row, b_column, &zero, p.c, p.n, 1);
  } else {
    bli_dgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, p.m, p.n, p.k, &one, a, a_row, a_column, b,
              b_row, b_column, &zero, p.c, p.n, 1);
  }
}
#elif PEER == XSMM
constexpr bool has_float64 = false;
const char* version() { return LIBXSMM_VERSION; }
void set_threads(int) {}
bool prepare(Product<float>& p) {
  const auto m = static_cast<libxsmm_blasint>(p.m), n = static_cast<libxsmm_blasint>(p.n);
  const auto k = static_cast<libxsmm_blasint>(p.k);
  const float one = 1, zero = 0;
  p.kernel = libxsmm_smmdispatch(n, m, k, nullptr, nullptr, nullptr, &one, &zero, nullptr, nullptr);
  return p.kernel != nullptr;
}
void multiply(const Product<float>& p) { p.kernel(p.b, p.a, p.c); }
#elif PEER == KERNEL
constexpr bool has_float64 = false;
const char* version() { return "ours"; }
void set_threads(int threads) { mt::cpu::set_thread_count(threads); }
bool prepare(Product<float>& p) {
  if (p.transpose_a || p.transpose_b) return false;
  const auto type = mt::Dtype::float32;
  const mt::Contraction product{{},  {{p.m, p.k, 0}}, {{p.n, 0, 1}}, {{p.k, 1, p.n}}, type, type,
                                type};
  p.prepared = std::make_shared<mt::cpu::PreparedContraction>(product);
  p.scratch.reset(std::aligned_alloc(64, p.prepared->scratch() / 64 * 64 + 64), std::free);
  return p.scratch != nullptr;
}
void multiply(const Product<float>& p) { p.prepared->run(p.a, p.b, p.c, p.scratch.get()); }
#endif

}  // namespace

struct bench {
  virtual ~bench() = default;
  virtual void run() = 0;
  virtual int64_t result(double* results, int64_t room) = 0;
};

namespace {

template <class T>
struct Typed final : bench {
  std::array<Lines<T>, 2> inputs;
  Lines<T> made;
  Product<T> product;

  bool open(const char* name, const bench_array* arrays) {
    const bool transpose_a = !std::strcmp(name, "matmul_at_b");
    const bool transpose_b = !std::strcmp(name, "matmul_a_bt");
    const bool rounded = !std::strcmp(name, "matmul_bf16");
    if (!transpose_a && !transpose_b && !rounded && std::strcmp(name, "matmul")) return false;
#if PEER == DNNL
    product.rounded = rounded;
#else
    if (rounded) return false;
#endif
    for (size_t i = 0; i < 2; ++i) {
      const auto* data = static_cast<const T*>(arrays[i].data);
      inputs[i].assign(data, data + arrays[i].dims[0] * arrays[i].dims[1]);
    }
    Product<T>& p = product;
    p.m = arrays[0].dims[transpose_a];
    p.k = arrays[0].dims[!transpose_a];
    p.n = arrays[1].dims[!transpose_b];
    p.transpose_a = transpose_a;
    p.transpose_b = transpose_b;
    made.resize(static_cast<size_t>(p.m * p.n));
    p.a = inputs[0].data();
    p.b = inputs[1].data();
    p.c = made.data();
    return prepare(p);
  }

  void run() override { multiply(product); }

  int64_t result(double* results, int64_t room) override {
    const auto size = static_cast<int64_t>(made.size());
    if (size > room) return -1;
    multiply(product);
    std::copy(made.begin(), made.end(), results);
    return size;
  }
};

template <class T>
bench* open(const char* name, const bench_array* arrays) {
  auto* typed = new Typed<T>;
  if (typed->open(name, arrays)) return typed;
  delete typed;
  return nullptr;
}

}  // namespace

const char* bench_version() { return version(); }

void bench_set_threads(int threads) { set_threads(threads); }

bench* bench_open(const char* name, const bench_array* arrays, int64_t count) {
  if (count != 2) return nullptr;
  if (arrays[0].type == BENCH_F32) return open<float>(name, arrays);
  if constexpr (has_float64) {
    if (arrays[0].type == BENCH_F64) return open<double>(name, arrays);
  }
  return nullptr;
}

void bench_run(bench* bench, int64_t times) {
  for (int64_t i = 0; i < times; ++i) bench->run();
}

int64_t bench_result(bench* bench, double* results, int64_t room) {
  return bench->result(results, room);
}

void bench_close(bench* bench) { delete bench; }

const char* bench_message() { return ""; }
