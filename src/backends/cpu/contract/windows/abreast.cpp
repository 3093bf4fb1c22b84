// SPDX-License-Identifier: Apache-2.0
// A group's entries are transposed, so that each element, of all entries, is one vector. Results
// are computed a few rows and neighbouring positions at a time and transposed back by a few lines.
#include "backends/cpu/contract/windows/abreast.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/cache.h"
#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/windows/abreast.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/transpose-inl.h"
#include "backends/cpu/contract/windows/abreast-inl.h"

#ifndef MT_ABREAST_SCRATCH
#define MT_ABREAST_SCRATCH
namespace mt::cpu {
namespace {
// Which padding is filled in: what is read even if padding is left out, or all that terms read.
enum class Padded : uint8_t { none, read, all };
}  // namespace
}  // namespace mt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Where each row begins.
struct RowsAt {
  const float* const* rows;
  int64_t first;
  const float* operator()(int i) const { return rows[i] + first; }
  RowsAt at(int64_t k) const { return {rows, first + k}; }
};

// Transposes elements [first, first + count) of `present` rows to vectors at to[i]; elements and
// rows are at most as many as a vector has lanes.
HWY_NOINLINE void turn_elements(const float* const* rows, int64_t present, int64_t first,
                                int64_t count, float* const* to) {
  constexpr int64_t lanes = lanes_of<float>;
#if HWY_TARGET != HWY_SCALAR
  if (present == lanes && (count == lanes || turns_columns)) {
    return turn_columns(RowsAt{rows, first}, static_cast<int>(count),
                        [&](int j, auto x) HWY_ATTR { hn::Store(x, Vectors<float>(), to[j]); });
  }
#endif
  alignas(64) float turned[lanes * lanes] = {};
  for (int64_t i = 0; i < present; ++i) {
    for (int64_t j = 0; j < count; ++j) turned[j * lanes + i] = rows[i][first + j];
  }
  for (int64_t j = 0; j < count; ++j) std::copy_n(turned + j * lanes, lanes, to[j]);
}

// The same for any number of elements, to vectors one after the other, or at `places`.
void turn_rows(const float* const* rows, int64_t present, int64_t elements, float* turned,
               const int32_t* places = nullptr) {
  constexpr int64_t lanes = lanes_of<float>;
  for (int64_t i = 0; i < elements; i += lanes) {
    // The last ones together with what comes before them.
    const int64_t first = std::max<int64_t>(std::min(i, elements - lanes), 0);
    const int64_t count = std::min(elements, lanes);
    float* to[lanes];
    for (int64_t j = 0; j < count; ++j) {
      to[j] = turned + (places ? places[first + j] : first + j) * lanes;
    }
    turn_elements(rows, present, first, count, to);
  }
}

// What is in lanes without an entry does not matter, as long as arithmetic with it is not slow.
// Padding stays from one group to the next.
void turn_entries(const AbreastBlock& block, Padded wanted, Padded* padded, float* turned) {
  constexpr int64_t lanes = lanes_of<float>;
  const Abreast& how = *block.how;
  const bool made = !how.places.empty();
  const int64_t elements = made ? static_cast<int64_t>(how.places.size()) : how.elements;
  if (made && *padded < wanted) {
    const auto fill = [&](const Abreast::Range& range) {
      std::fill_n(turned + range.first * lanes, range.count * lanes,
                  static_cast<float>(block.fill));
    };
    if (wanted == Padded::all) {
      fill({0, how.elements});
    } else {
      for (const Abreast::Range& range : how.padding_read) fill(range);
    }
    *padded = wanted;
  }
  turn_rows(block.entries, block.count, elements, turned, made ? how.places.data() : nullptr);
}

