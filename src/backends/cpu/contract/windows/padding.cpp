// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/windows/padding.h"

#include <algorithm>

#include "backends/cpu/contract/matrix_unit/strip_product.h"
#include "backends/cpu/contract/matrix_unit/tiled_product.h"
#include "backends/cpu/index/kernels.h"
#include "base/rounding.h"
#include "ops/naive.h"
#include "ops/slice.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

bool overlap(const Buffer& a, const Buffer& b) {
  return a.kind == BufferKind::arena && b.kind == BufferKind::arena &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The buffers that a group reads or writes, each as often as it does.
std::vector<int> buffers_of(const Group& group) {
  std::vector<int> buffers;
  buffers_read(group, &buffers);
  buffers_written(group, &buffers);
  return buffers;
}

// The group that pads `buffer`, which only operand 1 of group `contraction` reads, or -1.
int padding_group(const Plan& plan, int contraction, int buffer) {
  int found = contraction - 1;
  auto pads = [&](const Group& group) {
    auto* call = std::get_if<CallGroup>(&group.work);
    return call && call->output.buffer == buffer && call->op == &pad_op;
  };
  while (found >= 0 && !pads(plan.groups[found])) --found;
  if (found < 0) return -1;
  int64_t uses = 0;
  for (const Group& group : plan.groups) {
    const std::vector<int> used = buffers_of(group);
    uses += std::count(used.begin(), used.end(), buffer);
  }
  return uses == 2 ? found : -1;  // there and in the contraction
}

// Whether what the padding reads is still there when the contraction runs.
bool stays(const Plan& plan, int padding, int contraction, int source) {
  const Buffer& kept = plan.buffers[source];
  bool result = !kept.replaced;
  for (int g = padding + 1; g <= contraction; ++g) {
    for (int used : buffers_of(plan.groups[g])) {
      if (used != source && overlap(kept, plan.buffers[used])) result = false;
    }
  }
  return result;
}

// The elements of an entry: the smallest stride of the batch. 0 if the operand's entries do not lie
// one after another, apart from steps of `far` along k.
int64_t entry_size(const Contraction& c, int64_t all, int64_t far) {
  int64_t entry = all, reach = 1;
  for (const ContractionDim& dim : c.batch) {
    if (dim.size > 1) entry = std::min(entry, dim.b_stride);
  }
  for (auto* dims : {&c.n, &c.k}) {
    for (const ContractionDim& dim : *dims) {
      if (dim.b_stride < 0) return 0;
      if (far > 0 && dim.b_stride == far) continue;
      reach += (dim.size - 1) * dim.b_stride;
    }
  }
  if (entry <= 0 || reach > entry) return 0;
  for (const ContractionDim& dim : c.batch) {
    if (dim.size > 1 && dim.b_stride % entry != 0) return 0;
  }
  return entry;
}

// Whether the sums of a filtered weight read all of y [images, channels, lines, positions].
bool reads_all(const Contraction& c, const Layout& y) {
  return c.k[1].size + 2 == y.shape[2] && c.k[2].size + 2 == y.shape[3] &&
         c.k[0].b_stride == y.strides[0] && c.n[0].b_stride == y.strides[1] &&
         c.k[1].b_stride == y.strides[2] && c.k[2].b_stride == y.strides[3];
}

}  // namespace

