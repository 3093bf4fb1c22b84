// SPDX-License-Identifier: Apache-2.0
// Matrix products of a library of linear algebra, called directly. Compiled once for each library,
// which PEER names.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../row.h"

#define DNNL 1
#define OPENBLAS 2
#define BLIS 3
#define XSMM 4

#if PEER == DNNL
#include <dnnl.h>
#include <omp.h>
#elif PEER == OPENBLAS
#include <cblas.h>
#elif PEER == BLIS
#include <blis.h>
#elif PEER == XSMM
#include <libxsmm.h>
#endif

namespace {

// c[m, n] = a b, row-major; a transposed operand lies as its transpose.
struct Product {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  const float *a, *b;
  float* c;
#if PEER == XSMM
  libxsmm_smmfunction kernel;  // of the column-major transpose: cᵀ = bᵀ aᵀ
#endif
};

#if PEER == DNNL
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const char* version() {
  return TEXT(DNNL_VERSION_MAJOR) "." TEXT(DNNL_VERSION_MINOR) "." TEXT(DNNL_VERSION_PATCH);
}
void set_threads(int threads) { omp_set_num_threads(threads); }
bool prepare(Product&) { return true; }
void multiply(const Product& p) {
  dnnl_sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1, p.a,
             p.transpose_a ? p.m : p.k, p.b, p.transpose_b ? p.k : p.n, 0, p.c, p.n);
}
#elif PEER == OPENBLAS
const char* version() {  // "OpenBLAS 0.3.21 ..."
  static const std::string config = openblas_get_config();
  static const std::string number = config.substr(9, config.find(' ', 9) - 9);
  return number.c_str();
}
void set_threads(int threads) { openblas_set_num_threads(threads); }
bool prepare(Product&) { return true; }
void multiply(const Product& p) {
  const auto m = static_cast<blasint>(p.m), n = static_cast<blasint>(p.n);
  const auto k = static_cast<blasint>(p.k);
  cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
              p.transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1, p.a, p.transpose_a ? m : k,
              p.b, p.transpose_b ? k : n, 0, p.c, n);
}
#elif PEER == BLIS
const char* version() { return bli_info_get_version_str(); }
void set_threads(int threads) { bli_thread_set_num_threads(threads); }
bool prepare(Product&) { return true; }
void multiply(const Product& p) {
  float one = 1, zero = 0;
  bli_sgemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, p.m, p.n, p.k, &one, const_cast<float*>(p.a),
            p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1, const_cast<float*>(p.b),
            p.transpose_b ? 1 : p.n, p.transpose_b ? p.k : 1, &zero, p.c, p.n, 1);
}
#elif PEER == XSMM
const char* version() { return LIBXSMM_VERSION; }
void set_threads(int) {}
bool prepare(Product& p) {
  const auto m = static_cast<libxsmm_blasint>(p.m), n = static_cast<libxsmm_blasint>(p.n);
  const auto k = static_cast<libxsmm_blasint>(p.k);
  const float one = 1, zero = 0;
  p.kernel = libxsmm_smmdispatch(n, m, k, nullptr, nullptr, nullptr, &one, &zero, nullptr, nullptr);
  return p.kernel != nullptr;
}
void multiply(const Product& p) { p.kernel(p.b, p.a, p.c); }
#endif

}  // namespace

struct bench {
  std::array<std::vector<float>, 2> inputs;
  std::vector<float> result;
  Product product;
};

const char* bench_version() { return version(); }

void bench_set_threads(int threads) { set_threads(threads); }

bench* bench_open(const char* name, const bench_array* arrays, int64_t count) {
  const bool transpose_a = !std::strcmp(name, "matmul_at_b");
  const bool transpose_b = !std::strcmp(name, "matmul_a_bt");
  if (count != 2 || (!transpose_a && !transpose_b && std::strcmp(name, "matmul"))) return nullptr;
  auto* made = new bench;
  for (size_t i = 0; i < 2; ++i) {
    const auto* data = static_cast<const float*>(arrays[i].data);
    made->inputs[i].assign(data, data + arrays[i].dims[0] * arrays[i].dims[1]);
  }
  Product& p = made->product;
  p.m = arrays[0].dims[transpose_a];
  p.k = arrays[0].dims[!transpose_a];
  p.n = arrays[1].dims[!transpose_b];
  p.transpose_a = transpose_a;
  p.transpose_b = transpose_b;
  made->result.resize(static_cast<size_t>(p.m * p.n));
  p.a = made->inputs[0].data();
  p.b = made->inputs[1].data();
  p.c = made->result.data();
  if (prepare(p)) return made;
  delete made;
  return nullptr;
}

void bench_run(bench* bench, int64_t times) {
  for (int64_t i = 0; i < times; ++i) multiply(bench->product);
}

int64_t bench_result(bench* bench, float* results, int64_t room) {
  const auto size = static_cast<int64_t>(bench->result.size());
  if (size > room) return -1;
  multiply(bench->product);
  std::memcpy(results, bench->result.data(), bench->result.size() * sizeof(float));
  return size;
}

void bench_close(bench* bench) { delete bench; }

const char* bench_message() { return ""; }
