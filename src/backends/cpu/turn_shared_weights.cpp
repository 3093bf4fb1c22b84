// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/turn_shared_weights.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/contract/schedule.h"
#include "backends/cpu/plain_product.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr size_t fewest_products = 4;
// Larger weights are read in place, a cache line of each row: with 2048 x 512 transposed once,
// products took up to 1.2 times as long.
constexpr int64_t most_bytes = 1 << 20;

// A weight [n, k], and the groups that have it as their second operand.
struct Weight {
  Operand operand;
  int64_t n, k, pitch;
  std::vector<size_t> products;

  int64_t bytes() const { return n * k * static_cast<int64_t>(sizeof(float)); }
  // Transposing it pays if its products would transpose at least twice as many numbers themselves:
  // of their rows and results or of the weight, whichever are fewer.
  bool repays(const Plan& plan) const {
    int64_t turned = 0;
    for (size_t g : products) {
      const Contraction& c = std::get<ContractGroup>(plan.groups[g].work).contraction;
      turned += std::min(c.m[0].size * (k + n), k * n);
    }
    return products.size() >= fewest_products && turned >= 2 * k * n && bytes() <= most_bytes;
  }
};

// Weights that an evaluation is given and that are contiguous along k, with the products in tiles.
std::vector<Weight> find_weights(const Plan& plan, int threads) {
  std::vector<Weight> weights;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const auto* const product = std::get_if<ContractGroup>(&plan.groups[g].work);
    if (!product || !is_plain(product->contraction)) continue;
    const Contraction& c = product->contraction;
    const ContractionDim &n = c.n[0], &k = c.k[0];
    const bool given = plan.buffers[product->b.buffer].kind == BufferKind::leaf;
    if (!given || k.b_stride != 1 || n.b_stride < k.size || c.m[0].a_stride == 1) continue;
    const auto is_same = [&](const Weight& weight) {
      return weight.operand.buffer == product->b.buffer && weight.n == n.size &&
             weight.k == k.size && weight.pitch == n.b_stride &&
             weight.operand.layout.offset == product->b.layout.offset;
    };
    auto found = std::find_if(weights.begin(), weights.end(), is_same);
    if (found == weights.end()) {
      weights.push_back({product->b, n.size, k.size, n.b_stride, {}});
      found = weights.end() - 1;
    }
    found->products.push_back(g);
  }
  for (Weight& weight : weights) {
    if (weight.products.size() < fewest_products) continue;
    std::erase_if(weight.products, [&](size_t g) {
      const Contraction& c = std::get<ContractGroup>(plan.groups[g].work).contraction;
      return Schedule(c, threads).way != Way::blocked;
    });
  }
  return weights;
}

Group copy(const Weight& weight, const Operand& turned) {
  Instruction load{.code = Opcode::load, .type = Compute::f32};
  load.out = 0;
  load.index = 0;
  Instruction store{.code = Opcode::store, .type = Compute::f32};
  store.in[0] = 0;
  store.index = 1;
  MapGroup group;
  group.program.instructions = {load, store};
  group.program.registers = 1;
  const Layout across{{weight.k, weight.n}, {1, weight.pitch}, weight.operand.layout.offset};
  Segment segment;
  segment.rows = weight.n * weight.k;
  segment.memory = {{weight.operand.buffer, Dtype::float32, across, false, false},
                    {turned.buffer, Dtype::float32, turned.layout, false, true}};
  group.segments.push_back(std::move(segment));
  return {std::move(group), {}};
}

}  // namespace

void turn_shared_weights(Plan* plan, int threads) {
  if (plan->groups.size() < fewest_products) return;
  std::vector<Group> copies;
  for (const Weight& weight : find_weights(*plan, threads)) {
    if (!weight.repays(*plan)) continue;
    const Operand turned{static_cast<int>(plan->buffers.size()), Dtype::float32,
                         contiguous_layout({weight.k, weight.n})};
    for (size_t g : weight.products) {
      auto& product = std::get<ContractGroup>(plan->groups[g].work);
      product.contraction.n[0].b_stride = 1;
      product.contraction.k[0].b_stride = weight.n;
      product.b = turned;
      product.b.layout = {{weight.n, weight.k}, {1, weight.n}, 0};
    }
    // Behind all other buffers, for the whole run of the plan.
    Buffer buffer{.kind = BufferKind::arena, .bytes = weight.bytes()};
    buffer.offset = plan->arena_bytes;
    plan->arena_bytes += round_up(buffer.bytes, cache_line);
    plan->buffers.push_back(buffer);
    copies.push_back(copy(weight, turned));
  }
  plan->groups.insert(plan->groups.begin(), std::make_move_iterator(copies.begin()),
                      std::make_move_iterator(copies.end()));
}

}  // namespace mt::cpu