// Puts the entries' own weights side by side, too.
void turn_weights(const AbreastBlock& block, float* turned) {
  constexpr int64_t lanes = lanes_of<float>;
  const MatrixOperand& a = *block.a;
  for (int64_t row = 0; row < a.rows.size; ++row, turned += a.k.size * lanes) {
    const float* rows[lanes] = {};
    for (int64_t e = 0; e < block.count; ++e) rows[e] = block.weights[e] + a.rows.offset(row);
    if (a.k.uniform() && a.k.stride() == 1) {
      turn_rows(rows, block.count, a.k.size, turned);
      continue;
    }
    for (int64_t i = 0; i < a.k.size; ++i) {
      const int64_t at = a.k.offset(i);
      for (int64_t e = 0; e < lanes; ++e) turned[i * lanes + e] = e < block.count ? rows[e][at] : 0;
    }
  }
}

// Vectors one after the other.
struct VectorRows {
  const float* data;
  const float* operator()(int i) const { return data + i * lanes_of<float>; }
  VectorRows at(int64_t k) const { return {data + k}; }
};

// Transposes results [first, first + positions) of each row back to [count, rows, positions].
void turn_results(const AbreastBlock& block, const float* c, int64_t positions, int64_t first) {
  constexpr int64_t lanes = lanes_of<float>;
  const int64_t rows = block.a->rows.size, row_size = block.b->rows.size, pitch = rows * row_size;
  for (int64_t row = 0; row < rows; ++row, c += block.how->columns()) {
    float* const out = block.out + row * row_size + first;
#if HWY_TARGET != HWY_SCALAR
    if (block.count == lanes && positions >= lanes) {
      for (int64_t i = 0; i < positions; i += lanes) {
        const int64_t at = std::min(i, positions - lanes);
        float* to = out + at;
        turn_square(VectorRows{c + at * lanes}, [&](int, auto x) HWY_ATTR {
          hn::StoreU(x, Vectors<float>(), to);
          to += pitch;
        });
      }
      continue;
    }
#endif
    turn_block(c, lanes, positions, block.count, out, pitch);
  }
}

// Begins to fetch the memory that the next results are written to, for rows [begin, end), counted
// through all entries.
void fetch_results(const AbreastBlock& block, int64_t begin, int64_t end, int64_t positions,
                   int64_t first) {
  const float* const out = block.out + first;
  for (int64_t i = begin; i < end; ++i) {
    const float* const row = out + i * block.b->rows.size;
    for (int64_t at = 0; at < positions; at += 16) __builtin_prefetch(row + at, 1);
  }
}

AbreastKernel kernel_for(const Abreast& how, int64_t rows, int64_t positions) {
  static constexpr auto kernels = abreast_table(std::make_integer_sequence<int, most_positions>());
  static constexpr auto own_kernels =
      own_kernels_of(std::make_integer_sequence<int, most_own_positions>());
  if (!how.own_weights) return kernels[positions - 1][rows - 1];
#if HWY_TARGET != HWY_SCALAR
  constexpr int counts = most_own_positions - fewest_line_positions + 1;
  using Counts = std::make_integer_sequence<int, counts>;
  static constexpr std::array kernels_of_lines = {
      line_kernels_of<3>(Counts()), line_kernels_of<5>(Counts()), line_kernels_of<7>(Counts())};
  if (how.line_terms > 0 && positions >= fewest_line_positions) {
    return kernels_of_lines[how.line_terms / 2 - 1][positions - fewest_line_positions];
  }
#endif
  return own_kernels[positions - 1];
}

