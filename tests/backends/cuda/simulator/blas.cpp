// SPDX-License-Identifier: Apache-2.0
// In place of cuBLASLt: its products one number after another, in the simulated stream.
#include "backends/cuda/driver/blas.h"

#include <cmath>
#include <cstring>

#include "backends/cuda/simulator/memory.h"
#include "backends/cuda/simulator/stream.h"
#include "ops/half.h"

namespace mt::cuda {

struct BlasPlan {
  BlasProduct product;
};
std::shared_ptr<const BlasPlan> plan_blas(int, const BlasProduct& product) {
  return std::make_shared<BlasPlan>(BlasPlan{product});
}

void run_blas(const BlasPlan& plan, const char* a, const char* b, char* out, void* workspace,
              Stream stream) {
  grid::submit(stream, "cublaslt", [=, p = plan.product] {
    grid::exposed(workspace, static_cast<size_t>(blas_workspace), true);
    const bool bfloat = p.numbers == Dtype::bfloat16;
    auto number = [&](const char* from, const BlasProduct::Operand& o, int64_t batch, int64_t row,
                      int64_t step) {
      int64_t at = batch * o.batch + (o.along_k ? row * o.line + step : step * o.line + row);
      uint16_t bits;
      std::memcpy(&bits, grid::exposed(const_cast<char*>(from) + 2 * at, 2, false), 2);
      return bfloat ? bfloat16_to_float(bits) : float16_to_float(bits);
    };
    const auto size = static_cast<int64_t>(size_of(p.result));
    for (int64_t i = 0; i < p.batch * p.m * p.n; ++i) {
      float sum = 0;
      for (int64_t step = 0; step < p.k; ++step) {
        sum = std::fmaf(number(a, p.a, i / (p.m * p.n), i / p.n % p.m, step),
                        number(b, p.b, i / (p.m * p.n), i % p.n, step), sum);
      }
      void* to = grid::exposed(out + i * size, static_cast<size_t>(size), true);
      uint16_t half = bfloat ? float_to_bfloat16(sum) : float_to_float16(sum);
      if (size == 2) {
        std::memcpy(to, &half, sizeof half);
      } else {
        std::memcpy(to, &sum, sizeof sum);
      }
    }
  });
}

}  // namespace mt::cuda
