// SPDX-License-Identifier: Apache-2.0
// Small batch entries side by side, each in a lane of its own. As the images of a convolution share
// its weight, short lines of positions then waste no lanes, and no load straddles two lines of
// memory. Channels that have few weights each, as in a depthwise convolution, are computed in the
// same way. Products with padding are left out as long as that changes no bit of a sum: where a is
// finite they are zeros, which matter only to a sum of -0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"
#include "tensor/layout.h"

namespace mt::cpu {

// What a padded entry is made of: elements, and where each of them goes; all else is padding.
struct EntryParts {
  Layout from, to;       // of one shape, from the first element on
  int64_t elements = 0;  // of the entry
};

// How a contraction is computed abreast.
struct Abreast {
  struct Term {
    int32_t a, b;  // where its factors lie
  };
  struct Terms {
    int64_t first, count;
  };
  struct Range {
    int64_t first, count;  // elements
  };
  // A thread's scratch holds: which padding is there around the entries (head_bytes); the weights,
  // if each entry has its own; the entries, transposed; and results.
  static constexpr int64_t head_bytes = 64;
  int64_t entries = 0;              // in a group; 0: not at all
  int64_t elements = 0;             // of an entry of b, from the first to the last
  int64_t line = 1, lines = 1;      // results in a line; lines of a row
  int64_t together = 1;             // lines that scratch has at a time
  int64_t slivers = 1, parts = 1;   // into which rows and lines are cut
  bool own_weights = false;         // each entry of b has its own entry of a
  int64_t line_terms = 0;           // 3, 5 or 7 if terms are lines of so many neighbours; else 0
  std::vector<int32_t> places;      // where each element that an entry is made of goes; else empty
  std::vector<Term> terms;          // all; then those of each part (needed_terms.h)
  std::vector<Terms> kept;          // terms of each part of each line, if there is padding
  std::vector<Range> padding_read;  // the padding that these read

  explicit operator bool() const { return entries > 0; }
  // Where a part of a line begins. Parts in the middle may be one position longer; outer parts
  // leave out more terms.
  int64_t begin_of(int64_t part) const {
    const int64_t longer = line % parts, before = (parts - longer) / 2;
    return line / parts * part + std::clamp<int64_t>(part - before, 0, longer);
  }
  // Results of a row that are in scratch: of one entry, and of all.
  int64_t positions() const { return together * line; }
  int64_t columns() const { return positions() * entries; }
  int64_t groups(int64_t batch) const { return (batch + entries - 1) / entries; }
  int64_t bytes() const {
    return static_cast<int64_t>(terms.size() * sizeof(Term) + kept.size() * sizeof(Terms) +
                                padding_read.size() * sizeof(Range) +
                                places.size() * sizeof(int32_t));
  }
};

// For sums of float32 in one chain. `made`: the parts of b's entries; nullptr: they are in memory.
Abreast choose_abreast(const MatrixOperand& a, const MatrixOperand& b, int threads,
                       const EntryParts* made);

// Whether products with padding of this value may be left out.
bool leaves_out_padding(const Abreast& how, const MatrixOperand& a, const float* a_data,
                        double fill);

constexpr int most_abreast = 16;

struct AbreastBlock {
  const Abreast* how;
  const MatrixOperand *a, *b;
  const float* a_data;
  const float* entries[most_abreast];  // the entries of b, or what they are made of
  const float* weights[most_abreast];  // the entries of a, if each has its own
  int64_t count;                       // at most how->entries
  double fill;                         // the value of padding
  bool leaves_out;                     // whether products with padding are left out
  const Epilogue* epilogue;            // of results in scratch, if any
  float* out;                          // [count, rows, columns]
  void* scratch;                       // abreast_scratch bytes; begin_abreast has been called
};
// Fewer positions have no kernel for lines of terms.
constexpr int fewest_line_positions = 5;
// The lanes of a vector; the most rows of a kernel for `positions` positions, or 0 if there is
// none; whether all of `count` numbers are finite.
int64_t abreast_lanes();
int64_t abreast_rows(int64_t positions, bool own_weights);
bool are_finite(const float* x, int64_t count);

size_t abreast_scratch(const Abreast& how, const MatrixOperand& a);
void begin_abreast(void* scratch);
void run_abreast(const AbreastBlock& block);

}  // namespace mt::cpu
