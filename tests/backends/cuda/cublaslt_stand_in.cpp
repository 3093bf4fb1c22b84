// SPDX-License-Identifier: Apache-2.0
// A library that stands in for cuBLASLt: it multiplies host memory as the descriptions that it was
// given say, column by column, in float64; and refuses what cuBLASLt would refuse.
#include <cublasLt.h>

#include <map>

#include "ops/half.h"

struct Layout {
  cudaDataType type;
  int64_t rows, columns, line;
  int32_t count = 1;
  int64_t apart = 0;

  double number(const void* data, int64_t batch, int64_t row, int64_t column) const {
    int64_t at = batch * apart + column * line + row;
    if (type == CUDA_R_32F) return static_cast<const float*>(data)[at];
    uint16_t bits = static_cast<const uint16_t*>(data)[at];
    return type == CUDA_R_16BF ? mt::bfloat16_to_float(bits) : mt::float16_to_float(bits);
  }
};
struct Product {
  cublasComputeType_t compute;
  cudaDataType scale;
  std::map<int, cublasOperation_t> as;
};
struct Preference {
  uint64_t workspace = 0;
  int aligned = 0;
};
static uint64_t handle;
constexpr uint64_t algorithm = 0x5eed;

static Layout& of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout*>(layout); }
static Product& of(cublasLtMatmulDesc_t product) { return *reinterpret_cast<Product*>(product); }
static bool transposes(cublasLtMatmulDesc_t product, int which) {
  return of(product).as[which] == CUBLAS_OP_T;
}

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
  *made = reinterpret_cast<cublasLtHandle_t>(&handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new Product{compute, scale, {}});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete &of(product);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void* value, size_t size) {
  if (size != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
  of(product).as[what] = *static_cast<const cublasOperation_t*>(value);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t line) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), line});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &of(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t what,
                                                const void* value, size_t size) {
  if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == sizeof(int32_t)) {
    of(layout).count = *static_cast<const int32_t*>(value);
  } else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == sizeof(int64_t)) {
    of(layout).apart = *static_cast<const int64_t*>(value);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void* value, size_t size) {
  auto* own = reinterpret_cast<Preference*>(preference);
  if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && size == sizeof(uint64_t)) {
    own->workspace = *static_cast<const uint64_t*>(value);
  } else if (size == sizeof(uint32_t) && *static_cast<const uint32_t*>(value) == 16) {
    ++own->aligned;
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// What is left out of a description or does not fit is refused.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t own, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  auto* asked = reinterpret_cast<Preference*>(preference);
  const bool a_turned = transposes(product, CUBLASLT_MATMUL_DESC_TRANSA);
  const bool b_turned = transposes(product, CUBLASLT_MATMUL_DESC_TRANSB);
  const Layout &x = of(a), &y = of(b), &z = of(d);
  const int64_t m = a_turned ? x.columns : x.rows, k = a_turned ? x.rows : x.columns;
  const int64_t n = b_turned ? y.rows : y.columns, same_k = b_turned ? y.columns : y.rows;
  const bool fine = own == reinterpret_cast<cublasLtHandle_t>(&handle) && c == d && wanted == 1 &&
                    asked->workspace > 0 && asked->aligned == 4 && x.line >= x.rows &&
                    y.line >= y.rows && z.line >= z.rows && x.type == y.type && k == same_k &&
                    z.rows == m && z.columns == n && x.count == z.count && y.count == z.count &&
                    of(product).compute == CUBLAS_COMPUTE_32F && of(product).scale == CUDA_R_32F;
  *count = fine;
  if (!fine) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  results[0].algo.data[0] = algorithm;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a_data, cublasLtMatrixLayout_t a, const void* b_data,
                              cublasLtMatrixLayout_t b, const void* beta, const void* c_data,
                              cublasLtMatrixLayout_t, void* d_data, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t* algo, void*, size_t workspace,
                              cudaStream_t) {
  if (algo->data[0] != algorithm || *static_cast<const float*>(alpha) != 1 || workspace == 0 ||
      *static_cast<const float*>(beta) != 0 || c_data != d_data) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool a_turned = transposes(product, CUBLASLT_MATMUL_DESC_TRANSA);
  const bool b_turned = transposes(product, CUBLASLT_MATMUL_DESC_TRANSB);
  const Layout &x = of(a), &y = of(b), &z = of(d);
  const int64_t depth = a_turned ? x.rows : x.columns;
  for (int64_t batch = 0; batch < z.count; ++batch) {
    for (int64_t column = 0; column < z.columns; ++column) {
      for (int64_t row = 0; row < z.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          sum +=
              (a_turned ? x.number(a_data, batch, k, row) : x.number(a_data, batch, row, k)) *
              (b_turned ? y.number(b_data, batch, column, k) : y.number(b_data, batch, k, column));
        }
        int64_t at = batch * z.apart + column * z.line + row;
        auto rounded = static_cast<float>(sum);
        if (z.type == CUDA_R_32F) {
          static_cast<float*>(d_data)[at] = rounded;
        } else {
          static_cast<uint16_t*>(d_data)[at] = z.type == CUDA_R_16BF
                                                   ? mt::float_to_bfloat16(rounded)
                                                   : mt::float_to_float16(rounded);
        }
      }
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