Padding find_padding(const Plan& plan, int contraction) {
  const auto& group = std::get<ContractGroup>(plan.groups[contraction].work);
  const Operand& operand = group.b;
  if (plan.buffers[operand.buffer].kind != BufferKind::arena || operand.layout.offset != 0) {
    return {};
  }
  Padding padding;
  const int found = padding_group(plan, contraction, operand.buffer);
  if (found < 0) return {};
  const auto& pad = std::get<CallGroup>(plan.groups[found].work);
  const Layout &x = pad.inputs[0].layout, &y = pad.output.layout;
  if (!stays(plan, found, contraction, pad.inputs[0].buffer)) return {};
  const int64_t all = element_count(y.shape);
  if (all == 0 || element_count(x.shape) == 0) return {};
  const int rank = y.shape.rank();
  auto whole = [&](int d) {
    const size_t i = 2 * static_cast<size_t>(d);
    return pad.attributes[i] == 0 && pad.attributes[i + 1] == 1 && x.shape[d] == y.shape[d];
  };
  if (StripProduct::serves(group.contraction) || TiledProduct::serves(group.contraction)) return {};
  if (FilteredWeight::serves(group.contraction)) {
    const bool by_ones = rank == 4 && pad.attributes[5] == 1 && pad.attributes[7] == 1;
    if (!by_ones || !whole(0) || !whole(1) || !reads_all(group.contraction, y)) {
      return {};
    }
    padding.read_around = true;
    padding.group = found;
    return padding;
  }
  // Sums that go over images, as a weight's gradient does, take one channel of each.
  const int64_t images = y.shape[0], image = all / images;
  for (const ContractionDim& dim : group.contraction.k) {
    if (images > 1 && dim.b_stride == image && dim.size == images) padding.far = image;
  }
  const int64_t size = static_cast<int64_t>(size_of(operand.dtype));
  // Lines that are themselves padded can be made one by one.
  if (padding.far > 0 && rank >= 4 && whole(0) && whole(1) && !whole(rank - 1)) {
    padding.lines = find_panel_lines(group.contraction, y.shape);
    padding.bytes = padding.lines ? padding.lines.elements() * size : 0;
    if (padding.lines && padding.bytes <= most_padding) {
      padding.group = found;
      return padding;
    }
    padding.lines = {};
  }
  const int64_t entry = entry_size(group.contraction, all, padding.far);
  if (entry == 0 || (padding.far > 0 && entry >= image)) return {};
  // The trailing dimensions that make up an entry; of the first of them perhaps only a part.
  int first = rank;
  int64_t inner = 1;
  while (first > 0 && inner < entry) inner *= y.shape[--first];
  if (inner < entry || first == rank) return {};
  inner /= y.shape[first];
  const int64_t part = entry / inner;
  if (part * inner != entry || y.shape[first] % part != 0) return {};
  for (int d = 0; d < (part == y.shape[first] ? first : first + 1); ++d) {
    if (!whole(d)) return {};
  }
  padding.from = x;
  padding.to.shape = y.shape;
  for (int d = padding.far > 0; d < first; ++d) padding.from.shape[d] = padding.to.shape[d] = 1;
  if (part < y.shape[first]) padding.from.shape[first] = padding.to.shape[first] = part;
  padding.to = contiguous_layout(padding.to.shape);
  for (int d = 0; d <= first; ++d) padding.leading.append(y.shape[d], x.strides[d]);
  padding.inner = inner;
  padding.near = entry;
  padding.bytes = element_count(padding.to.shape) * size;
  if (padding.bytes > most_padding) return {};
  padding.group = found;
  return padding;
}

const CallGroup& padding_call(const Plan& plan, const Padding& padding) {
  return std::get<CallGroup>(plan.groups[padding.group].work);
}

Contraction of_entries(Contraction contraction, const Padding& padding) {
  if (padding.lines) return of_lines(std::move(contraction), padding.lines);
  for (ContractionDim& dim : contraction.k) {
    if (padding.far > 0 && dim.b_stride == padding.far) dim.b_stride = padding.near;
  }
  return contraction;
}

EntryParts parts_of_entry(const Plan& plan, const Padding& padding) {
  if (padding.lines) return {{}, {}, padding.lines.elements()};
  const CallGroup& group = padding_call(plan, padding);
  EntryParts parts{padding.from, padding.to, element_count(padding.to.shape)};
  parts.from.offset = 0;
  for (int d = 0; d < padding.from.shape.rank(); ++d) {
    const size_t i = 2 * static_cast<size_t>(d);
    parts.to =
        slice(parts.to, d, group.attributes[i], padding.from.shape[d], group.attributes[i + 1]);
  }
  return parts;
}

