// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/contract/prepare_contract.h"

#include <algorithm>

#include "base/rounding.h"
#include "ops/bfloat16_split.h"
#include "ops/order.h"

namespace mt::cuda {
namespace {

int64_t extent_of(const std::vector<ContractionDim>& dims) {
  int64_t extent = 1;
  for (const ContractionDim& dim : dims) extent *= dim.size;
  return extent;
}

AxesView axes_of(const std::vector<ContractionDim>& dims, bool of_a) {
  AxesView view{};
  view.count = static_cast<int32_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    view.size[d] = dims[d].size;
    view.stride[d] = of_a ? dims[d].a_stride : dims[d].b_stride;
  }
  return view;
}
AxesView one_axis(int64_t size, int64_t stride) {
  AxesView view{};
  view.count = 1;
  view.size[0] = size;
  view.stride[0] = stride;
  return view;
}

}  // namespace

ContractionShape contraction_shape(const Contraction& c) {
  bool exact = !is_floating(c.out);
  bool wide = c.a == Dtype::float64 || c.b == Dtype::float64 || c.out == Dtype::float64;
  ContractionShape shape{};
  shape.batch = extent_of(c.batch);
  shape.m = extent_of(c.m);
  shape.n = extent_of(c.n);
  shape.k = extent_of(c.k);
  shape.sum = exact ? Compute::u64 : wide ? Compute::f64 : Compute::f32;
  ContractionOrder order = contraction_order(shape.m, shape.n, shape.k, c.out);
  shape.lanes = exact ? 1 : order.lanes;
  shape.panel = exact ? std::max<int64_t>(shape.k, 1) : order.panel;
  shape.panels = std::max<int64_t>(1, (shape.k + shape.panel - 1) / shape.panel);
  shape.matrices = c.m.size() == 1 && c.n.size() == 1 && c.k.size() == 1;
  const Dtype own = Dtype::float32;
  shape.converts = c.a != own || c.b != own || c.out != own;
  shape.a_along_k = c.m.empty() || (!c.k.empty() && c.k.back().a_stride == 1);
  shape.b_along_k = c.n.empty() || (!c.k.empty() && c.k.back().b_stride == 1);
  shape.factor = c.a == Dtype::bfloat16  ? Factor::bfloat16
                 : c.a == Dtype::float16 ? Factor::float16
                                         : Factor::tf32;
  shape.parts = c.precision == Precision::split ? 3 : 1;
  return shape;
}

ContractionView contraction_view(const Contraction& c, const ContractionShape& shape) {
  ContractionView view{};
  view.batch = shape.batch;
  view.m = shape.m;
  view.n = shape.n;
  view.k = shape.k;
  view.panels = shape.panels;
  view.panel = shape.panel;
  view.a_batch = axes_of(c.batch, true);
  view.b_batch = axes_of(c.batch, false);
  view.a_rows = axes_of(c.m, true);
  view.b_rows = axes_of(c.n, false);
  view.a_k = axes_of(c.k, true);
  view.b_k = axes_of(c.k, false);
  view.a_dtype = c.a;
  view.b_dtype = c.b;
  view.out_dtype = c.out;
  view.a_along_k = shape.a_along_k;
  view.b_along_k = shape.b_along_k;
  return view;
}

bool suits_matrix_units(const Contraction& c, const Operand& a, const Operand& b) {
  bool rounded = c.precision == Precision::tf32 && c.a == Dtype::float32;
  if (c.a != c.b || !(is_half(c.a) || rounded)) return false;
  if (c.out != c.a && c.out != Dtype::float32) return false;
  if (c.m.size() != 1 || c.n.size() != 1 || c.k.size() != 1) return false;
  const int64_t width = 16 / static_cast<int64_t>(size_of(c.a));  // of a vector
  auto in_vectors = [=](int64_t number) { return number % width == 0; };
  auto suits = [&](int64_t offset, int64_t rows, int64_t row_stride, int64_t k_stride) {
    bool along_k = k_stride == 1 && in_vectors(row_stride);
    bool along_rows = row_stride == 1 && in_vectors(k_stride) && in_vectors(rows);
    return in_vectors(offset) && (along_k || along_rows);
  };
  for (const ContractionDim& dim : c.batch) {
    if (!in_vectors(dim.a_stride) || !in_vectors(dim.b_stride)) return false;
  }
  const ContractionDim &m = c.m[0], &n = c.n[0], &k = c.k[0];
  // Smaller ones leave most of a tile empty.
  if (m.size < 32 || n.size < 32 || k.size < 32 || !in_vectors(k.size)) return false;
  return suits(a.layout.offset, m.size, m.a_stride, k.a_stride) &&
         suits(b.layout.offset, n.size, n.b_stride, k.b_stride);
}

bool suits_hopper(const ContractionShape& shape) {
  constexpr int64_t least = 64, most = int64_t{1} << 30;  // of what the kernel counts in 32 bits
  int64_t smallest = std::min({shape.m, shape.n, shape.k});
  if (smallest < least || std::max({shape.m, shape.n, shape.k}) > most) return false;
  int64_t tiles = ((shape.m + 127) / 128) * ((shape.n + 127) / 128);
  return tiles <= most && shape.batch * shape.panels <= most / tiles;
}

bool suits_bulk_copies(const Contraction& c) {
  if (c.batch.size() > 1) return false;
  auto upwards = [](const ContractionDim& dim, bool may_repeat) {
    int64_t smallest = may_repeat ? 0 : 1;
    return dim.a_stride >= smallest && dim.b_stride >= smallest;
  };
  return (c.batch.empty() || upwards(c.batch[0], true)) && c.m[0].a_stride > 0 &&
         c.n[0].b_stride > 0 && upwards(c.k[0], false);
}

