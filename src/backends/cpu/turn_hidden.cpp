// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/turn_hidden.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/contract/schedule.h"
#include "backends/cpu/contract/windows/padding.h"
#include "backends/cpu/plain_product.h"
#include "backends/cpu/turned_epilogue.h"

namespace mt::cpu {
namespace {

bool computes_transpose(const Contraction& c, int threads) {
  const Schedule schedule(c, threads);
  return schedule.transposed && schedule.way == Way::blocked;
}

// The epilogue, which replaces the result in place, on the transposed result; nothing if it cannot.
std::optional<FusedProgram> turned(const FusedProgram& epilogue, int buffer, int64_t m, int64_t n) {
  if (epilogue.segments.size() != 1 || epilogue.segments[0].columns > 1 ||
      !goes_anywhere(epilogue.program)) {
    return std::nullopt;
  }
  FusedProgram result = epilogue;
  for (Memory& memory : result.segments[0].memory) {
    const bool in_order = memory.contiguous && !memory.row && memory.layout.offset == 0;
    if (memory.buffer == buffer && in_order && memory.dtype == Dtype::float32) continue;
    if (memory.buffer == buffer || !turn(&memory, m, n)) return std::nullopt;
  }
  return result;
}

class Hidden {
 public:
  Hidden(Plan* plan, int threads) : plan_(*plan), threads_(threads) {}

  // Changes the product that is group `index` and the one that reads its result, if they qualify.
  void turn(size_t index) {
    auto* const maker = product(index);
    if (!maker || !computes_transpose(maker->contraction, threads_)) return;
    const int buffer = maker->output.buffer;
    const int64_t m = size_of_group(maker->contraction.m), n = size_of_group(maker->contraction.n);
    auto* const reader = only_reader(index, buffer);
    if (!reader || plan_.buffers[buffer].kind != BufferKind::arena) return;
    Contraction made = maker->contraction, read = reader->contraction;
    const bool whole = read.m[0].size == m && read.k[0].size == n && read.m[0].a_stride == n &&
                       read.k[0].a_stride == 1 && reader->a.layout.offset == 0;
    if (!whole || !computes_transpose(read, threads_)) return;
    exchange(&made);
    read.m[0].a_stride = 1;
    read.k[0].a_stride = m;
    if (Schedule(made, threads_).transposed || !computes_transpose(read, threads_)) return;
    std::optional<FusedProgram> epilogue;
    if (maker->epilogue) {
      epilogue = turned(*maker->epilogue, buffer, m, n);
      if (!epilogue) return;
    }
    maker->contraction = std::move(made);
    maker->epilogue = std::move(epilogue);
    maker->output.layout = {{n, m}, {m, 1}, 0};
    std::swap(maker->a, maker->b);
    reader->contraction = std::move(read);
    reader->a.layout = {{m, n}, {1, m}, 0};
  }

 private:
  ContractGroup* product(size_t index) {
    auto* const group = std::get_if<ContractGroup>(&plan_.groups[index].work);
    const bool pads = group && find_padding(plan_, static_cast<int>(index)).group >= 0;
    return group && !pads && is_plain(group->contraction) ? group : nullptr;
  }

  // The product that has `buffer` as its left operand, if only it and `maker` access that.
  ContractGroup* only_reader(size_t maker, int buffer) {
    ContractGroup* found = nullptr;
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      std::vector<int> read, written;
      buffers_read(plan_.groups[g], &read);
      buffers_written(plan_.groups[g], &written);
      const auto reads = std::count(read.begin(), read.end(), buffer);
      const bool writes = std::count(written.begin(), written.end(), buffer) > 0;
      if (g == maker || (reads == 0 && !writes)) continue;
      ContractGroup* const group = product(g);
      if (found || writes || reads > 1 || g < maker || !group || group->a.buffer != buffer)
        return nullptr;
      found = group;
    }
    return found;
  }

  // Exchanges the operands of a product, and so the rows and columns of its result.
  static void exchange(Contraction* c) {
    const auto exchanged = [](std::vector<ContractionDim> dims) {
      for (ContractionDim& dim : dims) std::swap(dim.a_stride, dim.b_stride);
      return dims;
    };
    std::vector<ContractionDim> m = exchanged(c->n);
    c->n = exchanged(c->m);
    c->m = std::move(m);
    c->k = exchanged(c->k);
  }

  Plan& plan_;
  const int threads_;
};

}  // namespace

void turn_hidden(Plan* plan, int threads) {
  Hidden hidden(plan, threads);
  for (size_t g = 0; g + 1 < plan->groups.size(); ++g) hidden.turn(g);
}

}  // namespace mt::cpu
