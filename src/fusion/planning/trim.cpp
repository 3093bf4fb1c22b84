// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/trim.h"

#include <algorithm>
#include <cassert>

#include "ops/order.h"
#include "ops/precision.h"

namespace mt {
namespace {

// At most 1/share of a value may be kept for trimming to pay: another shape may fuse differently.
constexpr int64_t share = 2;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
using Ranges = SmallVector<Range, 6>;  // one for each axis of a value

// How a view steps through a contiguous value.
struct Walk {
  Ranges ranges;     // what it touches
  Dims axes, steps;  // for each dimension of the view: the axis it runs along, and its step there
};

// nullopt if a dimension of the view spans several axes, runs backwards, or is empty.
std::optional<Walk> walk_of(const Layout& view, const Shape& shape) {
  const Strides strides = contiguous_strides(shape);
  Walk walk;
  int64_t rest = view.offset;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t at = shape[axis] > 1 ? rest / strides[axis] : 0;
    rest -= at * strides[axis];
    walk.ranges.push_back({at, at + 1});
  }
  for (int d = 0; d < view.shape.rank(); ++d) {
    const int64_t stride = view.shape[d] == 1 ? 0 : view.strides[d];
    if (stride < 0 || view.shape[d] == 0) return std::nullopt;
    int axis = 0;
    while (axis < shape.rank() && (shape[axis] == 1 || strides[axis] > stride)) ++axis;
    if (stride > 0 && axis == shape.rank()) return std::nullopt;
    const int64_t step = stride > 0 ? stride / strides[axis] : 0;
    if (stride > 0 && step * strides[axis] != stride) return std::nullopt;
    if (stride > 0) walk.ranges[axis].end += (view.shape[d] - 1) * step;
    walk.axes.push_back(axis);
    walk.steps.push_back(step);
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (walk.ranges[axis].end > shape[axis]) return std::nullopt;
  }
  return walk;
}

// The layout of the same view in a value of which only `kept` is computed.
Layout within(const Ranges& kept, const Shape& kept_shape, const Walk& walk, const Shape& view) {
  const Strides strides = contiguous_strides(kept_shape);
  Layout result{view, {}, 0};
  for (int d = 0; d < view.rank(); ++d) {
    result.strides.push_back(walk.steps[d] ? walk.steps[d] * strides[int(walk.axes[d])] : 0);
  }
  for (int axis = 0; axis < kept_shape.rank(); ++axis) {
    const size_t a = axis;
    result.offset += (walk.ranges[a].begin - kept[a].begin) * strides[axis];
  }
  return result;
}

Shape shape_of(const Ranges& ranges) {
  Shape shape;
  for (const Range& range : ranges) shape.push_back(range.size());
  return shape;
}

bool is_product(const Item& item) {
  return item.node->op->kind == OpKind::contract && item.edge_count == 2;  // no convolution
}

// Whether parts of the item's value can be computed by themselves, with the same bits.
bool has_parts(const Region& region, const Item& item) {
  const Node& node = *item.node;
  switch (node.op->kind) {
    case OpKind::elementwise:
    case OpKind::select:
    case OpKind::cast: return true;
    case OpKind::reduce: {
      // Sums over the last axis are formed row by row, others by columns (ops/order.h).
      const Shape shape = edge_layout(region, region.edges_of(item)[0]).shape;
      return !shape.empty() && shape.back() > 1 && node.attributes.end()[-1] == shape.rank() - 1;
    }
    case OpKind::contract:
      return is_product(item) && precision_of(*node.op, node.attributes) == Precision::strict;
    default: return false;
  }
}

// The axis of an input with this layout that is the item's; -1 if it has none or repeats along it.
int axis_of_input(const Node& node, int axis, int input, const Layout& layout) {
  int64_t at = axis;
  if (node.op->kind == OpKind::reduce) {
    for (int64_t reduced : node.attributes) at += reduced <= at;  // they are sorted
  } else if (node.op->kind == OpKind::contract) {
    const int64_t batch = node.attributes[0], m = node.attributes[1];
    if (input == 0 && axis >= batch + m) return -1;
    if (input == 1 && axis >= batch) at = axis < batch + m ? -1 : axis - m;
  } else {
    at += layout.shape.rank() - node.shape.rank();
  }
  return at >= 0 && layout.shape[int(at)] > 1 ? int(at) : -1;
}

// Whether an edge skips some elements of the item that it reads.
bool picks(const Region& region, const Edge& edge) {
  if (edge.value < 0 || !edge.view) return false;
  int64_t read = 1;
  for (int d = 0; d < edge.view->shape.rank(); ++d) {
    if (edge.view->strides[d] != 0) read *= edge.view->shape[d];
  }
  return read < element_count(region.node_of(edge.value).shape);
}

class Trimming {
 public:
  explicit Trimming(const Region& region) : given_(region), readers_(region) {
    result_.region = region;
  }

  // Last to first: when a value's turn comes, what its readers read of it is known.
  std::optional<Trimmed> run() {
    for (int i = static_cast<int>(given_.items.size()) - 1; i >= 0; --i) {
      const Item& item = given_.item(i);
      if (!item.stored && element_count(item.node->shape) > 1 && has_parts(given_, item)) trim(i);
    }
    return spares_products_ ? std::optional(std::move(result_)) : std::nullopt;
  }

