// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/filtering/weight_panel.h"

#include <algorithm>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/filtering/multiply_planes.h"
#include "backends/cpu/contract/filtering/transforms.h"
#include "backends/cpu/contract/gather.h"
#include "base/rounding.h"
#include "ops/minimal_filtering.h"

namespace mt::cpu {
namespace {

constexpr int64_t window = 9;                             // elements
constexpr int64_t gap = round_up(beyond_tiles, 16);       // between planes
constexpr int64_t band_tiles = 112;                       // about
constexpr int64_t most_together = 256;                    // tiles of a line
constexpr int64_t most_outputs = 64, most_channels = 64;  // of a block
constexpr int64_t fewest_outputs = 16;

class Panel {
 public:
  explicit Panel(const WeightPanel& panel)
      : panel_(panel),
        shape_(*panel.shape),
        images_(panel.images),
        outputs_(std::min(shape_.block_outputs, shape_.outputs - panel.first_output)),
        channels_(std::min(shape_.block_channels, shape_.channels - panel.first_channel)),
        width_(round_up(channels_, kernels_.lanes)),
        x_(static_cast<float*>(panel.scratch)),
        y_(x_ + planes * shape_.x_plane()),
        sums_(y_ + planes * shape_.y_plane()),
        turned_(sums_ + planes * shape_.sum_plane()),
        copies_(turned_ + 5 * shape_.turned_line()) {}

  void run() {
    std::fill_n(turned_ + 4 * shape_.turned_line(), shape_.turned_line(), 0.0f);
    int64_t end;
    for (int64_t band = panel_.first; band < panel_.end; band = end) {
      end = std::min(band + shape_.band, panel_.end);
      for (int64_t tile = 0; tile < shape_.across; tile += shape_.together) {
        const int64_t across = std::min(shape_.together, shape_.across - tile);
        transform_images(band, end, tile, across);
        transform_results(band, end, tile, across);
        foresee(end);
        multiply((end - band) * across, band == panel_.first && tile == 0);
      }
    }
    for (int64_t i = 0; i < outputs_; ++i) {
      float* const to = panel_.sums + (panel_.first_output + i) * shape_.sum_row();
      transform_sums(sums_ + i * width_, shape_.sum_plane(), width_, to + panel_.first_channel,
                     shape_.sum_row() / window);
    }
  }

 private:
  // Copies elements of a line from `first` on, channels innermost, with zeros around the image.
  void turn_line(int64_t image, int64_t line, int64_t first, int64_t columns, float* to) {
    line -= images_.top;
    first -= images_.left;
    const bool there = line >= 0 && line < images_.lines;
    const int64_t before = std::clamp<int64_t>(-first, 0, columns);
    const int64_t end = there ? std::clamp(images_.positions - first, before, columns) : before;
    std::fill(to, to + before * width_, 0.0f);
    std::fill(to + end * width_, to + columns * width_, 0.0f);
    const int64_t count = end - before;
    to += before * width_;
    const int64_t at = image * images_.image + panel_.first_channel * images_.channel +
                       line * images_.line + (first + before) * images_.step;
    if (shape_.of_images == Dtype::float32 && images_.step == 1) {
      for (int64_t done = 0; done < count; done += block_k) {
        kernels_.pack(static_cast<const float*>(images_.data) + at + done, images_.channel,
                      channels_, std::min(block_k, count - done), to + done * width_);
      }
      return;
    }
    int64_t rows[most_channels], steps[2 * most_together + 2];
    for (int64_t i = 0; i < channels_; ++i) rows[i] = at + i * images_.channel;
    for (int64_t i = 0; i < count; ++i) steps[i] = i * images_.step;
    std::fill_n(to, count * width_, 0.0f);
    gather(shape_.of_images, images_.data, rows, channels_, width_, steps, count, to);
  }

