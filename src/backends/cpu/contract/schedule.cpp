// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/schedule.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/exact.h"
#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/contract/micro_tile.h"
#include "backends/cpu/contract/packing_costs.h"
#include "backends/cpu/contract/rows_in_lanes.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// Below this much arithmetic, on so little memory, a parallel region costs more than it saves.
constexpr int64_t serial_flops = 1000 * 1000;
constexpr double serial_bytes = 128 * 1024;
// The least arithmetic that makes a tile worth handing to a thread; the same if it packs its b.
constexpr double tile_flops = 0.5e6, packing_flops = 5e6;
// The most rows that the kernel takes together. Where there are no more, b is read only once and
// not packed, and a tile has up to read_columns columns.
constexpr int64_t sliver_rows = 12, read_columns = 1024;
// Small batch entries that are taken together have about this many results.
constexpr int64_t results_together = 8192;
// A tile that packs both operands and has fewer rows and columns than this is cut further only
// while tiles are fewer than threads.
constexpr int64_t repays_cutting = 384;
// The most rows of a wide tile that is rounded afterwards, as its sums lie in scratch.
constexpr int64_t rounded_rows = 480;
// A tile over sliding windows that are read in place may be wider, up to this many results.
constexpr int64_t window_results = 32 * 1024;
// The most bytes of all panels' slabs together, unless one batch entry alone needs more.
constexpr int64_t slab_bytes = 16 * 1024 * 1024;
// A b of at most this many bytes may be read whole by every thread.
constexpr int64_t shared_bytes = 512 * 1024;
// Where only b is packed, tiles of columns_beside_rows columns leave more of the second-level cache
// to a. They pay if there is more than one block of terms or, on one thread, if a tile would pack
// fills_cache bytes or more.
constexpr int64_t columns_beside_rows = 128, fills_cache = 1024 * 1024;
// If each thread has this many rows of a tall a, it takes all their columns and packs all of b:
// other steps that go by rows have left them, or will look for them, in that core's caches.
constexpr int64_t repays_packing = 1024;
// The fewest rows of a tile that has all columns.
constexpr int64_t fewest_whole_rows = 48;
// The most tiles wanted for each thread: several, so that others can take some if it comes late.
constexpr int64_t tiles_per_thread = 4;
// Rows of a tile of Way::lanes: how many its kernel takes together, the fewest worth handing out,
// and the most if the tile is rounded afterwards, as its sums then lie in scratch.
constexpr int64_t lane_rows = 4, fewest_lane_rows = 16, rounded_lane_rows = 4096;
constexpr int64_t far_lane_rows = 64;  // whose pages are still known when the next panels are read
constexpr int64_t fewest_strip_rows = 4 * vector_floats;  // if rows are neighbours: some vectors
// Of two operands that lie along k, one is transposed. That is operand a only if
// - it has at most most_turned_rows rows or, in float32, twice as many or slightly fewer; numbers
//   in between leave tiles of uneven widths;
// - there are at least fewest_turned_terms terms: with fewer, transposing costs more than it saves.
constexpr int64_t most_turned_rows = 8 * vector_floats, fewest_turned_terms = 32;
// An operand of this many elements is in no nearby cache.
constexpr int64_t distant = 1 << 20;

// More than far_results results lie in no nearby cache when they are transposed; with fewer than
// few_terms terms that takes longer than multiplying.
constexpr int64_t far_results = 1 << 18, few_terms = 128;

// Columns of a tall result that count as few: few_columns in any case, and as many as take
// few_columns_bytes, or half of that where the lines of memory with a's terms share one or two sets
// of the first-level cache.
constexpr int64_t few_columns = 16, few_columns_bytes = 192;
// With more columns the transpose pays if it is estimated to take less than this share of the time.
constexpr double worth_turning = 0.95, worth_turning_doubles = 0.9;
// The same share if windows are broadcast rather than read in place; what transposing costs there.
constexpr double worth_broadcasting = 0.955, turning_windows = 6;

// Whether windows that vectors can read in place are better broadcast: computing the gaps between
// lines costs more than vectors that rows do not fill, plus transposing the result and a.
bool broadcasts_better(const MatrixOperand& a, const MatrixOperand& b, Dtype sum) {
  if (a.dtype != sum || b.dtype != sum) return false;
  const auto m = static_cast<double>(a.rows.size), n = static_cast<double>(b.rows.size);
  const auto terms = static_cast<double>(a.k.size);
  const auto filled = static_cast<double>(round_up(a.rows.size, vector_floats * 4 / size_of(sum)));
  const double broadcast = filled * n * terms + turning_windows * m * (n + terms);
  const double in_place = static_cast<double>(b.rows.span()) * m * terms;
  return broadcast < worth_broadcasting * in_place;
}

