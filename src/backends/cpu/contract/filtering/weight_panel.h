// SPDX-License-Identifier: Apache-2.0
// A panel of a weight's gradient by minimal filtering (ops/minimal_filtering.h), for a block of
// outputs and of channels. Band by band, lines of tiles are transformed (those of images with
// channels next to each other), and 16 products over the tiles are added to the panel's sums, all
// in the second-level cache. At the end of the panel the sums are transformed to windows.
#pragma once

#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "plan/contraction.h"

namespace mt::cpu {

// Images [images, channels, lines, positions] in place, perhaps without the zeros around them.
struct PaddedImages {
  const void* data;
  int64_t image, channel, line, step;  // strides
  int64_t lines, positions;
  int64_t top, left;  // zeros before them
};

struct WeightShape {
  int64_t outputs, channels;  // of a group
  int64_t images, lines, positions;
  int64_t across, down;  // tiles of a line; lines of tiles of an image
  int64_t panel, band;   // lines of tiles, which are counted through all images
  int64_t together;      // tiles of a line that are computed at a time
  int64_t output_blocks, channel_blocks;
  int64_t block_outputs, block_channels;  // at most
  int64_t image, line, step;              // strides of the results' gradient
  Dtype of_results, of_images;
  Axis output;  // of the results' gradient

  // Cuts outputs so that blocks times panels are at least `tasks`, if possible.
  WeightShape(const Contraction& contraction, int64_t tasks);

  int64_t all() const { return images * down; }
  int64_t panels() const;
  // Sizes in elements: of one output's tiles in a band; of planes of image tiles, of result tiles
  // and of sums; of a line of images with channels innermost; of an output's sums, [9][channels].
  int64_t tile_row() const;
  int64_t x_plane() const;
  int64_t y_plane() const;
  int64_t sum_plane() const;
  int64_t turned_line() const;
  int64_t sum_row() const;
  // Bytes of scratch for a panel.
  int64_t scratch() const;
};

// Lines of tiles [first, end), for the block that begins at first_output and first_channel.
// results, images: of the group. sums: [outputs][9][channels] of the panel.
struct WeightPanel {
  const WeightShape* shape;
  const void* results;
  PaddedImages images;
  int64_t first, end;
  int64_t first_output, first_channel;
  float* sums;
  void* scratch;
};
void run_weight_panel(const WeightPanel& panel);

}  // namespace mt::cpu
