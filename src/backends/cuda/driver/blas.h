// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's products of 16-bit matrices, where it is installed: MT_CUBLASLT names the library, or
// "none". Nothing is linked with it, and nothing is asked of it unless a file of measured choices
// is in use (tuning.h) or the built-in table names it (contract_kernels.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include "backends/cuda/driver/driver.h"
#include "tensor/dtype.h"

namespace mt::cuda {

// out[batch, m, n] = sum over k of a[batch, m, k] b[batch, n, k], a's and b's numbers of one type,
// `out` contiguous and of that type or float32. Of each operand's rows and steps of k one lies next
// to each other, along k or not, and the other `line` numbers apart; 0 from one batch entry to the
// next: all share one.
struct BlasProduct {
  struct Operand {
    bool along_k;
    int64_t line, batch;
  };
  Dtype numbers, result;
  int64_t batch, m, n, k;
  Operand a, b;
};
constexpr int64_t blas_workspace = 32 << 20;  // bytes that it may use beside

// nullptr where cuBLASLt is not installed, or makes no such product.
struct BlasPlan;
std::shared_ptr<const BlasPlan> plan_blas(int device, const BlasProduct& product);
void run_blas(const BlasPlan& plan, const char* a, const char* b, char* out, void* workspace,
              Stream stream);

}  // namespace mt::cuda