 private:
  void trim(int i) {
    const Item& item = given_.item(i);
    const Shape& shape = item.node->shape;
    std::vector<Walk> walks;
    for (const Use& use : readers_.of(i)) {
      std::optional<Walk> walk = walk_of(edge_layout(result_.region, edge_of(use)), shape);
      if (!walk) return;
      walks.push_back(*walk);
    }
    assert(!walks.empty());  // what nobody reads is stored
    Ranges kept = walks[0].ranges;
    for (const Walk& walk : walks) {
      for (size_t axis = 0; axis < kept.size(); ++axis) {
        kept[axis].begin = std::min(kept[axis].begin, walk.ranges[axis].begin);
        kept[axis].end = std::max(kept[axis].end, walk.ranges[axis].end);
      }
    }
    if (is_product(item)) keep_order(item, &kept);
    const Shape left = shape_of(kept);
    if (element_count(left) * share > element_count(shape)) return;
    spares_products_ |= is_product(item);
    const Walk* walk = walks.data();
    for (const Use& use : readers_.of(i)) {
      Edge& edge = edge_of(use);
      const Layout layout = edge_layout(result_.region, edge);
      set_layout(&edge, within(kept, left, *walk++, layout.shape), left);
    }
    trim_inputs(i, kept);
    replace(i, left);
  }

  Edge& edge_of(const Use& use) { return result_.region.edges[use.edge - given_.edges.data()]; }

  // Widens what is kept of a product until its sums have the same order as in the whole product.
  void keep_order(const Item& item, Ranges* kept) const {
    const Node& node = *item.node;
    const int m_begin = static_cast<int>(node.attributes[0]);
    const int m_end = m_begin + static_cast<int>(node.attributes[1]);
    for (int axis = m_end; axis < node.shape.rank(); ++axis) {
      (*kept)[axis] = {0, node.shape[axis]};
    }
    const Shape a = edge_layout(given_, given_.edges_of(item)[0]).shape;
    auto size = [](const Shape& shape, int begin, int end) {
      return element_count(Shape(shape.data() + begin, end - begin));
    };
    auto order = [&](const Shape& shape) {
      return contraction_order(size(shape, m_begin, m_end), size(shape, m_end, shape.rank()),
                               size(a, m_end, a.rank()), node.dtype);
    };
    const ContractionOrder wanted = order(node.shape);
    auto differs = [&] {
      const ContractionOrder now = order(shape_of(*kept));
      return now.lanes != wanted.lanes || now.panel != wanted.panel;
    };
    // From some number of rows on, the order is that of all rows; bisect for it.
    for (int axis = m_end - 1; axis >= m_begin && differs(); --axis) {
      Range& range = (*kept)[axis];
      const Range read = range;
      auto widen = [&](int64_t size) {
        range.begin = std::max<int64_t>(read.end - size, 0);
        range.end = range.begin + size;
      };
      int64_t few = read.size(), enough = node.shape[axis];
      while (enough - few > 1) {
        const int64_t size = few + (enough - few) / 2;
        widen(size);
        (differs() ? few : enough) = size;
      }
      widen(enough);
    }
  }

  // Makes the item read only what its kept part needs.
  void trim_inputs(int i, const Ranges& kept) {
    const Item& item = given_.item(i);
    for (int e = 0; e < item.edge_count; ++e) {
      Edge& edge = result_.region.edges[item.first_edge + e];
      const Layout whole = edge_layout(given_, edge);
      Layout layout = whole;
      for (int axis = 0; axis < item.node->shape.rank(); ++axis) {
        const Range& range = kept[axis];
        const int at = axis_of_input(*item.node, axis, e, whole);
        if (at >= 0) layout = slice(layout, at, range.begin, range.size(), 1);
      }
      if (layout.shape == whole.shape) continue;
      set_layout(&edge, layout, given_.node_of(edge.value).shape);
    }
  }

  // Makes an edge read a value of `shape` with this layout.
  void set_layout(Edge* edge, const Layout& layout, const Shape& shape) {
    const Node& value = given_.node_of(edge->value);
    const bool is_item = edge->value >= 0;
    if (is_item && layout.shape == shape && is_contiguous(layout) && layout.offset == 0) {
      edge->view = nullptr;
      return;
    }
    Tensor view = Tensor::adopt(new Node(*value.op, value.dtype, layout.shape, *value.device));
    view->strides = layout.strides;
    view->offset = layout.offset + (is_item ? 0 : value.offset);
    edge->view = view.node();
    result_.nodes.push_back(std::move(view));
  }

  void replace(int i, const Shape& shape) {
    const Node& node = *given_.item(i).node;
    Tensor part = Tensor::adopt(
        new Node(*node.op, node.dtype, shape, *node.device, {}, Attributes(node.attributes)));
    result_.region.items[i].node = part.node();
    result_.nodes.push_back(std::move(part));
  }

  const Region& given_;
  const Readers readers_;
  Trimmed result_;
  bool spares_products_ = false;  // whether any product shrinks: only then it pays
};

}  // namespace

std::optional<Trimmed> trimmed(const Region& region) {
  // A GPU chooses the order of sums by a product's shape.
  if (!region.device->host_memory) return std::nullopt;
  auto any = [&](const Edge& edge) { return picks(region, edge); };
  if (std::none_of(region.edges.begin(), region.edges.end(), any)) return std::nullopt;
  return Trimming(region).run();
}

}  // namespace mt