  // Tiles [tile, tile + across) of each line of the band.
  void transform_images(int64_t band, int64_t band_end, int64_t tile, int64_t across) {
    int64_t image_at_hand = -1, turned = 0;  // its lines before this are transposed
    TurnedLine tiles;
    tiles.width = width_;
    tiles.tiles = across;
    tiles.plane = shape_.x_plane();
    for (int64_t at = band; at < band_end; ++at) {
      const int64_t image = at / shape_.down, first = at % shape_.down * 2;
      if (image != image_at_hand) turned = 0;
      image_at_hand = image;
      for (int64_t line = first; line < first + 4; ++line) {
        const bool there = line < shape_.lines + 2;
        float* const to = turned_ + (there ? line % 4 : 4) * shape_.turned_line();
        tiles.lines[line - first] = to;
        // What is beyond the last window is zero, whatever lies there.
        const int64_t columns = 2 * across + 2;
        const int64_t wanted = std::min(columns, shape_.positions + 2 - 2 * tile);
        if (!there || line < turned) continue;
        turn_line(image, line, 2 * tile, wanted, to);
        std::fill(to + wanted * width_, to + columns * width_, 0.0f);
      }
      turned = first + 4;
      tiles.to = x_ + (at - band) * across * width_;
      transform_turned_tiles(tiles);
    }
  }

  // Where `count` results of a line begin, copied unless neighbours; null behind the last line.
  const float* find_results(int64_t output, int64_t image, int64_t line, int64_t first,
                            int64_t count, float* copy) {
    if (line >= shape_.lines) return nullptr;
    const int64_t at = result(output, image, line) + first * shape_.step;
    if (shape_.of_results == Dtype::float32 && shape_.step == 1) {
      return static_cast<const float*>(panel_.results) + at;
    }
    int64_t offsets[2 * most_together];
    for (int64_t i = 0; i < count; ++i) offsets[i] = at + i * shape_.step;
    const int64_t none = 0;
    gather(shape_.of_results, panel_.results, offsets, count, count, &none, 1, copy);
    return copy;
  }
  int64_t result(int64_t output, int64_t image, int64_t line) const {
    return shape_.output.offset(panel_.first_output + output) + image * shape_.image +
           line * shape_.line;
  }

  void transform_results(int64_t band, int64_t band_end, int64_t tile, int64_t across) {
    float* const other_copy = copies_ + 2 * shape_.together;
    ResultTiles tiles;
    tiles.columns = std::min(2 * across, shape_.positions - 2 * tile);
    tiles.tiles = across;
    tiles.plane = shape_.y_plane();
    for (int64_t output = 0; output < outputs_; ++output) {
      int64_t image = band / shape_.down, line = band % shape_.down * 2;
      for (int64_t at = band; at < band_end; ++at) {
        tiles.first = find_results(output, image, line, 2 * tile, tiles.columns, copies_);
        tiles.second = find_results(output, image, line + 1, 2 * tile, tiles.columns, other_copy);
        tiles.to = y_ + output * shape_.tile_row() + (at - band) * across;
        transform_result_tiles(tiles);
        line += 2;
        if (line >= shape_.lines) ++image, line = 0;
      }
    }
  }

  void multiply(int64_t tiles, bool begins) {
    PlaneProducts products;
    products.a = y_;
    products.a_row = shape_.tile_row();
    products.a_plane = shape_.y_plane();
    products.b = x_;
    products.b_plane = shape_.x_plane();
    products.c = sums_;
    products.c_plane = shape_.sum_plane();
    products.row = width_;
    products.rows = outputs_;
    products.columns = channels_;
    products.terms = tiles;
    products.begins = begins;
    const bool as_they_lie = shape_.of_results == Dtype::float32 && shape_.step == 1 &&
                             shape_.of_images == Dtype::float32 && images_.step == 1;
    products.fetch = as_they_lie ? fetch : nullptr;
    products.context = this;
    multiply_planes(kernels_, products);
  }

