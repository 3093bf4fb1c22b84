// SPDX-License-Identifier: Apache-2.0
// Which contractions are computed abreast, and how.
#include <algorithm>
#include <cmath>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/windows/abreast.h"
#include "backends/cpu/contract/windows/needed_terms.h"
#include "base/rounding.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

constexpr int64_t fewest_lanes = 4;
constexpr int64_t most_entry_bytes = second_cache * 3 / 5;  // of all that are side by side
constexpr int64_t most_result_bytes = first_cache;          // in scratch
constexpr int64_t most_checks = 1 << 18;                    // for padding, when a plan is made
constexpr int64_t fewest_positions = 2;
constexpr int64_t most_own_rows = 4, most_own_terms = 64;  // of each entry's weights

int64_t result_bytes(const Abreast& how, const MatrixOperand& a, int64_t lines) {
  return a.rows.size * lines * how.line * how.entries * int64_t{sizeof(float)};
}
// Lines that are longer than 14 fill vectors by themselves, or nearly. Longer ones still pay with
// vectors of 8, which leave out the gaps between more of them, and whose squares are transposed
// quickly; and with vectors of 16 where a line's results are nearby.
int64_t longest_line(const Abreast& how, const MatrixOperand& a) {
  const bool near = how.entries == 16 && result_bytes(how, a, 1) <= first_cache / 2;
  return how.entries == 8 || near || how.own_weights ? 28 : 14;
}
int64_t weight_bytes(const Abreast& how, const MatrixOperand& a) {
  return how.own_weights ? a.rows.size * a.k.size * how.entries * int64_t{sizeof(float)} : 0;
}
int64_t turned_bytes(const Abreast& how) {
  return how.elements * how.entries * int64_t{sizeof(float)};
}

bool ascends(const Axis& axis) {
  return std::all_of(axis.strides, axis.strides + axis.rank, [](int64_t s) { return s >= 0; });
}

// Whether windows read elements again (1.5 times on average); with steps of two perhaps too few for
// other ways to gain from it.
bool meets_again(const MatrixOperand& b) {
  const int64_t spanned = b.rows.span() + b.k.span() - 1;
  return b.rows.size > 1 && b.k.size > 1 && 2 * b.rows.size * b.k.size >= 3 * spanned;
}

// How many lines are transposed together, so that squares of results are filled best; less than a
// square takes a detour.
int64_t lines_at_once(const Abreast& how, const MatrixOperand& a) {
  const int64_t side = how.entries;
  int64_t best = 1, squares = how.line < side ? side : divide_up(how.line, side);
  for (int64_t lines = 2; lines <= how.lines; ++lines) {
    if (result_bytes(how, a, lines) > most_result_bytes) break;
    const int64_t positions = lines * how.line;
    const int64_t these = positions < side ? side : divide_up(positions, side);
    if (these * best >= squares * lines) continue;
    best = lines;
    squares = these;
  }
  return best;
}

// Cuts rows into slivers and lines into parts so that the terms which any result of a part needs
// take the least time in all: two multiply-adds and two loads go at a time, and a chain's next
// multiply-add waits for four steps. Without `needed`, results need all terms.
void cut(const MatrixOperand& a, const NeededTerms* needed, Abreast* how) {
  constexpr int64_t beginning = 4;  // what else a part takes, in terms
  const int64_t rows = a.rows.size, line = how->line;
  Abreast tried = *how;
  int64_t least = INT64_MAX;
  for (tried.parts = 1; tried.parts <= line; ++tried.parts) {
    const int64_t rows_at_once = abreast_rows(divide_up(line, tried.parts), how->own_weights);
    if (rows_at_once == 0) continue;
    tried.slivers = divide_up(rows, rows_at_once);
    int64_t cost = 0;
    for (int64_t p = 0; p < tried.parts; ++p) {
      const int64_t begin = tried.begin_of(p), end = tried.begin_of(p + 1), positions = end - begin;
      // Lines of terms multiply what has been loaded already.
      const bool by_lines = how->line_terms > 0 && positions >= fewest_line_positions;
      const int64_t loads = by_lines ? 0 : tried.slivers * (positions + 2) + rows;
      const int64_t term = std::max({rows * positions, loads, 8 * tried.slivers});
      for (int64_t l = 0; l < (needed ? how->lines : 1); ++l) {
        const int64_t first = l * line;
        const int64_t terms = needed ? needed->count(first + begin, first + end) : a.k.size;
        cost += (terms + beginning) * term;
      }
    }
    if (cost >= least) continue;
    least = cost;
    how->slivers = tried.slivers;
    how->parts = tried.parts;
  }
}