// Whether the transpose of the result is easier to compute, because
// - the result is tall with few columns, and vectors can run along a's rows instead, as these are
//   neighbours in memory;
// - neither operand lies along k, and columns fill vectors badly or rows are more to pack;
// - only b lies along k: then the transpose packs neither operand and only transposes the result;
// - both operands lie along k, so one has to be packed, and a costs less, provided that it fills
//   vectors and that b need not be widened, which would pack b as well;
// - the columns are sliding windows that broadcasts can read in place and vectors cannot, unless a
//   large result of few terms would have to be transposed; or vectors can, but would also compute
//   the gaps between lines, while the rows fill vectors.
bool transposed_is_easier(const MatrixOperand& a, const MatrixOperand& b, Dtype sum) {
  const int64_t m = a.rows.size, n = b.rows.size;
  const bool a_along_k = a.k.stride() == 1, b_along_k = b.k.stride() == 1;
  const int64_t size = size_of(sum), terms = a.k.size;
  const bool across = a.rows.stride() == 1 && !a_along_k;
  const bool few_sets = a.k.stride() * size % 2048 == 0;
  const int64_t bytes = few_sets ? few_columns_bytes / 2 : few_columns_bytes;
  const int64_t most_columns = std::max(few_columns, a.dtype == sum ? bytes / size : 0);
  if (across && n <= most_columns && m > 4 * n) return true;
  const bool even = a.rows.uniform() && a.k.uniform() && b.rows.uniform() && b.k.uniform();
  if (across && even && !few_sets && b.rows.stride() == 1 && !b_along_k && a.dtype == sum &&
      b.dtype == sum) {
    const int64_t lanes = vector_floats * 4 / size;
    const int64_t turned = (round_up(m, lanes) + packing) * n * terms + turning * m * n;
    const int64_t straight = (round_up(n, lanes) + packing) * m * terms;
    const double share = size == 8 ? worth_turning_doubles : worth_turning;
    return static_cast<double>(turned) < share * static_cast<double>(straight);
  }
  if (across && even && b_along_k && a.dtype == sum && b.dtype == sum) {
    const int64_t lanes = vector_floats * 4 / size;
    const int64_t turned = n * round_up(m, lanes) * terms + turning * m * n;
    const int64_t straight = m * round_up(n, lanes) * terms + (packing * m + turning * n) * terms;
    return static_cast<double>(turned) < worth_turning * static_cast<double>(straight);
  }
  // With fewer rows, empty lanes cost more than transposing a b that is in a nearby cache.
  const bool near = n * terms < distant;
  const bool in_lanes = puts_rows_in_lanes(b, a, sum, n, m, terms);
  const int64_t fewest = near && !in_lanes ? vector_floats / 2 : 5;
  const bool even_tiles =
      m <= most_turned_rows || (size == 4 && round_up(m, vector_floats) == 2 * most_turned_rows);
  if (m >= fewest && even_tiles && terms >= fewest_turned_terms && a_along_k && b_along_k &&
      b.rows.stride() != 1 && b.dtype == sum) {
    const int64_t turned = n * round_up(m, vector_floats) * terms + turning * m * (terms + n);
    const int64_t straight =
        m * round_up(n, vector_floats) * terms + (near ? turning : turning_distant) * n * terms;
    if (turned < straight) return true;
  }
  const bool mostly_result = terms < few_terms && m * n > far_results;
  if (m < 4 || mostly_result || !b.slides(gathered_often) || a.slides()) return false;
  return !reads_columns_in_place(b, m) || broadcasts_better(a, b, sum);
}