  // What is read next, from line `line` of tiles on.
  struct Next {
    int64_t line, end, image, first;  // lines of tiles; its image, and first line of results
    int64_t row;                      // an output or, behind these, a channel
    int64_t share;                    // rows that each kernel call fetches; 0: not yet known
  };
  void foresee(int64_t line) {
    next_ = {line,
             std::min(line + shape_.band, shape_.all()),
             line / shape_.down,
             line % shape_.down * 2,
             0,
             0};
  }
  static void fetch(void* context, int64_t tiles) {
    Panel& panel = *static_cast<Panel*>(context);
    Next& next = panel.next_;
    const int64_t rows = panel.outputs_ + panel.channels_;
    if (next.share == 0) next.share = divide_up(rows * panel.shape_.band, tiles);
    for (int64_t i = 0; i < next.share && next.line < next.end; ++i) {
      panel.fetch_row();
      if (++next.row < rows) continue;
      next.row = 0;
      ++next.line;
      next.first += 2;
      if (next.first >= panel.shape_.lines) ++next.image, next.first = 0;
    }
  }
  // Fetches the lines of a row that the previous line of tiles has not read.
  void fetch_row() const {
    const float* from;
    int64_t count;
    if (next_.row < outputs_) {
      from =
          static_cast<const float*>(panel_.results) + result(next_.row, next_.image, next_.first);
      count = std::min<int64_t>(2, shape_.lines - next_.first) * shape_.positions;
    } else {
      const int64_t line = next_.first + 2 - images_.top;
      from = static_cast<const float*>(images_.data) + next_.image * images_.image +
             (panel_.first_channel + next_.row - outputs_) * images_.channel + line * images_.line;
      count = std::clamp<int64_t>(images_.lines - line, 0, 2) * images_.positions;
    }
    for (int64_t i = 0; i < count; i += 16) __builtin_prefetch(from + i, 0, 2);
  }

  const WeightPanel& panel_;
  const WeightShape& shape_;
  const PaddedImages& images_;
  const StridedKernels kernels_ = strided_kernels(Dtype::float32);
  const int64_t outputs_, channels_, width_;  // of the block; channels in whole vectors
  float *const x_, *const y_, *const sums_, *const turned_, *const copies_;
  Next next_{};
};

}  // namespace

WeightShape::WeightShape(const Contraction& c, int64_t tasks)
    : outputs(size_of_group(c.m)),
      channels(c.n[0].size),
      images(c.k[0].size),
      lines(c.k[1].size),
      positions(c.k[2].size),
      across(filtered_across(positions)),
      down(divide_up(lines, 2)),
      panel(filtered_panel(outputs, channels, images, lines, positions)),
      band(divide_up(panel, divide_up(panel, std::max<int64_t>(1, band_tiles / across)))),
      together(divide_up(across, divide_up(across, most_together))),
      output_blocks(divide_up(outputs, most_outputs)),
      channel_blocks(divide_up(channels, most_channels)),
      image(c.k[0].a_stride),
      line(c.k[1].a_stride),
      step(c.k[2].a_stride),
      of_results(c.a),
      of_images(c.b),
      output(operand_a(c).rows) {
  // If there are too few blocks, they get fewer outputs, though each then transforms the channels.
  while (panels() * output_blocks * channel_blocks < tasks &&
         outputs >= 2 * output_blocks * fewest_outputs) {
    output_blocks *= 2;
  }
  block_outputs = divide_up(outputs, output_blocks);
  output_blocks = divide_up(outputs, block_outputs);
  block_channels = round_up(divide_up(channels, channel_blocks), 16);
  channel_blocks = divide_up(channels, block_channels);
}

int64_t WeightShape::panels() const { return divide_up(all(), panel); }
int64_t WeightShape::tile_row() const { return round_up(band * together, 16); }
int64_t WeightShape::x_plane() const { return tile_row() * block_channels + gap; }
int64_t WeightShape::y_plane() const { return block_outputs * tile_row() + gap; }
int64_t WeightShape::sum_plane() const { return block_outputs * block_channels + gap; }
int64_t WeightShape::turned_line() const { return (2 * together + 2) * block_channels; }
int64_t WeightShape::sum_row() const { return window * round_up(channels, 16); }
int64_t WeightShape::scratch() const {
  const int64_t elements =
      planes * (x_plane() + y_plane() + sum_plane()) + 5 * turned_line() + 4 * together;
  return round_up(elements * int64_t(sizeof(float)), 64);
}

void run_weight_panel(const WeightPanel& panel) { Panel(panel).run(); }

}  // namespace mt::cpu
