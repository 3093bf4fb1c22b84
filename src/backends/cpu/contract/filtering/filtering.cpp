// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/filtering/filtering.h"

#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/filtering/multiply_planes.h"
#include "backends/cpu/contract/filtering/transforms.h"
#include "backends/cpu/contract/gather.h"
#include "base/rounding.h"
#include "ops/minimal_filtering.h"

namespace mt::cpu {
namespace {

constexpr int64_t window = 9;           // elements
constexpr int64_t most_together = 256;  // tiles of a line

// The lines of an image that a band reads, each with its elements next to each other.
class Lines {
 public:
  Lines(const FilteredBand& band, const void* entry)
      : band_(band), how_(*band.how), entry_(entry), copies_(static_cast<float*>(band.scratch)) {}

  // `count` elements of line `line` of a channel, from element `first` on; `copy`: which of four
  // buffers to use if they have to be copied.
  const float* find(int64_t channel, int64_t line, int64_t first, int64_t count, int copy) const {
    // What is below the last line matters to no result.
    line = std::min(line, how_.lines + 1);
    const int64_t at = channel * how_.channel + line * how_.line + first * how_.step;
    if (band_.b->dtype == Dtype::float32 && how_.step == 1) {
      return static_cast<const float*>(entry_) + at;
    }
    float* const to = copies_ + copy * copy_elements;
    int64_t offsets[copy_elements];
    for (int64_t i = 0; i < count; ++i) offsets[i] = at + i * how_.step;
    const int64_t none = 0;
    gather(band_.b->dtype, entry_, offsets, count, count, &none, 1, to);
    return to;
  }

  static constexpr int64_t copy_elements = 2 * most_together + 2;

