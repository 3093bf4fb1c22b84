// SPDX-License-Identifier: Apache-2.0
// cuBLASLt has matrices column by column. Ours, row by row, are their transposes there: of out^T =
// b a^T its left factor is our b, [n, k], and its right one our a, [k, m].
#include "backends/cuda/driver/blas.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace mt::cuda {
namespace {

constexpr uint32_t alignment = 16;  // of all memory that comes here

struct Library {
  bool found = false;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmulDescCreate) create_product;
  decltype(&cublasLtMatmulDescDestroy) destroy_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_in_product;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_in_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_in_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose;
  decltype(&cublasLtMatmul) multiply;

  Library() {
    const char* chosen = std::getenv("MT_CUBLASLT");
    void* handle = nullptr;
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
      if (chosen && *chosen) name = chosen;
      if (!handle) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays for the process's life
    }
    auto find = [&](auto* function, const char* name) {
      *function =
          handle
              ? reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(handle, name))
              : nullptr;
      return *function != nullptr;
    };
    found = find(&create, "cublasLtCreate") && find(&create_product, "cublasLtMatmulDescCreate") &&
            find(&destroy_product, "cublasLtMatmulDescDestroy") &&
            find(&set_in_product, "cublasLtMatmulDescSetAttribute") &&
            find(&create_layout, "cublasLtMatrixLayoutCreate") &&
            find(&destroy_layout, "cublasLtMatrixLayoutDestroy") &&
            find(&set_in_layout, "cublasLtMatrixLayoutSetAttribute") &&
            find(&create_preference, "cublasLtMatmulPreferenceCreate") &&
            find(&destroy_preference, "cublasLtMatmulPreferenceDestroy") &&
            find(&set_in_preference, "cublasLtMatmulPreferenceSetAttribute") &&
            find(&choose, "cublasLtMatmulAlgoGetHeuristic") && find(&multiply, "cublasLtMatmul");
  }
};

const Library& library() {
  static const Library* loaded = new Library;
  return *loaded;
}

// A device's, which lives for ever; nullptr when it cannot be made.
cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static auto* handles = new std::vector<cublasLtHandle_t>;
  std::lock_guard lock(mutex);
  const auto d = static_cast<size_t>(device);
  if (handles->size() <= d) handles->resize(d + 1);
  cublasLtHandle_t& handle = (*handles)[d];
  use_device(device);
  if (!handle && library().create(&handle) != CUBLAS_STATUS_SUCCESS) handle = nullptr;
  return handle;
}

cudaDataType_t type_of(Dtype dtype) {
  return dtype == Dtype::bfloat16 ? CUDA_R_16BF : dtype == Dtype::float16 ? CUDA_R_16F : CUDA_R_32F;
}

}  // namespace

struct BlasPlan {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, out = nullptr;
  cublasLtMatmulAlgo_t algorithm;

  BlasPlan() = default;
  BlasPlan(const BlasPlan&) = delete;
  ~BlasPlan() {
    if (product) library().destroy_product(product);
    for (cublasLtMatrixLayout_t layout : {left, right, out}) {
      if (layout) library().destroy_layout(layout);
    }
  }

  // Whether cuBLASLt takes all of it.
  bool describe(const BlasProduct& p) {
    auto fine = [](cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; };
    // Its columns are our lines. `rows` by k, of our operand, if it is asked for as it lies.
    auto layout = [&](cublasLtMatrixLayout_t* made, Dtype dtype, int64_t in_line, int64_t lines,
                      int64_t line, int64_t batch) {
      const auto count = static_cast<int32_t>(p.batch);
      return fine(library().create_layout(made, type_of(dtype), static_cast<uint64_t>(in_line),
                                          static_cast<uint64_t>(lines), line)) &&
             fine(library().set_in_layout(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                          sizeof count)) &&
             fine(library().set_in_layout(*made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                          &batch, sizeof batch));
    };
    auto operand = [&](cublasLtMatrixLayout_t* made, const BlasProduct::Operand& o, int64_t rows) {
      return layout(made, p.numbers, o.along_k ? p.k : rows, o.along_k ? rows : p.k, o.line,
                    o.batch);
    };
    const cublasOperation_t left_as = p.b.along_k ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t right_as = p.a.along_k ? CUBLAS_OP_N : CUBLAS_OP_T;
    return fine(library().create_product(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F)) &&
           fine(library().set_in_product(product, CUBLASLT_MATMUL_DESC_TRANSA, &left_as,
                                         sizeof left_as)) &&
           fine(library().set_in_product(product, CUBLASLT_MATMUL_DESC_TRANSB, &right_as,
                                         sizeof right_as)) &&
           operand(&left, p.b, p.n) && operand(&right, p.a, p.m) &&
           layout(&out, p.result, p.n, p.m, p.n, p.m * p.n) && choose();
  }

  // Its own first choice.
  bool choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    if (library().create_preference(&preference) != CUBLAS_STATUS_SUCCESS) return false;
    auto set = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
      return library().set_in_preference(preference, what, &value, sizeof value) ==
             CUBLAS_STATUS_SUCCESS;
    };
    const uint64_t workspace = blas_workspace;
    cublasLtMatmulHeuristicResult_t best{};
    int count = 0;
    const bool chosen = set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace) &&
                        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment) &&
                        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment) &&
                        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment) &&
                        set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment) &&
                        library().choose(handle, product, left, right, out, out, preference, 1,
                                         &best, &count) == CUBLAS_STATUS_SUCCESS &&
                        count == 1 && best.state == CUBLAS_STATUS_SUCCESS;
    library().destroy_preference(preference);
    algorithm = best.algo;
    return chosen;
  }
};

std::shared_ptr<const BlasPlan> plan_blas(int device, const BlasProduct& product) {
  if (!library().found) return nullptr;
  auto plan = std::make_shared<BlasPlan>();
  plan->handle = handle_of(device);
  return plan->handle && plan->describe(product) ? plan : nullptr;
}

void run_blas(const BlasPlan& plan, const char* a, const char* b, char* out, void* workspace,
              Stream stream) {
  const float one = 1, nothing = 0;
  cublasStatus_t status = library().multiply(
      plan.handle, plan.product, &one, b, plan.left, a, plan.right, &nothing, out, plan.out, out,
      plan.out, &plan.algorithm, workspace, static_cast<size_t>(blas_workspace), stream);
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail(Code::device, "cuBLASLt: the product failed with status %d", static_cast<int>(status));
  }
}

}  // namespace mt::cuda
#else
namespace mt::cuda {

struct BlasPlan {};
std::shared_ptr<const BlasPlan> plan_blas(int, const BlasProduct&) { return nullptr; }
void run_blas(const BlasPlan&, const char*, const char*, char*, void*, Stream) {}

}  // namespace mt::cuda
#endif