int64_t hopper_blocks(const ContractionShape& shape, int columns, int64_t processors) {
  int64_t tiles = divide_up(shape.m, 128) * divide_up(shape.n, columns);
  return std::min(tiles * shape.batch * shape.panels, processors);
}

HopperArrays hopper_arrays(const Contraction& c, int columns) {
  auto array = [&](const ContractionDim& rows, bool of_a, int tile_rows) {
    auto stride = [&](const ContractionDim& dim) { return of_a ? dim.a_stride : dim.b_stride; };
    const int bytes_each = static_cast<int>(size_of(c.a));
    const int64_t k = c.k[0].size;
    const bool along_k = stride(c.k[0]) == 1;
    const int64_t entries = !c.batch.empty() && stride(c.batch[0]) > 0 ? c.batch[0].size : 1;
    if (!along_k && !is_half(c.a)) {
      return BoxedArray{entries, rows.size, k, rows.size * k, k, tile_rows, 0, 0, bytes_each};
    }
    const ContractionDim &line = along_k ? c.k[0] : rows, &lines = along_k ? rows : c.k[0];
    BoxedArray boxed{entries, lines.size, line.size, stride(lines), stride(lines),
                     64,      0,          0,         bytes_each};
    if (along_k) boxed.box_lines = tile_rows;
    if (entries > 1) boxed.batch_stride = stride(c.batch[0]);  // else one is all entries'
    return boxed;
  };
  return {array(c.m[0], true, 128), array(c.n[0], false, columns)};
}

TurnedScratch turned_scratch(const Contraction& c, const ContractionShape& shape) {
  TurnedScratch turned{};
  for (int i = 0; i < 2; ++i) {
    turned.at[i] = turned.end;
    turned.turns[i] = !(i == 0 ? shape.a_along_k : shape.b_along_k);
    if (!turned.turns[i]) continue;
    const HopperArrays arrays = hopper_arrays(c, 128);
    const BoxedArray& array = i == 0 ? arrays.a : arrays.b;
    turned.batch[i] = array.batch;
    turned.end += round_up(array.batch * array.batch_stride * array.bytes_each, 256);
  }
  return turned;
}

HopperArrays hopper_split_arrays(const ContractionShape& shape, const SplitView& split,
                                 int columns) {
  auto array = [&](int64_t rows, int64_t part, int tile_rows) {
    const int64_t k = split.product.k;
    return BoxedArray{shape.batch * shape.parts, rows, k, part, k, tile_rows};
  };
  return {array(shape.m, split.a_part, 128), array(shape.n, split.b_part, columns)};
}

bool suits_blas(const Contraction& c, const Operand& a, const Operand& b, BlasProduct* product) {
  if (!is_half(c.a) || !suits_matrix_units(c, a, b) || !suits_bulk_copies(c)) return false;
  auto operand = [&](const ContractionDim& rows, bool of_a) {
    auto stride = [&](const ContractionDim& dim) { return of_a ? dim.a_stride : dim.b_stride; };
    const bool along_k = stride(c.k[0]) == 1;
    return BlasProduct::Operand{along_k, stride(along_k ? rows : c.k[0]),
                                c.batch.empty() ? 0 : stride(c.batch[0])};
  };
  const ContractionDim &m = c.m[0], &n = c.n[0], &k = c.k[0];
  *product = {c.a,    c.out,  extent_of(c.batch), m.size,
              n.size, k.size, operand(m, true),   operand(n, false)};
  // Lines do not overlap, and entries can be counted.
  auto apart = [&](const BlasProduct::Operand& o, int64_t rows) {
    return o.line >= (o.along_k ? k.size : rows);
  };
  return product->batch <= INT32_MAX && apart(product->a, m.size) && apart(product->b, n.size);
}

bool is_split(const Contraction& c, const ContractionShape& shape) {
  return is_of_bfloat16(c.precision) && !shape.converts && shape.lanes == 1 &&
         is_worth_splitting(shape.m, shape.n, shape.k) &&
         split_scratch(shape).end <= most_product_scratch;
}

SplitScratch split_scratch(const ContractionShape& shape) {
  constexpr int64_t side = 32;  // of what a block splits
  int64_t k = round_up(shape.k, 8);
  auto split_bytes = [&](int64_t rows) {
    return round_up(shape.batch * shape.parts * rows * k * 2, 256);
  };
  auto blocks = [&](int64_t rows) { return divide_up(rows, side) * divide_up(k, side); };
  SplitScratch scratch{};
  scratch.b = split_bytes(shape.m);
  scratch.seen = scratch.b + split_bytes(shape.n);
  scratch.refused = scratch.seen + shape.batch * (blocks(shape.m) + blocks(shape.n)) *
                                       static_cast<int64_t>(sizeof(Magnitudes));
  scratch.end = scratch.refused + shape.batch * static_cast<int64_t>(sizeof(int32_t));
  return scratch;
}

SplitView split_view(const ContractionView& view, const ContractionShape& shape) {
  SplitView split{};
  ContractionView& product = split.product = view;
  product.k = round_up(shape.k, 8);
  if (shape.panels == 1) product.panel = product.k;
  split.a_part = shape.m * product.k;
  split.b_part = shape.n * product.k;
  product.a_batch = one_axis(shape.batch, shape.parts * split.a_part);
  product.b_batch = one_axis(shape.batch, shape.parts * split.b_part);
  product.a_rows = one_axis(shape.m, product.k);
  product.b_rows = one_axis(shape.n, product.k);
  product.a_k = product.b_k = one_axis(product.k, 1);
  product.a_along_k = product.b_along_k = true;
  return split;
}

}  // namespace mt::cuda