const void* find_entry(const Plan& plan, const Padding& padding, void* const* buffers,
                       int64_t offset) {
  const Operand& input = padding_call(plan, padding).inputs[0];
  const int64_t at = padding.from.offset + padding.leading.offset(offset / padding.inner);
  return static_cast<const char*>(buffers[input.buffer]) + at * int64_t(size_of(input.dtype));
}

PaddedImages padded_images(const Plan& plan, const Padding& padding, void* const* buffers) {
  const CallGroup& group = padding_call(plan, padding);
  const Operand& input = group.inputs[0];
  const Layout& x = input.layout;
  const void* const data =
      static_cast<const char*>(buffers[input.buffer]) + x.offset * int64_t(size_of(input.dtype));
  return {data,       x.strides[0], x.strides[1],        x.strides[2],       x.strides[3],
          x.shape[2], x.shape[3],   group.attributes[4], group.attributes[6]};
}

void pad_all(const Plan& plan, const Padding& padding, void* const* buffers,
             const Immediates* immediates) {
  const CallGroup& group = padding_call(plan, padding);
  const Operand& input = group.inputs[0];
  const NaiveArray x{buffers[input.buffer], input.dtype, input.layout};
  pad_kernel({*group.op,
              group.attributes,
              immediates[group.immediate],
              {&x, 1},
              {buffers[group.output.buffer], group.output.dtype, group.output.layout}});
}

void pad_entry(const Plan& plan, const Padding& padding, void* const* buffers,
               const Immediates* immediates, int64_t offset, void* to) {
  const CallGroup& group = padding_call(plan, padding);
  const Operand& input = group.inputs[0];
  NaiveArray x{buffers[input.buffer], input.dtype, padding.from};
  x.layout.offset += padding.leading.offset(offset / padding.inner);
  pad_kernel({*group.op,
              group.attributes,
              immediates[group.immediate],
              {&x, 1},
              {to, group.output.dtype, padding.to}});
}

int64_t pad_lines(const Plan& plan, const Padding& padding, void* const* buffers,
                  const Immediates* immediates, int64_t begin, int64_t end, void* to) {
  const CallGroup& group = padding_call(plan, padding);
  const Operand& input = group.inputs[0];
  const PanelLines& lines = padding.lines;
  const PanelLines::Range range = lines.lines_of(begin, end);
  constexpr int axis = 2;  // along which lines follow each other
  const int64_t start = group.attributes[2 * axis], step = group.attributes[2 * axis + 1];
  for (int64_t image = range.begin / lines.image_lines, before = image * lines.image_lines;
       before < range.end; ++image, before += lines.image_lines) {
    const int64_t first = std::max(range.begin - before, int64_t{0});
    const int64_t last = std::min(range.end - before, lines.image_lines);
    // The image's own lines that go there.
    const int64_t size = input.layout.shape[axis];
    const int64_t from = std::clamp<int64_t>(divide_up(first - start, step), 0, size);
    const int64_t count = std::clamp<int64_t>(divide_up(last - start, step), from, size) - from;
    NaiveArray x{buffers[input.buffer], input.dtype, slice(input.layout, 0, image, 1, 1)};
    x.layout = slice(x.layout, axis, from, count, 1);
    Layout y = group.output.layout;
    y.shape[0] = 1;
    y.shape[axis] = last - first;
    y.strides[1] = lines.most * lines.inner;
    y.offset = (before + first - range.begin) * lines.inner;
    Attributes attributes = group.attributes;
    attributes[2 * axis] = start + from * step - first;
    pad_kernel(
        {*group.op, attributes, immediates[group.immediate], {&x, 1}, {to, group.output.dtype, y}});
  }
  return range.begin * lines.inner;
}

}  // namespace mt::cpu