// Lists, for each part of each line, the terms that some of its results need; and the padding that
// these read.
void leave_out_padding(const MatrixOperand& b, const NeededTerms& needed,
                       const std::vector<bool>& filled, Abreast* how) {
  const int64_t k = b.k.size, step = b.rows.stride();
  std::vector<bool> read = filled;
  std::vector<Abreast::Term> found;
  for (int64_t l = 0; l < how->lines; ++l) {
    const int64_t first = l * how->line, line = b.rows.offset(first);
    for (int64_t p = 0; p < how->parts; ++p) {
      const int64_t begin = how->begin_of(p), end = how->begin_of(p + 1);
      const NeededTerms::Words any = needed.of(first + begin, first + end);
      found.clear();
      for (int64_t i = 0; i < k; ++i) {
        if ((any[static_cast<size_t>(i) / 64] >> i % 64 & 1) == 0) continue;
        const Abreast::Term term = how->terms[i];
        found.push_back(term);
        for (int64_t at = begin; at < end; ++at) {
          read[line + at * step + term.b / how->entries] = true;
        }
      }
      // Lines in the middle need the same terms, which are then listed once.
      Abreast::Terms terms{static_cast<int64_t>(how->terms.size()),
                           static_cast<int64_t>(found.size())};
      if (l > 0) {
        const Abreast::Terms above = how->kept[(l - 1) * how->parts + p];
        const Abreast::Term* const list = how->terms.data() + above.first;
        if (above.count == terms.count &&
            std::equal(found.begin(), found.end(), list,
                       [](auto x, auto y) { return x.a == y.a && x.b == y.b; })) {
          terms = above;
          found.clear();
        }
      }
      how->terms.insert(how->terms.end(), found.begin(), found.end());
      how->kept.push_back(terms);
    }
  }
  for (int64_t i = 0, count; i < how->elements; i += std::max<int64_t>(count, 1)) {
    for (count = 0; i + count < how->elements && read[i + count] && !filled[i + count];) ++count;
    if (count > 0) how->padding_read.push_back({i, count});
  }
}

}  // namespace

Abreast choose_abreast(const MatrixOperand& a, const MatrixOperand& b, int threads,
                       const EntryParts* made) {
  const bool floats = a.dtype == Dtype::float32 && b.dtype == Dtype::float32;
  const int64_t lanes = abreast_lanes(), batch = b.batch.size;
  if (!floats || lanes < fewest_lanes || b.batch.rank != 1) return {};
  Abreast how;
  how.entries = lanes;
  how.own_weights = a.batch.rank > 1 || a.batch.stride() != 0;
  if (how.own_weights ? !meets_again(b) : !b.slides()) return {};
  if (how.own_weights && (a.rows.size > most_own_rows || a.k.size > most_own_terms)) return {};
  // Entries have to fill three quarters of the lanes, and their groups occupy all threads.
  if (4 * batch < 3 * lanes * how.groups(batch) || how.groups(batch) < threads) return {};
  if (!ascends(b.rows) || !ascends(b.k)) return {};
  if (made != nullptr && !is_contiguous(made->from)) return {};
  how.elements = made ? made->elements : b.rows.span() + b.k.span() - 1;
  how.line = b.rows.sizes[b.rows.rank - 1];
  how.lines = b.rows.size / how.line;
  if (how.line < fewest_positions || how.line > longest_line(how, a)) return {};
  if (turned_bytes(how) > most_entry_bytes || result_bytes(how, a, 1) > 4 * most_result_bytes)
    return {};
  if (a.k.span() > INT32_MAX) return {};
  how.together = lines_at_once(how, a);
  for (int64_t i = 0; i < a.k.size; ++i) {
    how.terms.push_back({static_cast<int32_t>(how.own_weights ? i * how.entries : a.k.offset(i)),
                         static_cast<int32_t>(b.k.offset(i) * how.entries)});
  }
  for (int64_t i = 0; made != nullptr && i < element_count(made->to.shape); ++i) {
    how.places.push_back(static_cast<int32_t>(made->to.offset + locate(made->to, i)));
  }
  const int64_t width = b.k.sizes[b.k.rank - 1];
  const bool together = b.k.strides[b.k.rank - 1] == b.rows.stride();
  const bool has_kernels = width == 3 || width == 5 || width == 7;
  if (how.own_weights && together && has_kernels) how.line_terms = width;
  if (made == nullptr || b.rows.size * b.k.size > most_checks) {
    cut(a, nullptr, &how);
    return how;
  }
  std::vector<bool> filled(static_cast<size_t>(how.elements), false);
  for (int32_t place : how.places) filled[place] = true;
  const NeededTerms needed(b, how, filled);
  cut(a, &needed, &how);
  leave_out_padding(b, needed, filled, &how);
  return how;
}

bool leaves_out_padding(const Abreast& how, const MatrixOperand& a, const float* a_data,
                        double fill) {
  if (how.kept.empty() || fill != 0) return false;
  // Usually a fills all the memory that it spans, perhaps several times over.
  int64_t first = 0, span = 1;
  for (const Axis* axis : {&a.batch, &a.rows, &a.k}) {
    span += axis->span() - 1;
    for (int d = 0; d < axis->rank; ++d) {
      first += std::min<int64_t>(axis->strides[d], 0) * (axis->sizes[d] - 1);
    }
  }
  if (span <= a.batch.size * a.rows.size * a.k.size) return are_finite(a_data + first, span);
  for (int64_t entry = 0; entry < (how.own_weights ? a.batch.size : 1); ++entry) {
    for (int64_t row = 0; row < a.rows.size; ++row) {
      const float* const from = a_data + a.batch.offset(entry) + a.rows.offset(row);
      for (int64_t i = 0; i < a.k.size; ++i) {
        if (!std::isfinite(from[a.k.offset(i)])) return false;
      }
    }
  }
  return true;
}

size_t abreast_scratch(const Abreast& how, const MatrixOperand& a) {
  return static_cast<size_t>(Abreast::head_bytes + weight_bytes(how, a) + turned_bytes(how) +
                             result_bytes(how, a, how.together));
}

}  // namespace mt::cpu
