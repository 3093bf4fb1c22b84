// SPDX-License-Identifier: Apache-2.0
// Where sums go: straight to the result; or, where that is of a narrower type, to a tile of scratch
// and from there rounded to the result; or, where k has panels, to one slab [m, n] of scratch for
// each panel, which are then added pairwise.
#include "backends/cpu/contract/run_tiles.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/exact.h"
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/contract/pairwise.h"

namespace mt::cpu {
namespace {

constexpr int64_t weight_outputs = 8;       // that are transformed at a time
constexpr int64_t combine_elements = 4096;  // of a tile whose panels are added

// What a thread's scratch holds from one tile to the next.
struct Held {
  int64_t made = -1;   // the offset of the entry that was made, or the panel's first term
  int64_t origin = 0;  // which element of the operand lies there first
  PackedColumns packed;
};
static_assert(sizeof(Held) <= held_bytes);

class TileRun {
 public:
  explicit TileRun(const TileWork& work)
      : schedule_(work.schedule),
        a_(work.a),
        b_(work.b),
        a_data_(work.a_data),
        b_data_(work.b_data),
        dtype_(work.dtype),
        out_(static_cast<char*>(work.out)),
        thread_scratch_(static_cast<char*>(work.scratch)),
        slabs_(thread_scratch_ + static_cast<size_t>(schedule_.threads) * schedule_.thread_scratch),
        epilogue_(work.epilogue),
        source_(work.source) {}

  // Batch entries [first, end).
  void run(int64_t first, int64_t end) {
    if (schedule_.way == Way::abreast) {
      for (int t = 0; t < schedule_.threads; ++t) {
        begin_abreast(thread_scratch_ + static_cast<size_t>(t) * schedule_.thread_scratch);
      }
      leaves_out_ =
          source_ && leaves_out_padding(schedule_.abreast, a_, static_cast<const float*>(a_data_),
                                        source_->fill);
      first_ = first;
      count_ = end - first;
      return share(schedule_.abreast.groups(count_), 1, &TileRun::compute_abreast);
    }
    if (schedule_.way == Way::filtering) {
      share(schedule_.filtering.weights * weight_parts(), 1, &TileRun::transform);
    }
    for (int t = 0; t < schedule_.threads; ++t) {
      held_by(thread_scratch_ + static_cast<size_t>(t) * schedule_.thread_scratch) = {};
    }
    for (first_ = first; first_ < end; first_ += count_) {
      count_ = std::min(group(), end - first_);
      const int64_t items = std::max<int64_t>(schedule_.panels, 1) * schedule_.tiles();
      const int64_t bands = divide_up(count_, together());
      if (source_ != nullptr && bands >= 4 * schedule_.threads) {
        // Whoever makes an entry works on all of it.
        share(bands, items, &TileRun::compute);
      } else {
        share(bands * items, 1, &TileRun::compute);
      }
      if (schedule_.panels > 1) share(count_ * combine_tiles(), 1, &TileRun::combine);
    }
  }

 private:
  // Batch entries whose tiles are computed together.
  int64_t together() const { return schedule_.filtering.images; }
  int64_t group() const { return schedule_.panels > 1 ? schedule_.group : schedule_.batch; }

  Held& held_by(char* scratch) const { return *reinterpret_cast<Held*>(scratch + schedule_.held); }
  // Where an entry of which terms [k_begin, k_end) are wanted begins.
  const void* a_entry(int64_t batch, int64_t k_begin, int64_t k_end, char* scratch) const {
    return schedule_.transposed ? made_entry(a_, a_data_, batch, k_begin, k_end, scratch)
                                : a_.entry(a_data_, batch);
  }
  const void* b_entry(int64_t batch, int64_t k_begin, int64_t k_end, char* scratch) const {
    return schedule_.transposed ? b_.entry(b_data_, batch)
                                : made_entry(b_, b_data_, batch, k_begin, k_end, scratch);
  }
  // Of the operand that the caller knows as b.
  const void* made_entry(const MatrixOperand& x, const void* data, int64_t batch, int64_t k_begin,
                         int64_t k_end, char* scratch) const {
    if (source_ == nullptr) return x.entry(data, batch);
    char* const entry = scratch + schedule_.held + held_bytes;
    const int64_t offset = x.batch.offset(batch);
    Held& held = held_by(scratch);
    if (source_->by_panels) {
      if (held.made != k_begin) {
        const int64_t origin = source_->make_terms(source_->context, k_begin, k_end, entry);
        held = {k_begin, origin, {}};
      }
      return entry - held.origin * int64_t(size_of(x.dtype));
    }
    if (held.made != offset) {
      source_->make(source_->context, offset, entry);
      held = {offset, 0, {}};
    }
    return entry;
  }

