// SPDX-License-Identifier: Apache-2.0
// Convolutions by minimal filtering (ops/minimal_filtering.h). The weight is transformed once in
// each run. Then, for each band of an image's lines or of several small images, the tiles are
// transformed, multiplied with the weight (16 products over the channels), and the results
// transformed back, all in the second-level cache.
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
  int64_t images = 1;                 // of a band; if several, all lines of each
  int64_t channels = 0, outputs = 0;  // of a group
  int64_t weights = 1;                // how many there are: batch entry i has weight i % weights
  int64_t channel = 0, line = 0, step = 0;  // strides of the images

  static constexpr int64_t gap = round_up(beyond_tiles, 16);  // between planes

  explicit operator bool() const { return lines > 0; }
  int64_t band() const { return 2 * down * positions; }  // results of an output
  int64_t tiles() const { return images * down * together; }
  // Sizes in elements: of a transformed weight, whose rows are outputs, and from one of its planes
  // to the next; and of rows and planes of the transformed tiles and of the results.
  int64_t weight_row() const { return round_up(channels, 16); }
  int64_t weight_plane() const { return outputs * weight_row(); }
  int64_t weight_elements() const { return planes * weight_plane(); }
  // Several images are transformed one by one, so what a line stores beyond its tiles must not lie
  // in the next row; and rows a multiple of 128 elements apart would share few sets of a cache.
  int64_t tile_row() const {
    const int64_t row = round_up(tiles() + (images > 1 ? beyond_tiles : 0), 16);
    return images > 1 && row % 128 == 0 ? row + 16 : row;
  }
  int64_t tile_plane() const { return channels * tile_row() + gap; }
  int64_t result_plane() const { return std::min(outputs, filtered_outputs) * tile_row() + gap; }
};

// The most small images in a band.
constexpr int64_t most_band_images = 16;

Filtering find_filtering(const Contraction& contraction);
// Lets a band have several of the `batch` images, if these are small.
void join_images(int64_t batch, int threads, Filtering* how);

// Bytes of all transformed weights, and of a thread's scratch.
size_t filtering_weight_bytes(const Filtering& how);
size_t filtering_scratch(const Filtering& how);

// Transforms outputs [first, end) of the weight at `entry`; `to`: where the transformed one begins.
void transform_weight(const Filtering& how, const MatrixOperand& a, const void* entry,
                      int64_t first, int64_t end, float* to);

struct FilteredBand {
  const Filtering* how;
  const MatrixOperand* b;
  const float* weight;               // transformed
  int64_t images;                    // at most how->images
  int64_t first, end;                // lines of the result
  int64_t first_output, end_output;  // at most filtered_outputs
  void* scratch;

  int64_t across(int64_t first_tile) const {
    return std::min(how->together, how->across - first_tile);
  }
};
// Transforms an image's tiles that are computed together, in each line from `first_tile` on.
// `entry`: the image's entry of b; images come in order.
void transform_image(const FilteredBand& band, int64_t first_tile, int64_t image,
                     const void* entry);
// Multiplies the tiles of all images with the weight.
void multiply_tiles(const FilteredBand& band, int64_t first_tile);
// Transforms an image's results to where they belong. Returns whether all are finite; if not, they
// are to be summed directly.
bool transform_back(const FilteredBand& band, int64_t first_tile, int64_t image, float* out);

}  // namespace mt::cpu
