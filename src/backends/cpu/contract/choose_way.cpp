// SPDX-License-Identifier: Apache-2.0
// Which kernel computes a contraction, and whether as its transpose.
#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/contract/micro_tile.h"
#include "backends/cpu/contract/packing_costs.h"
#include "backends/cpu/contract/rows_in_lanes.h"
#include "backends/cpu/contract/schedule.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

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

}  // namespace

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
bool Schedule::transpose_is_easier(const MatrixOperand& a, const MatrixOperand& b) const {
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

}  // namespace mt::cpu