  // Each thread takes so many items at a time.
  void share(int64_t takes, int64_t items, void (TileRun::*work)(int64_t item, char* scratch)) {
    parallel_items(takes, schedule_.threads, [&](int64_t take, int worker) {
      char* scratch = thread_scratch_ + static_cast<size_t>(worker) * schedule_.thread_scratch;
      for (int64_t i = 0; i < items; ++i) (this->*work)(take * items + i, scratch);
    });
  }

  void compute(int64_t item, char* scratch) {
    const int64_t row_tiles = divide_up(schedule_.m, schedule_.rows), tiles = schedule_.tiles();
    const int64_t entry = item / tiles, panels = std::max<int64_t>(schedule_.panels, 1);
    const int64_t panel = entry % panels, at = item % tiles;
    const int64_t part = tiles / schedule_.row_parts, high = row_tiles / schedule_.row_parts;
    Tile tile;
    tile.batch = first_ + entry / panels * together();
    tile.row_begin = (at / part * high + at % high) * schedule_.rows;
    tile.row_end = std::min(tile.row_begin + schedule_.rows, schedule_.m);
    tile.column_begin = at % part / high * schedule_.columns;
    tile.column_end = std::min(tile.column_begin + schedule_.columns, schedule_.n);
    if (schedule_.way == Way::exact) {
      const int64_t k = schedule_.k;
      run_exact(a_, a_entry(tile.batch, 0, k, scratch), b_, b_entry(tile.batch, 0, k, scratch),
                dtype_, schedule_.sum, tile, out_, scratch);
      if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
    } else if (schedule_.way == Way::filtering) {
      filter(tile, scratch);
    } else if (schedule_.way == Way::image_lines) {
      schedule_.sum == Dtype::float64 ? compute_lines<double>(tile, scratch)
                                      : compute_lines<float>(tile, scratch);
    } else if (schedule_.sum == Dtype::float64) {
      compute_floating<double>(tile, entry, panel, scratch);
    } else {
      compute_floating<float>(tile, entry, panel, scratch);
    }
  }

  // Some outputs of a weight.
  void transform(int64_t item, char*) {
    const Filtering& how = schedule_.filtering;
    const int64_t index = item / weight_parts(), first = item % weight_parts() * weight_outputs;
    transform_weight(how, a_, a_.entry(a_data_, index), first,
                     std::min(first + weight_outputs, how.outputs), weight(index));
  }
  int64_t weight_parts() const { return divide_up(schedule_.m, weight_outputs); }
  float* weight(int64_t index) const {
    return reinterpret_cast<float*>(slabs_) + index * schedule_.filtering.weight_elements();
  }

