// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/schedule.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/exact.h"
#include "backends/cpu/contract/lanes.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// Below this much arithmetic, on so little memory, a parallel region costs more than it saves.
constexpr int64_t serial_flops = 1000 * 1000;
constexpr double serial_bytes = 128 * 1024;
// Small batch entries that are taken together have about this many results.
constexpr int64_t results_together = 8192;
// The most bytes of all panels' slabs together, unless one batch entry alone needs more.
constexpr int64_t slab_bytes = 16 * 1024 * 1024;

}  // namespace

Schedule::Schedule(const Contraction& c, int most_threads, const Surroundings& around) {
  const EntryParts* const made = around.made;
  batch = size_of_group(c.batch);
  m = size_of_group(c.m);
  n = size_of_group(c.n);
  k = size_of_group(c.k);
  bool wide = c.a == Dtype::float64 || c.b == Dtype::float64 || c.out == Dtype::float64;
  // 32 bits are enough to count the products that are true, if there are fewer than 2^32.
  const bool long_integers = size_of(c.out) == 8 || k >= int64_t{1} << 32;
  const bool integers = !is_floating(c.out);
  sum = integers ? (long_integers ? Dtype::int64 : Dtype::int32)
        : wide   ? Dtype::float64
                 : Dtype::float32;
  const ContractionOrder sums = contraction_order(m, n, k, c.out);
  const bool one_panel = integers || c.precision == minimal_filtering;
  panel = one_panel ? std::max<int64_t>(k, 1) : sums.panel;
  panels = divide_up(k, panel);
  transposed = b_in_place = passes = false;
  MatrixOperand left = operand_a(c), right = operand_b(c);
  double flops = 2.0 * static_cast<double>(batch) * static_cast<double>(m) *
                 static_cast<double>(n) * static_cast<double>(k);
  const double bytes = static_cast<double>(batch) * static_cast<double>(m * k + k * n + m * n) *
                       static_cast<double>(size_of(sum));
  const bool alone = flops == 0 || (flops < serial_flops && bytes < serial_bytes);
  threads = alone ? 1 : std::max(most_threads, 1);
  way = choose_way(c, left, right, made);
  if (way == Way::blocked && transpose_is_easier(left, right)) {
    transposed = true;
    std::swap(m, n);
    std::swap(left, right);
  }
  if (way == Way::blocked || way == Way::short_windows) {
    b_in_place = right.dtype == sum && reads_columns_in_place(right, m);
  }
  rounded = way != Way::exact && panels <= 1 && (sum != c.out || transposed);
  streamed = static_cast<double>(batch) * static_cast<double>(m * n) *
                 static_cast<double>(size_of(c.out)) >
             static_cast<double>(last_cache);
  group = 1;
  slabs = 0;
  if (panels > 1) {
    int64_t entry = panels * m * n * static_cast<int64_t>(size_of(sum));
    group = std::clamp<int64_t>(slab_bytes / std::max<int64_t>(entry, 1), 1,
                                std::max<int64_t>(batch, 1));
    slabs = static_cast<size_t>(round_up(group * entry, cache_line));
  }
  if (way == Way::abreast) {
    rows = m;
    columns = n;
    tile_scratch = held = 0;
    thread_scratch =
        static_cast<size_t>(round_up(int64_t(abreast_scratch(abreast, left)), cache_line));
    return;
  }
  if (way == Way::image_lines) {
    choose_lines(flops);
    tile_scratch = 0;
    held = static_cast<size_t>(
        round_up(int64_t(image_lines_scratch(lines, size_of(sum))), cache_line));
    thread_scratch = held + held_bytes;
    return;
  }
  rows = std::max<int64_t>(m, 1);
  columns = std::max<int64_t>(n, 1);
  if (way == Way::filtering) {
    choose_bands();
    slabs = filtering_weight_bytes(filtering);
  } else if (way == Way::lanes) {
    choose_lane_tiles(left, right);
  } else {
    choose_tiles(left, right, flops, around.replaces_b);
  }
  size_t size = size_of(sum);
  passes = around.may_pass && way == Way::blocked && panels <= 1 && !rounded && columns == n;
  size_t kernel = way == Way::exact   ? exact_scratch()
                  : way == Way::lanes ? lanes_scratch(m >= n ? left : right, std::min(m, n), sum)
                                      : block_scratch(left, right, sum, rows, columns, panel);
  if (same) kernel = std::max(kernel, static_cast<size_t>(same.scratch()));
  if (way == Way::filtering) kernel = std::max(kernel, filtering_scratch(filtering));
  tile_scratch = rounded ? static_cast<size_t>(round_up(rows * columns, 64)) * size : 0;
  held = static_cast<size_t>(round_up(static_cast<int64_t>(kernel), cache_line)) + tile_scratch;
  const int64_t made_bytes = made ? made->elements * int64_t(size_of(c.b)) : 0;
  thread_scratch = held + held_bytes + static_cast<size_t>(round_up(made_bytes, cache_line));
}

int64_t Schedule::entries_together() const {
  const int64_t wanted = results_together / std::max<int64_t>(m * n, 1);
  const int64_t most = batch / (threads > 1 ? threads * tiles_per_thread : 1);
  return panels <= 1 && tiles() == 1 ? std::clamp<int64_t>(wanted, 1, std::max<int64_t>(most, 1))
                                     : 1;
}

}  // namespace mt::cpu