 private:
  const FilteredBand& band_;
  const Filtering& how_;
  const void* entry_;
  float* copies_;
};
// A thread's scratch: copied lines, then tiles, then results.
constexpr int64_t copies_elements = round_up(4 * Lines::copy_elements, 16);
float* tiles_of(const FilteredBand& band) {
  return static_cast<float*>(band.scratch) + copies_elements;
}
float* results_of(const FilteredBand& band) {
  return tiles_of(band) + planes * band.how->tile_plane();
}

// Lines of tiles of a band's image.
int64_t lines_of_tiles(const FilteredBand& band) { return divide_up(band.end - band.first, 2); }

}  // namespace

void transform_image(const FilteredBand& band, int64_t first_tile, int64_t image,
                     const void* entry) {
  const Filtering& how = *band.how;
  const Lines lines(band, entry);
  const int64_t down = lines_of_tiles(band), across = band.across(first_tile);
  const int64_t columns = std::min(2 * across + 2, how.positions + 2 - 2 * first_tile);
  for (int64_t channel = 0; channel < how.channels; ++channel) {
    for (int64_t i = 0; i < down; ++i) {
      TileLine line;
      for (int j = 0; j < 4; ++j) {
        line.lines[j] = lines.find(channel, band.first + 2 * i + j, 2 * first_tile, columns, j);
      }
      line.columns = columns;
      line.tiles = across;
      line.to = tiles_of(band) + channel * how.tile_row() + (image * down + i) * across;
      line.plane = how.tile_plane();
      transform_tiles(line);
    }
  }
}

// results[16][outputs][columns] = weight[16][outputs][channels] tiles[16][channels][columns]
void multiply_tiles(const FilteredBand& band, int64_t first_tile) {
  const Filtering& how = *band.how;
  PlaneProducts products;
  products.a = band.weight + band.first_output * how.weight_row();
  products.b = tiles_of(band);
  products.c = results_of(band);
  products.a_plane = how.weight_plane();
  products.b_plane = how.tile_plane();
  products.c_plane = how.result_plane();
  products.a_row = how.weight_row();
  products.row = how.tile_row();
  products.rows = band.end_output - band.first_output;
  products.columns = band.images * lines_of_tiles(band) * band.across(first_tile);
  products.terms = how.channels;
  products.begins = true;
  multiply_planes(strided_kernels(Dtype::float32), products);
}

bool transform_back(const FilteredBand& band, int64_t first_tile, int64_t image, float* out) {
  const Filtering& how = *band.how;
  const int64_t down = lines_of_tiles(band), across = band.across(first_tile);
  bool finite = true;
  for (int64_t output = band.first_output; output < band.end_output; ++output) {
    const float* const row =
        results_of(band) + (output - band.first_output) * how.tile_row() + image * down * across;
    for (int64_t i = 0; i < down; ++i) {
      const int64_t at = band.first + 2 * i;
      ResultLine line;
      line.from = row + i * across;
      line.plane = how.result_plane();
      line.first = out + (output * how.lines + at) * how.positions + 2 * first_tile;
      line.second = at + 1 < band.end ? line.first + how.positions : nullptr;
      line.columns = std::min(2 * across, how.positions - 2 * first_tile);
      finite &= transform_results(line);
    }
  }
  return finite;
}

Filtering find_filtering(const Contraction& c) {
  if (c.precision != minimal_filtering) return {};
  const MatrixOperand a = operand_a(c), b = operand_b(c);
  Filtering how;
  how.lines = c.n[0].size;
  how.positions = c.n[1].size;
  how.across = filtered_across(how.positions);
  how.down = filtered_down(how.lines, how.positions);
  how.together = divide_up(how.across, divide_up(how.across, most_together));
  how.outputs = a.rows.size;
  how.channels = a.k.size / window;
  how.channel = b.k.offset(window);
  how.line = b.k.offset(3);
  how.step = b.k.offset(1);
  // Images share their weight, as a rule.
  for (int d = 0, differ = false; d < a.batch.rank; ++d) {
    differ |= a.batch.strides[d] != 0;
    if (differ) how.weights *= a.batch.sizes[d];
  }
  return how;
}

void join_images(int64_t batch, int threads, Filtering* how) {
  const bool whole = how->together == how->across && 2 * how->down >= how->lines;
  if (!whole || how->weights > 1 || batch <= 1) return;
  const int64_t most = std::clamp<int64_t>(filtered_tiles / how->tiles(), 1, most_band_images);
  const int64_t bands = std::min(round_up(divide_up(batch, most), threads), batch);
  how->images = divide_up(batch, bands);
}

size_t filtering_weight_bytes(const Filtering& how) {
  return static_cast<size_t>(how.weights * how.weight_elements()) * sizeof(float);
}

size_t filtering_scratch(const Filtering& how) {
  return static_cast<size_t>(copies_elements + planes * (how.tile_plane() + how.result_plane())) *
         sizeof(float);
}

void transform_weight(const Filtering& how, const MatrixOperand& a, const void* entry,
                      int64_t first, int64_t end, float* to) {
  constexpr int64_t most = 64;
  alignas(64) float elements[window * most];
  int64_t rows[most], ks[window];
  a.k.offsets(0, window, ks);
  const int64_t channel_stride = a.k.offset(window);
  // A window's elements are neighbours, forwards, or backwards for the gradient to the input.
  bool follow = a.dtype == Dtype::float32 && (ks[1] == 1 || ks[1] == -1);
  for (int64_t i = 2; i < window; ++i) follow &= ks[i] == i * ks[1];
  const int64_t ahead = channel_stride == window ? 2 * most * window : 2 * a.rows.offset(1);
  for (int64_t output = first; output < end; ++output) {
    for (int64_t channel = 0; channel < how.channels; channel += most) {
      const int64_t count = std::min(most, how.channels - channel), width = round_up(count, 16);
      const int64_t begin = a.rows.offset(output) + channel * channel_stride;
      if (follow) {
        const float* const from = static_cast<const float*>(entry) + begin;
        for (int64_t i = 0; i < count; ++i) fetch_line(from + ahead + i * channel_stride);
        if (ks[1] > 0) {
          store_turned(from, channel_stride, count, window, elements, width);
        } else {
          store_turned(from + ks[window - 1], channel_stride, count, window,
                       elements + (window - 1) * width, -width);
        }
      } else {
        for (int64_t i = 0; i < count; ++i) rows[i] = begin + i * channel_stride;
        gather(a.dtype, entry, rows, count, width, ks, window, elements);
      }
      for (int64_t i = 0; i < window; ++i) {
        std::fill(elements + i * width + count, elements + (i + 1) * width, 0.0f);
      }
      transform_windows(elements, width, to + output * how.weight_row() + channel,
                        how.weight_plane());
    }
  }
}

}  // namespace mt::cpu
