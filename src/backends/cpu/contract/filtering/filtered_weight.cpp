// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/filtering/filtered_weight.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/pairwise.h"
#include "backends/cpu/contract/tile.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t window = 9;  // elements

bool all_finite(const float* x, int64_t count) {
  constexpr uint32_t infinity = 0x7f800000;
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, __builtin_bit_cast(uint32_t, x[i]) & 0x7fffffff);
  }
  return largest < infinity;
}

}  // namespace

FilteredWeight::FilteredWeight(const Contraction& c, int threads)
    : a_(operand_a(c)),
      b_(operand_b(c)),
      batch_(size_of_group(c.batch)),
      threads_(threads),
      shape_(c, divide_up(threads, std::max<int64_t>(batch_, 1))),
      images_{nullptr,
              c.k[0].b_stride,
              c.n[0].b_stride,
              c.k[1].b_stride,
              c.k[2].b_stride,
              shape_.lines + 2,
              shape_.positions + 2,
              0,
              0} {}

size_t FilteredWeight::flags() const {
  return static_cast<size_t>(round_up(batch_ * int64_t(sizeof(uint32_t)), 64));
}
size_t FilteredWeight::scratch() const {
  const int64_t sums = batch_ * shape_.panels() * shape_.outputs * shape_.sum_row();
  return flags() + static_cast<size_t>(threads_ * shape_.scratch() + sums * int64_t(sizeof(float)));
}

void FilteredWeight::run(const void* a, const void* b, void* out, void* scratch,
                         const Epilogue* epilogue, const PaddedImages* padded) const {
  auto* const refused_entries = static_cast<uint32_t*>(scratch);
  std::fill_n(refused_entries, batch_, 0);
  char* const parts = static_cast<char*>(scratch) + flags();
  float* const slabs = reinterpret_cast<float*>(parts + threads_ * shape_.scratch());
  const int64_t panels = shape_.panels(), slab = shape_.outputs * shape_.sum_row();
  const int64_t blocks = shape_.output_blocks * shape_.channel_blocks;
  parallel_items(batch_ * panels * blocks, threads_, [&](int64_t item, int worker) {
    const int64_t index = item / blocks, entry = index / panels, block = item % blocks;
    WeightPanel panel;
    panel.shape = &shape_;
    panel.results = a_.entry(a, entry);
    panel.images = padded != nullptr ? *padded : images_;
    if (padded == nullptr) {
      panel.images.data = b_.entry(b, entry);
    } else {
      const int64_t channel = b_.batch.offset(entry) / images_.channel;
      panel.images.data = static_cast<const char*>(padded->data) +
                          channel * padded->channel * int64_t(size_of(b_.dtype));
    }
    panel.first = index % panels * shape_.panel;
    panel.end = std::min(panel.first + shape_.panel, shape_.all());
    panel.first_output = block / shape_.channel_blocks * shape_.block_outputs;
    panel.first_channel = block % shape_.channel_blocks * shape_.block_channels;
    panel.sums = slabs + index * slab;
    panel.scratch = parts + worker * shape_.scratch();
    run_weight_panel(panel);
  });
  const int64_t row = shape_.sum_row(), size = shape_.channels * window;
  parallel_items(batch_ * shape_.outputs, threads_, [&](int64_t item, int) {
    const int64_t entry = item / shape_.outputs, output = item % shape_.outputs;
    float* const sums = slabs + entry * panels * slab + output * row;
    add_pairwise(sums, slab, panels, row);
    float* const to = static_cast<float*>(out) + item * size;
    store_turned(sums, row / window, window, shape_.channels, to, window);
    if (all_finite(to, size)) return;
    std::atomic_ref<uint32_t>(refused_entries[entry]).store(1, std::memory_order_relaxed);
  });
  if (epilogue == nullptr) return;
  parallel_items(batch_ * shape_.outputs, threads_, [&](int64_t item, int) {
    const int64_t entry = item / shape_.outputs, output = item % shape_.outputs;
    if (refused(scratch, entry)) return;
    epilogue->run(epilogue->context, {entry, output, output + 1, 0, size});
  });
}

}  // namespace mt::cpu
