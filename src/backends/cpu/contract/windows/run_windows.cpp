// SPDX-License-Identifier: Apache-2.0
// Products with windows of images that have kernels of their own: minimal filtering, whole lines of
// an image, entries abreast.
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/tile_run.h"

namespace mt::cpu {

void TileRun::transform(int64_t item, char* /*scratch*/) {
  const Filtering& how = schedule_.filtering;
  const int64_t index = item / weight_parts(), first = item % weight_parts() * weight_outputs;
  transform_weight(how, a_, a_.entry(a_data_, index), first,
                   std::min(first + weight_outputs, how.outputs), weight(index));
}

void TileRun::filter(const Tile& tile, char* scratch) {
  const Filtering& how = schedule_.filtering;
  const int64_t images = std::min(how.images, first_ + count_ - tile.batch);
  bool transformed = false;
  Tile part = tile;
  for (; part.row_begin < tile.row_end; part.row_begin = part.row_end) {
    part.row_end = std::min(part.row_begin + filtered_outputs, tile.row_end);
    held_by(scratch).packed = {};  // filtering overwrites them
    const FilteredBand band{&how,
                            &b_,
                            weight(tile.batch % how.weights),
                            images,
                            tile.column_begin / how.positions,
                            tile.column_end / how.positions,
                            part.row_begin,
                            part.row_end,
                            scratch};
    bool finite[most_band_images];
    std::fill_n(finite, images, true);
    for (int64_t at = 0; at < how.across; at += how.together) {
      for (int64_t i = 0; i < images && (!transformed || how.together < how.across); ++i) {
        transform_image(band, at, i, b_entry(tile.batch + i, 0, schedule_.k, scratch));
      }
      multiply_tiles(band, at);
      for (int64_t i = 0; i < images; ++i) {
        float* const out =
            reinterpret_cast<float*>(out_) + (tile.batch + i) * schedule_.m * schedule_.n;
        finite[i] &= transform_back(band, at, i, out);
      }
    }
    transformed = true;
    for (part.batch = tile.batch; part.batch < tile.batch + images; ++part.batch) {
      if (!finite[part.batch - tile.batch]) {
        compute_floating<float>(part, part.batch - first_, 0, scratch);
        transformed = false;
      } else if (epilogue_ != nullptr) {
        epilogue_->run(epilogue_->context, part);
      }
    }
  }
}

template <class T>
void TileRun::compute_lines_of(const Tile& tile, char* scratch) {
  constexpr int64_t most_images = 16, most_terms = ImageLines::most_terms;
  const ImageLines& how = schedule_.lines;
  const int64_t terms = schedule_.k, row = 0;
  int64_t ks[most_terms], at[most_images];
  a_.k.offsets(0, terms, ks);
  LinesOfImage<T> images[most_images];
  T weights[most_images * most_terms];
  for (int64_t first = 0, count; first < tile.entries; first += count) {
    count = std::min(tile.entries - first, most_images);
    b_.batch.offsets(tile.batch + first, count, at);
    for (int64_t i = 0; i < count; ++i) images[i].image = static_cast<const T*>(image_at(at[i]));
    a_.batch.offsets(tile.batch + first, count, at);
    for (int64_t i = 0; i < count; ++i) {
      const void* const a = a_.at(a_data_, at[i]);
      T* const to = weights + i * most_terms;
      if (a_.dtype == schedule_.sum) {
        for (int64_t k = 0; k < terms; ++k) to[k] = static_cast<const T*>(a)[ks[k]];
      } else {
        gather(a_.dtype, a, &row, 1, 1, ks, terms, to);
      }
      images[i].weights = to;
      images[i].c =
          reinterpret_cast<T*>(out_) + (tile.batch + first + i) * schedule_.n + tile.column_begin;
    }
    run_image_lines(ImageLinesBlock<T>{&how,
                                       source_ ? static_cast<T>(source_->fill) : T(0),
                                       tile.column_begin / how.width,
                                       tile.column_end / how.width,
                                       {images, static_cast<size_t>(count)},
                                       scratch});
  }
  if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
}
void TileRun::compute_lines(const Tile& tile, char* scratch) {
  schedule_.sum == Dtype::float64 ? compute_lines_of<double>(tile, scratch)
                                  : compute_lines_of<float>(tile, scratch);
}

void TileRun::compute_groups(int64_t item, char* scratch) {
  const int64_t entries = schedule_.abreast.entries, taken = groups_together() * entries;
  const int64_t begin = first_ + item * taken, end = std::min(begin + taken, first_ + count_);
  for (int64_t at = begin; at < end; at += entries) {
    compute_abreast(at, std::min(entries, end - at), scratch);
  }
  const Epilogue* const epilogue = epilogue_ ? epilogue_ : epilogue_of_entries_;
  if (epilogue == nullptr || epilogue->run_turned != nullptr) return;
  epilogue->run(epilogue->context, schedule_.whole_entries(begin, end));
}

void TileRun::compute_abreast(int64_t first, int64_t count, char* scratch) {
  const Abreast& how = schedule_.abreast;
  const int64_t size = schedule_.m * schedule_.n;
  AbreastBlock block{};
  block.how = &how;
  block.a = &a_;
  block.b = &b_;
  block.a_data = static_cast<const float*>(a_data_);
  int64_t at[most_abreast];
  b_.batch.offsets(first, count, at);
  for (int64_t i = 0; i < count; ++i) block.entries[i] = static_cast<const float*>(image_at(at[i]));
  if (how.own_weights) {
    a_.batch.offsets(first, count, at);
    for (int64_t i = 0; i < count; ++i) block.weights[i] = block.a_data + at[i];
  }
  block.count = count;
  block.fill = source_ ? source_->fill : 0;
  block.leaves_out = leaves_out_;
  block.out = reinterpret_cast<float*>(out_) + first * size;
  block.scratch = scratch;
  if (epilogue_ != nullptr && epilogue_->run_turned != nullptr) block.epilogue = epilogue_;
  run_abreast(block);
}

}  // namespace mt::cpu
