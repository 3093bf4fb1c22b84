// SPDX-License-Identifier: Apache-2.0
// Which convolutions are computed by minimal filtering, F(2 x 2, 3 x 3) (Winograd; Lavin and Gray
// 2015), with 16 products for each 2 x 2 results of a channel instead of 36. Like an order of sums,
// that is a property of the recorded operator alone.
//
// With B, G and A as there, and x a tile of 4 x 4 elements that begins at an even line and column
// of the windows' elements, the results that it has are A' m A, where each of the 16 elements of m
// is a chain of fused multiply-adds over the channels, beginning at zero, of those of G w G' and
// B' x B. The latter are computed along columns first, then along rows, each sum from left to
// right but that g0 + g2 comes first in (g0 +- g1 + g2) / 2. Nothing reaches a result but the
// elements of its own window; its error is relative to the largest of them times the largest
// weight. Where a band of lines of some outputs would have a result that is not finite, it is
// summed directly, so that infinities give what they give there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/order.h"
#include "ops/precision.h"

namespace mt {

// The mode of a contraction that is computed so, beside those that users choose from. Its n is
// lines and positions, even where both are one stride apart; its k, channels, 3 and 3. Backends
// that do without compute it as a strict one.
inline constexpr Precision minimal_filtering{precision_count};
// The mode of a recorded convolution.
Precision convolution_precision(const Op& op, const Attributes& attributes);

// Tiles across a line of results.
constexpr int64_t filtered_across(int64_t positions) { return (positions + 1) / 2; }

// Whether it pays, for convolutions with 3 x 3 windows at every position, so many channels and
// outputs in a group. Where channels are few, transforms take what products save. Short lines fill
// vectors with several images, which need more channels, and the more, the larger a part of their
// tiles lies beyond them; where tiles are few in all of them, the weight's transform takes it.
inline bool pays_minimal_filtering(int64_t outputs, int64_t channels, int64_t images, int64_t lines,
                                   int64_t positions) {
  constexpr int64_t fewest = 16, fewest_pairs = 512, shortest_line = 15, fewest_positions = 225;
  constexpr int64_t fewest_small = 32, many = 256, shortest = 8, shortest_of_many = 7;
  constexpr int64_t fewest_whole = 128, shortest_whole = 4, fewest_tiles = 64, fewest_of_many = 25;
  const int64_t few = std::min(outputs, channels);
  if (few < fewest || outputs * channels < fewest_pairs) return false;
  if (positions < shortest_line || lines * positions < fewest_positions) {
    const int64_t tiles = images * ((lines + 1) / 2) * filtered_across(positions);
    const bool whole = few >= fewest_whole && lines % 2 == 0 && positions % 2 == 0;
    const int64_t side = whole ? shortest_whole : few >= many ? shortest_of_many : shortest;
    const int64_t shorter = std::min(lines, positions);
    const bool repays = shorter >= shortest ? few >= fewest_whole : whole && few >= many;
    if (few < fewest_small || shorter < side || tiles < (repays ? fewest_of_many : fewest_tiles)) {
      return false;
    }
  }
  return contraction_order(outputs, lines * positions, 9 * channels, Dtype::float32).lanes == 1;
}

// Tiles of a band, about: they fill vectors well and leave the second-level cache room for their
// products. Then how many of its lines a band has, all bands being of nearly equal height.
constexpr int64_t filtered_tiles = 112;
constexpr int64_t filtered_down(int64_t lines, int64_t positions) {
  const int64_t all = (lines + 1) / 2,
                most = std::max<int64_t>(1, filtered_tiles / filtered_across(positions));
  const int64_t bands = (all + most - 1) / most;
  return (all + bands - 1) / bands;
}
// Outputs of a band that are found to be finite together; few, as it is also what threads can share
// of a single band.
constexpr int64_t filtered_outputs = 64;

// The weight's gradient, G' m G, takes as many products of a tile: each element of m is the sum
// over all tiles of those of B' x B times A y A', where y are the tile's 2 x 2 results' gradients.
// Lines of tiles are counted through all images, and cut into panels of so many; a panel's sums are
// chains of fused multiply-adds, beginning at zero, tile by tile, then transformed to 3 x 3, and
// combined pairwise as those of ops/order.h. What lies beyond an image's windows is zero. The last
// row of A is taken without its sign, and the last of G with another. If any element of a group's
// weight is not finite, all of it is summed directly.
inline constexpr Precision minimal_filtering_of_weight{precision_count + 1};

// Whether it pays. What transforms take is shared by few products where tiles, outputs or channels
// are few; and of short lines many tiles are not whole.
inline bool pays_filtering_of_weight(int64_t outputs, int64_t channels, int64_t images,
                                     int64_t lines, int64_t positions) {
  constexpr int64_t fewest_outputs = 16, fewest_channels = 32, shortest = 8, fewest_tiles = 192;
  return outputs >= fewest_outputs && channels >= fewest_channels &&
         std::min(lines, positions) >= shortest &&
         images * ((lines + 1) / 2) * filtered_across(positions) >= fewest_tiles;
}

// Many panels occupy many threads, but what they leave behind takes memory.
constexpr int64_t filtered_panel(int64_t outputs, int64_t channels, int64_t images, int64_t lines,
                                 int64_t positions) {
  constexpr int64_t most = 32, fewest_tiles = 256, most_sums = 1 << 19;
  const int64_t all = images * ((lines + 1) / 2), tiles = all * filtered_across(positions);
  int64_t panels = 1;
  while (panels < most && 2 * panels * fewest_tiles <= tiles &&
         2 * panels * outputs * channels <= most_sums) {
    panels *= 2;
  }
  return (all + panels - 1) / panels;
}

}  // namespace mt