// Whether a vector is as long as a line of memory. With shorter ones multiply-adds take twice as
// long, so that packed data arrives in time even from farther away.
bool fills_lines(Dtype sum) {
  return strided_kernels(sum).lanes * int64_t(size_of(sum)) == cache_line;
}

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
  if (way == Way::blocked && transposed_is_easier(left, right, sum)) {
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
  if (way == Way::filtering) {
    columns = std::min(filtering.band(), n);
    // Where the weight is larger than the tiles, each thread keeps to its own outputs: no other
    // then reads their weights, though every thread transforms the tiles anew. Outputs are also
    // divided where there are fewer bands than threads.
    const int64_t blocks = divide_up(m, filtered_outputs);
    const int64_t all_tiles = batch * divide_up(filtering.lines, 2) * filtering.across;
    order.parts_outermost = threads > 1 && filtering.outputs > all_tiles && blocks >= threads;
    join_images(batch, order.parts_outermost ? 1 : threads, &filtering);
    const int64_t bands =
        std::max<int64_t>(divide_up(batch, filtering.images) * divide_up(n, columns), 1);
    const int64_t wanted = order.parts_outermost ? threads : divide_up(int64_t{threads}, bands);
    rows = divide_up(blocks, std::min(blocks, wanted)) * filtered_outputs;
    if (order.parts_outermost) order.parts = divide_up(m, rows);
    slabs = filtering_weight_bytes(filtering);
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

Way Schedule::choose_way(const Contraction& c, const MatrixOperand& a, const MatrixOperand& b,
                         const EntryParts* made) {
  if (!is_floating(c.out)) return Way::exact;
  if (contraction_order(m, n, k, c.out).lanes > 1) {
    if (sum == Dtype::float32 && takes_same_windows()) same = find_same_windows(a, b, made);
    return Way::lanes;
  }
  filtering = find_filtering(c);
  if (filtering) return Way::filtering;
  if (panels <= 1 && c.out == Dtype::float32) abreast = choose_abreast(a, b, threads, made);
  if (panels <= 1 && sum == c.out && sum == b.dtype) {
    lines = find_image_lines(a, b, made);
    // Lines that nearly fill a vector, or several of four lanes.
    const int64_t lanes = abreast_lanes(), fewest = lanes > 4 ? lanes - 1 : 3 * lanes;
    const bool fills_vectors = lines.in_place && lines.width >= fewest;
    if (lines && (fills_vectors || !abreast.own_weights)) {
      abreast = {};
      return Way::image_lines;
    }
  }
  if (abreast) return Way::abreast;
  const bool short_windows =
      sum == c.out && sum == b.dtype && has_short_windows(a, b, most_short_windows());
  return short_windows ? Way::short_windows : Way::blocked;
}

// Whole lines; several tiles for each thread.
void Schedule::choose_lines(double flops) {
  const int64_t worth = static_cast<int64_t>(flops / tile_flops);
  const int64_t wanted = std::clamp<int64_t>(worth, threads, tiles_per_thread * threads);
  const int64_t parts =
      std::max(divide_up(wanted, std::max<int64_t>(batch, 1)), divide_up(n, window_results));
  rows = m;
  columns = divide_up(lines.height, std::min(parts, lines.height)) * lines.width;
}

void Schedule::choose_tiles(const MatrixOperand& left, const MatrixOperand& right, double flops,
                            bool replaces_b) {
  const int64_t column_unit = sum == Dtype::float64 ? 32 : 64, row_unit = 6;
  rows = std::max<int64_t>(m, 1);
  columns = std::max<int64_t>(n, 1);
  if (way == Way::lanes) {
    // Only the longer dimension is cut.
    int64_t& many = m >= n ? rows : columns;
    const int64_t entries = std::max<int64_t>(batch * panels, 1);
    const int64_t parts = std::max<int64_t>(1, tiles_per_thread * threads / entries);
    const LaneStrips strips(m >= n ? left : right, std::min(m, n), sum);
    if (threads > 1 && strips.possible && !strips.near) {
      // Strips as wide as possible but, if they are few, equally many for each thread.
      int64_t all = divide_up(many, strips.columns) * entries;
      if (all < tiles_per_thread * threads) all = round_up(all, threads);
      many = round_up(divide_up(many, divide_up(all, entries)), order_lanes);
    } else if (threads > 1) {
      const int64_t fewest = strips.possible ? fewest_strip_rows : fewest_lane_rows;
      many = std::max(fewest, round_up(divide_up(many, parts), lane_rows));
    }
    const MatrixOperand& from = m >= n ? left : right;
    const int64_t bytes = std::max(m, n) * k * static_cast<int64_t>(size_of(from.dtype));
    const bool even = from.rows.uniform() && from.k.uniform();
    order.panels_innermost = panels > 1 && even && !strips.possible && bytes > second_cache;
    if (order.panels_innermost) many = std::min(many, far_lane_rows);
    if (rounded) many = std::min(many, rounded_lane_rows);
    return;
  }
  int64_t most = most_block_columns(size_of(sum));
  if (b_in_place) most = std::max(most, window_results / rows);
  const bool floating = way != Way::exact;
  const bool in_place = floating && reads_b_in_place(right, sum, m, n, panel);
  const bool shared = in_place && !b_in_place && k * n * int64_t(size_of(sum)) <= shared_bytes;
  if ((in_place && m <= sliver_rows) || shared) most = read_columns;
  if (columns > most) columns = round_up(divide_up(columns, divide_up(columns, most)), column_unit);
  const int64_t most_rows = rounded_rows * std::max<int64_t>(1, column_unit / columns);
  if (rounded && rows > most_rows) {
    rows = round_up(divide_up(rows, divide_up(rows, most_rows)), row_unit);
  }
  if (way == Way::short_windows) return;
  const int64_t rows_at_most = rows, columns_at_most = columns;
  const bool packs_b = floating && !reads_b_in_place(right, sum, rows, columns, panel);
  const bool a_in_place = reads_a_in_place(left, sum, rows, panel);
  const bool high = packs_b && a_in_place, packs_both = packs_b && !a_in_place;
  const int64_t terms = std::min(k, panel);
  const bool blocks = terms > block_k;
  const int64_t packed = columns * std::min(block_k, terms) * int64_t(size_of(sum));
  const bool fills = packed >= fills_cache && fills_lines(sum);
  if (high && (threads == 1 ? fills : blocks) && columns >= 2 * columns_beside_rows) {
    // With up to most_block_k terms, two panels run in a single block.
    columns = terms <= most_block_k ? 2 * column_unit : columns_beside_rows;
  }
  if (threads == 1) return;
  // Several tiles for each thread, each worth handing out. Where every tile packs its columns of b,
  // which costs more than reading its rows of a again, tiles are higher than wide. Where it packs
  // both operands, tiles are square, and only cut further while there are too few of them.
  const int64_t worth = static_cast<int64_t>(flops / (packs_b ? packing_flops : tile_flops));
  const int64_t wanted = std::clamp<int64_t>(worth, threads, tiles_per_thread * threads);
  // Packed columns of a single block of terms are kept for the next tile, and then wide tiles read
  // less of a. With more blocks every tile packs its columns anew, and tiles that are cut by
  // columns alone pack nothing twice.
  const int64_t highest = blocks ? 8 : 1;
  const bool by_rows = !packs_b && k * n * int64_t(size_of(sum)) <= shared_bytes;
  const auto enough = [&] {
    const int64_t made = batch * panels * tiles();
    if (packs_both && made >= threads && std::max(rows, columns) < repays_cutting) return true;
    return made >= wanted || (rows <= row_unit && columns <= column_unit);
  };
  // An epilogue takes a tile of whole rows all at once.
  const int64_t parts = std::min(tiles_per_thread, m / (threads * fewest_whole_rows));
  if (shared && by_rows && columns >= n && parts > 0 && !enough()) {
    rows = divide_up(m, parts * threads);
    order.parts = divide_up(m, rows);
    return;
  }
  // All tiles that share columns transpose them anew, so columns are cut before rows.
  const bool near_rows = m * k * int64_t(size_of(sum)) <= shared_bytes;
  const bool turns = high && transposed && near_rows && !enough();
  // Unless the rows are updated later: rows that only one core has read are written several times
  // as fast, so each thread has its own rows and transposes all columns, if that takes
  // comparatively little.
  if (turns && replaces_b && m >= 2 * turning * threads) {
    rows = divide_up(m, threads);
    columns = std::min(columns, column_unit);
    order.parts = divide_up(m, rows);
    return;
  }
  if (turns && columns <= column_unit && columns > column_unit * 3 / 4) {
    columns = column_unit / 2;
  }
  while (!enough()) {
    const int64_t few = packs_both ? columns : high ? highest * columns : columns / 2;
    // With few columns one unit more or less is much: 130 would be cut into 128 and 2.
    const bool uneven = packs_both && columns < 4 * column_unit && columns % (2 * column_unit) != 0;
    const bool cuts_rows = rows > row_unit && (rows >= few || (uneven && rows > 2 * row_unit));
    const int64_t half = round_up(divide_up(rows, 2), row_unit);
    // With so few rows a tile would read b in place, though all rows together repay packing it.
    const bool unpacks =
        packs_b && columns > column_unit && reads_b_in_place(right, sum, half, columns, panel);
    if (unpacks && batch * panels * tiles() >= 2 * threads) break;
    if ((cuts_rows && !unpacks) || columns <= column_unit) {
      rows = half;
    } else {
      columns = round_up(divide_up(columns, 2), column_unit);
    }
  }
  // Low tiles are better of equal height than of whole slivers.
  if (rows < 16 * row_unit) rows = divide_up(m, divide_up(m, rows));
  const bool tall = high && batch * panels == 1 && divide_up(m, rows) % threads == 0 &&
                    m >= std::max(2 * n, repays_packing * threads);
  if (floating && batch * panels == 1 && !tall) {
    even_out(left, right, by_rows, rows_at_most, columns_at_most);
  }
  if (by_rows) {
    order.parts = divide_up(m, rows);
  } else if (tall) {
    order.parts = threads;
  }
}

}  // namespace mt::cpu
