// SPDX-License-Identifier: Apache-2.0
// Small batch entries side by side, each in a lane of its own: as the images of a convolution share
// its weight, lines of a few positions then waste no lanes, and no load straddles two lines of
// memory. So are channels whose weights are few, as those of a depthwise convolution are. Products
// with padding are left out, as long as that changes no bit of a sum: where a is finite they are
// zeros, which matter to no sum but one of -0.
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
  // A thread's scratch: which padding there is around the turned entries, the weights, if each has
  // its own, the entries, and results.
  static constexpr int64_t head_bytes = 64;
  int64_t entries = 0;             // in a group; 0: not at all
  int64_t elements = 0;            // of an entry of b, from the first to the last
  int64_t line = 1, lines = 1;     // results in a line; lines of a row
  int64_t together = 1;            // lines in scratch
  int64_t slivers = 1, parts = 1;  // into which rows and lines are cut
  bool own_weights = false;        // an entry of b has an entry of a of its own
  int64_t line_terms = 0;          // terms are lines of 3, 5 or 7 neighbours
  std::vector<int32_t> places;  // where each element of what entries are made of goes, if they are
  std::vector<Term> terms;      // all; then those of each part (needed_terms.h)
  std::vector<Terms> kept;      // of each part of each line, if there is padding
  std::vector<Range> padding_read;  // of the padding, by these

  explicit operator bool() const { return entries > 0; }
  // Where a part of a line begins. Those in the middle are the longer ones, by one position: the
  // outer ones leave out more.
  int64_t begin_of(int64_t part) const {
    const int64_t longer = line % parts, before = (parts - longer) / 2;
    return line / parts * part + std::clamp<int64_t>(part - before, 0, longer);
  }
  // Results of a row that are in scratch, of an entry and of all.
  int64_t positions() const { return together * line; }
  int64_t columns() const { return positions() * entries; }
  // Whether what goes by entries, as channels do, goes by the columns of such results.
  bool by_entries(int64_t rows) const { return own_weights && rows == 1; }
  int64_t groups(int64_t batch) const { return (batch + entries - 1) / entries; }
  int64_t bytes() const {
    return static_cast<int64_t>(terms.size() * sizeof(Term) + kept.size() * sizeof(Terms) +
                                padding_read.size() * sizeof(Range) +
                                places.size() * sizeof(int32_t));
  }
};

// For a sum of floats in one chain, on so many threads. `made`: of the entries of b, or nullptr.
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
  double fill;                         // of what is made
  bool leaves_out;                     // products with padding
  const Epilogue* epilogue;            // of results in scratch, if any
  int64_t first;                       // entry
  float* out;                          // [count, rows, columns]
  void* scratch;                       // abreast_scratch bytes; begin_abreast has been called
};
// Fewer positions have no kernel for lines of terms.
constexpr int fewest_line_positions = 5;
// Vectors' lanes; the most rows of a kernel beside so many positions, or 0 if there is none;
// whether all of `count` numbers are finite.
int64_t abreast_lanes();
int64_t abreast_rows(int64_t positions, bool own_weights);
bool are_finite(const float* x, int64_t count);

size_t abreast_scratch(const Abreast& how, const MatrixOperand& a);
void begin_abreast(void* scratch);
void run_abreast(const AbreastBlock& block);

}  // namespace mt::cpu