void run_abreast_here(const AbreastBlock& block) {
  constexpr int64_t lanes = lanes_of<float>;
  const Abreast& how = *block.how;
  const MatrixOperand &a = *block.a, &b = *block.b;
  const int64_t m = a.rows.size, k = a.k.size;
  char* const scratch = static_cast<char*>(block.scratch);
  float* const weights = reinterpret_cast<float*>(scratch + Abreast::head_bytes);
  float* const turned = weights + (how.own_weights ? m * k * lanes : 0);
  float* const c = turned + how.elements * lanes;
  auto* const padded = reinterpret_cast<Padded*>(scratch);
  turn_entries(block, block.leaves_out ? Padded::read : Padded::all, padded, turned);

  int64_t a_rows[most_abreast_rows];
  AbreastTile tile{};
  if (how.own_weights) turn_weights(block, weights);
  tile.a = how.own_weights ? weights : block.a_data;
  tile.a_rows = a_rows;
  tile.step = b.rows.stride() * lanes;
  tile.c_row = how.columns();
  for (int64_t first = 0; first < how.lines; first += how.together) {
    const int64_t lines = std::min(how.together, how.lines - first);
    const int64_t positions = lines * how.line, tiles = lines * how.parts;
    for (int64_t l = 0; l < lines; ++l) {
      const int64_t line = b.rows.offset((first + l) * how.line);
      for (int64_t p = 0; p < how.parts; ++p) {
        const int64_t begin = how.begin_of(p), end = how.begin_of(p + 1);
        const Abreast::Terms terms =
            block.leaves_out ? how.kept[(first + l) * how.parts + p] : Abreast::Terms{0, k};
        const int64_t at = l * how.parts + p, fetched = m * block.count;
        fetch_results(block, fetched * at / tiles, fetched * (at + 1) / tiles, positions,
                      first * how.line);
        tile.b = turned + (line + begin * b.rows.stride()) * lanes;
        for (int64_t s = 0; s < how.slivers; ++s) {
          const int64_t row = m * s / how.slivers, rows = m * (s + 1) / how.slivers - row;
          how.own_weights ? void(a_rows[0] = row * k * lanes) : a.rows.offsets(row, rows, a_rows);
          tile.c = c + row * tile.c_row + (l * how.line + begin) * lanes;
          tile.terms = how.terms.data() + terms.first;
          tile.k = terms.count;
          const AbreastKernel kernel = kernel_for(how, rows, end - begin);
          kernel(tile);
          if (terms.count == k || !has_negative_zero(tile, rows, end - begin)) continue;
          if (*padded < Padded::all) turn_entries(block, Padded::all, padded, turned);
          tile.terms = how.terms.data();
          tile.k = k;
          kernel(tile);
        }
      }
    }
    // At the end, where lines are fewer, the epilogue also goes over what earlier lines have left.
    if (block.epilogue) {
      block.epilogue->run_turned(block.epilogue->context, {0, 0, 0, 0, m}, c);
    }
    turn_results(block, c, positions, first * how.line);
  }
}

// Whether all of `count` numbers are finite.
bool are_finite(const float* x, int64_t count) {
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  auto rests = hn::Zero(d);  // x - x, which is a NaN for infinities
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    rests = hn::Add(rests, hn::Sub(value, value));
  }
  float rest = hn::GetLane(hn::SumOfLanes(d, rests));
  for (; i < count; ++i) rest += x[i] - x[i];
  return rest == 0;
}

int64_t abreast_lanes() { return lanes_of<float>; }
int64_t abreast_rows(int64_t positions, bool own_weights) {
  if (own_weights) return positions <= most_own_positions ? 1 : 0;
  return positions <= most_positions ? abreast_rows_for(static_cast<int>(positions)) : 0;
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(abreast_lanes);
HWY_EXPORT(are_finite);
HWY_EXPORT(abreast_rows);
HWY_EXPORT(run_abreast_here);

int64_t abreast_lanes() { return HWY_DYNAMIC_DISPATCH(abreast_lanes)(); }
int64_t abreast_rows(int64_t positions, bool own_weights) {
  return HWY_DYNAMIC_DISPATCH(abreast_rows)(positions, own_weights);
}
bool are_finite(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(are_finite)(x, count);
}
void begin_abreast(void* scratch) { *static_cast<Padded*>(scratch) = Padded::none; }

void run_abreast(const AbreastBlock& block) { HWY_DYNAMIC_DISPATCH(run_abreast_here)(block); }

}  // namespace mt::cpu
#endif
