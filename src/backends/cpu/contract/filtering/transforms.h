// SPDX-License-Identifier: Apache-2.0
// The transforms of minimal filtering (ops/minimal_filtering.h), by vectors of neighbouring tiles.
// Each tile's sums are its own, whatever else is in its vector.
#pragma once

#include <cstdint>

namespace mt::cpu {

// The 16 elements of a tile lie in as many planes, `plane` apart.
constexpr int64_t planes = 16;

// A whole vector may be stored where the last tile goes, so up to this many elements beyond it.
constexpr int64_t beyond_tiles = 15;

// A line of tiles: four lines of elements, of which `columns` can be read.
struct TileLine {
  const float* lines[4];
  int64_t columns, tiles;
  float* to;  // in the first plane
  int64_t plane;
};
void transform_tiles(const TileLine& line);

// Two lines of results, of `columns` each; one if `second` is null. Returns whether all are finite.
struct ResultLine {
  const float* from;  // in the first plane
  int64_t plane;
  float *first, *second;
  int64_t columns;
};
bool transform_results(const ResultLine& line);

// Transforms 3 x 3 windows, given as [9][windows], to `windows` elements in each plane. Reads and
// stores whole vectors.
void transform_windows(const float* elements, int64_t windows, float* to, int64_t plane);

// For the weight's gradient: a line of tiles in which each element is `width` channels next to each
// other, a whole number of vectors; four lines of 2 * tiles + 2 such elements. In a plane each tile
// has `width` channels, too.
struct TurnedLine {
  const float* lines[4];
  int64_t width, tiles;
  float* to;  // in the first plane
  int64_t plane;
};
void transform_turned_tiles(const TurnedLine& line);

// A line of tiles of 2 x 2 results: two lines of `columns`, of which the second is zero if null.
struct ResultTiles {
  const float *first, *second;
  int64_t columns, tiles;
  float* to;  // in the first plane
  int64_t plane;
};
void transform_result_tiles(const ResultTiles& line);

// Transforms sums of `width` channels in each plane to the 9 elements of a window, `step` apart.
void transform_sums(const float* from, int64_t plane, int64_t width, float* to, int64_t step);

}  // namespace mt::cpu