  // The tile of this image and of those that are computed with it.
  void filter(const Tile& tile, char* scratch) {
    const Filtering& how = schedule_.filtering;
    const int64_t images = std::min(how.images, first_ + count_ - tile.batch);
    bool transformed = false;
    Tile part = tile;
    for (; part.row_begin < tile.row_end; part.row_begin = part.row_end) {
      part.row_end = std::min(part.row_begin + filtered_outputs, tile.row_end);
      held_by(scratch).packed = {};  // it takes that place
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
  void compute_lines(const Tile& tile, char* scratch) {
    constexpr int64_t terms = ImageLines::side * ImageLines::side;
    const ImageLines& how = schedule_.lines;
    int64_t row = 0, ks[terms];
    T weights[terms];
    a_.k.offsets(0, terms, ks);
    gather(a_.dtype, a_.entry(a_data_, tile.batch), &row, 1, 1, ks, terms, weights);
    const void* const image = source_ == nullptr
                                  ? b_.entry(b_data_, tile.batch)
                                  : source_->find(source_->context, b_.batch.offset(tile.batch));
    run_image_lines(ImageLinesBlock<T>{
        &how, weights, static_cast<const T*>(image), source_ ? static_cast<T>(source_->fill) : T(0),
        tile.column_begin / how.width, tile.column_end / how.width,
        reinterpret_cast<T*>(out_) + tile.batch * schedule_.n + tile.column_begin, scratch});
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
  }

  // A group of batch entries.
  void compute_abreast(int64_t item, char* scratch) {
    const Abreast& how = schedule_.abreast;
    const int64_t first = first_ + item * how.entries;
    const int64_t count = std::min(how.entries, first_ + count_ - first);
    const int64_t size = schedule_.m * schedule_.n;
    AbreastBlock block{};
    block.how = &how;
    block.a = &a_;
    block.b = &b_;
    block.a_data = static_cast<const float*>(a_data_);
    for (int64_t i = 0; i < count; ++i) {
      const void* entry = source_ == nullptr
                              ? b_.entry(b_data_, first + i)
                              : source_->find(source_->context, b_.batch.offset(first + i));
      block.entries[i] = static_cast<const float*>(entry);
    }
    block.count = count;
    block.fill = source_ ? source_->fill : 0;
    block.leaves_out = leaves_out_;
    block.out = reinterpret_cast<float*>(out_) + first * size;
    block.scratch = scratch;
    run_abreast(block);
    for (int64_t i = first; epilogue_ != nullptr && i < first + count; ++i) {
      epilogue_->run(epilogue_->context, {i, 0, schedule_.m, 0, schedule_.n});
    }
  }

  template <class T>
  void compute_floating(const Tile& tile, int64_t entry, int64_t panel, char* scratch) {
    const int64_t n = schedule_.n, columns = tile.column_end - tile.column_begin;
    const bool final = schedule_.panels <= 1;
    T* c;
    int64_t c_row = n;
    if (schedule_.rounded) {
      c = reinterpret_cast<T*>(scratch);
      c_row = columns;
    } else {
      T* matrix = final ? reinterpret_cast<T*>(out_) + tile.batch * schedule_.m * n
                        : reinterpret_cast<T*>(slabs_) + entry * schedule_.m * n;
      c = matrix + tile.row_begin * n + tile.column_begin;
    }
    const int64_t k_begin = panel * schedule_.panel;
    const int64_t k_end = std::min(k_begin + schedule_.panel, schedule_.k);
    void* kernel_scratch = scratch + schedule_.tile_scratch;
    const bool direct = final && !schedule_.rounded;
    if (schedule_.way == Way::lanes) {
      run_along_k<T>(tile, k_begin, k_end, c, c_row, scratch);
      if (direct && epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
    } else {
      Block block{&a_,
                  &b_,
                  a_entry(tile.batch, k_begin, k_end, scratch),
                  b_entry(tile.batch, k_begin, k_end, scratch),
                  k_begin,
                  k_end,
                  tile,
                  c,
                  c_row,
                  direct ? epilogue_ : nullptr,
                  direct && schedule_.streamed && epilogue_ == nullptr,
                  schedule_.passes && epilogue_ != nullptr,
                  kernel_scratch,
                  &held_by(scratch).packed};
      run_block(block, T());
    }
    if (!schedule_.rounded) return;
    const bool turned = epilogue_ != nullptr && epilogue_->run_turned != nullptr;
    if (turned) epilogue_->run_turned(epilogue_->context, outward(tile), c);
    store(tile, c, c_row);
    if (epilogue_ != nullptr && !turned) epilogue_->run(epilogue_->context, outward(tile));
  }

  // A tile as the caller sees it.
  Tile outward(const Tile& tile) const {
    if (!schedule_.transposed) return tile;
    return {tile.batch, tile.column_begin, tile.column_end, tile.row_begin, tile.row_end};
  }

  // Rounds a tile of sums to the result.
  template <class T>
  void store(const Tile& tile, const T* c, int64_t c_row) {
    const int64_t rows = tile.row_end - tile.row_begin;
    const int64_t columns = tile.column_end - tile.column_begin;
    const int64_t size = static_cast<int64_t>(size_of(dtype_));
    char* out = out_ + tile.batch * schedule_.m * schedule_.n * size;
    if (!schedule_.transposed) {
      for (int64_t i = 0; i < rows; ++i) {
        int64_t to = (tile.row_begin + i) * schedule_.n + tile.column_begin;
        store_rounded(dtype_, c + i * c_row, columns, out + to * size);
      }
      return;
    }
    if (dtype_ == dtype_of<T>) {
      T* to = reinterpret_cast<T*>(out) + tile.column_begin * schedule_.m + tile.row_begin;
      return store_turned(c, c_row, rows, columns, to, schedule_.m);
    }
    constexpr int64_t most = 64;
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t begin = 0; begin < rows; begin += most) {
        T row[most];
        const int64_t count = std::min(most, rows - begin);
        for (int64_t i = 0; i < count; ++i) row[i] = c[(begin + i) * c_row + j];
        int64_t to = (tile.column_begin + j) * schedule_.m + tile.row_begin + begin;
        store_rounded(dtype_, row, count, out + to * size);
      }
    }
  }

  template <class T>
  void run_along_k(const Tile& tile, int64_t k_begin, int64_t k_end, T* c, int64_t c_row,
                   char* scratch) {
    const bool by_rows = schedule_.m >= schedule_.n, same = reads_images();
    const void* a = a_entry(tile.batch, k_begin, k_end, scratch);
    const void* b = same ? source_->find(source_->context, b_.batch.offset(tile.batch))
                         : b_entry(tile.batch, k_begin, k_end, scratch);
    LanesBlock block{by_rows ? &a_ : &b_,
                     by_rows ? &b_ : &a_,
                     by_rows ? a : b,
                     by_rows ? b : a,
                     k_begin,
                     k_end,
                     by_rows ? tile.row_begin : tile.column_begin,
                     by_rows ? tile.row_end : tile.column_end,
                     c,
                     by_rows ? c_row : 1,
                     by_rows ? 1 : c_row,
                     scratch + schedule_.tile_scratch,
                     same ? &schedule_.same : nullptr};
    run_lanes(block, T());
  }

  // Where the padding that b's windows have is what their kernel takes it for.
  bool reads_images() const {
    return schedule_.same && source_ != nullptr && source_->fill == 0 &&
           !std::signbit(source_->fill) && takes_same_windows();
  }

  // The panels of one batch entry are added over tiles.
  int64_t combine_columns() const { return std::min(schedule_.n, combine_elements); }
  int64_t combine_rows() const { return std::max<int64_t>(1, combine_elements / schedule_.n); }
  int64_t combine_tiles() const {
    return divide_up(schedule_.m, combine_rows()) * divide_up(schedule_.n, combine_columns());
  }

  void combine(int64_t item, char*) {
    schedule_.sum == Dtype::float64 ? combine_floating<double>(item)
                                    : combine_floating<float>(item);
  }

  template <class T>
  void combine_floating(int64_t item) {
    const int64_t tiles = combine_tiles(), row_tiles = divide_up(schedule_.m, combine_rows());
    const int64_t entry = item / tiles;
    Tile tile;
    tile.batch = first_ + entry;
    tile.row_begin = item % tiles % row_tiles * combine_rows();
    tile.row_end = std::min(tile.row_begin + combine_rows(), schedule_.m);
    tile.column_begin = item % tiles / row_tiles * combine_columns();
    tile.column_end = std::min(tile.column_begin + combine_columns(), schedule_.n);
    // Whole rows, or part of one: either way the elements follow each other.
    const int64_t offset = tile.row_begin * schedule_.n + tile.column_begin;
    const int64_t end = (tile.row_end - 1) * schedule_.n + tile.column_end;
    const int64_t size = schedule_.m * schedule_.n;
    T* const sums = reinterpret_cast<T*>(slabs_) + entry * schedule_.panels * size + offset;
    add_pairwise(sums, size, schedule_.panels, end - offset);
    store(tile, sums, schedule_.n);
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, outward(tile));
  }

  const Schedule& schedule_;
  const MatrixOperand &a_, &b_;
  const void *const a_data_, *const b_data_;
  const Dtype dtype_;
  char *const out_, *const thread_scratch_, *const slabs_;
  const Epilogue* const epilogue_;
  const EntrySource* const source_;
  bool leaves_out_ = false;        // products with padding
  int64_t first_ = 0, count_ = 0;  // the batch entries under way
};

}  // namespace

void run_tiles(const TileWork& work, int64_t first, int64_t end) { TileRun(work).run(first, end); }

}  // namespace mt::cpu
