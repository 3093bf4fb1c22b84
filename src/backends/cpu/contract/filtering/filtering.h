// SPDX-License-Identifier: Apache-2.0
// Convolutions by minimal filtering (ops/minimal_filtering.h). The weight is transformed once a
// run. Then for each band of an image's lines: its tiles are transformed, 16 products over the
// channels are made of them and the weight, and their results transformed back, all in the
// second-level cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/filtering/transforms.h"
#include "backends/cpu/contract/operand.h"
#include "base/rounding.h"
#include "ops/minimal_filtering.h"
#include "plan/contraction.h"

namespace mt::cpu {

struct Filtering {
  int64_t lines = 0, positions = 0;   // of a result; 0: no filtering
  int64_t across = 0, down = 0;       // tiles of a band
  int64_t together = 0;               // tiles across that are computed at a time
  int64_t channels = 0, outputs = 0;  // of a group
  int64_t weights = 1;                // how many there are: batch entry i has weight i % weights
  int64_t channel = 0, line = 0, step = 0;  // strides of the images

  static constexpr int64_t gap = round_up(beyond_tiles, 16);  // between planes

  explicit operator bool() const { return lines > 0; }
  int64_t band() const { return 2 * down * positions; }  // results of an output
  int64_t tiles() const { return down * together; }
  // Elements: of a weight transformed, of which outputs are rows, and from one of its planes to the
  // next; and of the transformed tiles' and results' rows and planes.
  int64_t weight_row() const { return round_up(channels, 16); }
  int64_t weight_plane() const { return outputs * weight_row(); }
  int64_t weight_elements() const { return planes * weight_plane(); }
  int64_t tile_row() const { return round_up(tiles(), 16); }
  int64_t tile_plane() const { return channels * tile_row() + gap; }
  int64_t result_plane() const { return std::min(outputs, filtered_outputs) * tile_row() + gap; }
};

Filtering find_filtering(const Contraction& contraction);

// Bytes of all transformed weights, and of a thread's scratch.
size_t filtering_weight_bytes(const Filtering& how);
size_t filtering_scratch(const Filtering& how);

// Transforms outputs [first, end) of the weight whose entry is given, to where it begins.
void transform_weight(const Filtering& how, const MatrixOperand& a, const void* entry,
                      int64_t first, int64_t end, float* to);

struct FilteredBand {
  const Filtering* how;
  const MatrixOperand* b;
  const void* entry;                 // of b
  const float* weight;               // transformed
  int64_t first, end;                // lines of the result
  int64_t first_output, end_output;  // at most filtered_outputs
  bool transformed;  // the same scratch was last used for the same lines of the same entry
  float* out;        // where the entry's result begins
  void* scratch;
};
// Returns whether all results are finite; if not, they are to be summed directly.
bool run_filtering(const FilteredBand& band);

}  // namespace mt::cpu
