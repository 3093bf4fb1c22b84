// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/linalg/matrix_call.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/cpu/linalg/routines.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

// Below this many multiplications or so a batch is not worth waking a thread for.
constexpr int64_t serial_work = 100000;

int workers_of(const MatrixCall& matrices, int threads) {
  int64_t work = matrices.batch * matrices.m * matrices.n * std::max(matrices.n, matrices.k);
  if (work < serial_work) return 1;
  return static_cast<int>(std::clamp<int64_t>(matrices.batch, 1, threads));
}

// LAPACK counts in 32 bits.
bool is_countable(const MatrixCall& matrices, int64_t work) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  return matrices.m <= most && matrices.n <= most && matrices.k <= most && work <= most;
}

// Calls f with the function to run and its working memory, in the type that it runs in.
template <class F>
auto with_function(const MatrixCall& matrices, F&& f) {
  const MatrixOp& op = static_cast<const MatrixOp&>(matrices.call.op);
  auto as = [&](auto zero, auto&& otherwise) {
    using T = decltype(zero);
    Routine<T> routine = find_routine<T>(op);
    if (!routine.function || std::max(matrices.m, matrices.n) < routine.least) return otherwise();
    int64_t work = routine.work(matrices.m, matrices.n, matrices.k, matrices.call.attributes);
    if (!is_countable(matrices, work)) return otherwise();
    return f(routine.function, work);
  };
  auto naive = [&] { return f(op.function, matrices.sizes.work); };
  return matrices.call.output.dtype == Dtype::float32 ? as(float{}, naive) : as(double{}, naive);
}

// Working memory of each worker, in whole cache lines.
template <class T>
int64_t bytes_of_worker(const MatrixCall& matrices, MatrixFunction<T>, int64_t work) {
  return round_up(matrices.memory(work) * static_cast<int64_t>(sizeof(T)), cache_line);
}

}  // namespace

int64_t matrix_scratch(const CallGroup& group, int threads) {
  std::vector<NaiveArray> inputs;
  for (const Operand& input : group.inputs) inputs.push_back({nullptr, input.dtype, input.layout});
  NaiveCall call{
      *group.op, group.attributes, {}, inputs, {nullptr, group.output.dtype, group.output.layout}};
  MatrixCall matrices(call);
  return with_function(matrices, [&](auto function, int64_t work) {
    return workers_of(matrices, threads) * bytes_of_worker(matrices, function, work);
  });
}

void matrix_kernel(const NaiveCall& call, void* scratch, int threads) {
  MatrixCall matrices(call);
  with_function(matrices, [&]<class T>(MatrixFunction<T> function, int64_t work) {
    int64_t bytes = bytes_of_worker(matrices, function, work);
    parallel_items(matrices.batch, workers_of(matrices, threads), [&](int64_t b, int worker) {
      T* memory = reinterpret_cast<T*>(static_cast<char*>(scratch) + worker * bytes);
      matrices.run(b, memory, function, work);
    });
  });
}

}  // namespace mt::cpu
