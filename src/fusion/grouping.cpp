// SPDX-License-Identifier: Apache-2.0
// Greedy grouping, from the last item to the first: an item joins the group of its consumers when
// all of them are in one group and read it element for element (or row for row). Consumers in
// several groups that go through the same elements become one group, unless something outside must
// run between them.
#include "fusion/grouping.h"

#include <algorithm>
#include <functional>

#include "ops/order.h"

namespace mt {

Layout edge_layout(const Region& region, const Edge& edge) {
  if (edge.value < 0) {
    const Node& leaf = *region.leaves[static_cast<size_t>(~edge.value)].node;
    return {edge.view->shape, edge.view->strides, edge.view->offset - leaf.offset};
  }
  if (edge.view) return edge.view->layout();
  return contiguous_layout(region.items[static_cast<size_t>(edge.value)].node->shape);
}

namespace {

// Registers hold whole rows, so a row must leave room for several of them in cache.
constexpr int64_t longest_row = 16384;
static_assert(longest_row <= row_panel);
constexpr size_t most_items = 64;  // in one group

struct Use {
  int consumer;
  const Edge* edge;
};

class Grouper {
 public:
  explicit Grouper(const Region& region) : region_(region) {
    size_t count = region.items.size();
    uses_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const Item& item = region.items[i];
      for (int e = 0; e < item.edge_count; ++e) {
        const Edge& edge = region.edges_of(item)[e];
        if (edge.value >= 0) uses_[static_cast<size_t>(edge.value)].push_back({int(i), &edge});
      }
    }
    result_.group_of.assign(count, -1);
    result_.row_valued.assign(count, false);
    result_.refusal.assign(count, nullptr);
  }

  Grouping run() {
    for (int i = static_cast<int>(region_.items.size()) - 1; i >= 0; --i) place(i);
    attach_epilogues();
    finish();
    return std::move(result_);
  }

 private:
  const Item& item(int i) const { return region_.items[static_cast<size_t>(i)]; }
  const Node& node(int i) const { return *item(i).node; }
  int64_t size(int i) const { return element_count(node(i).shape); }
  Draft& draft(int group) { return result_.drafts[static_cast<size_t>(group)]; }
  int& group_of(int i) { return result_.group_of[static_cast<size_t>(i)]; }
  bool is_row(int i) const { return result_.row_valued[static_cast<size_t>(i)]; }

  void place(int i) {
    OpKind kind = node(i).op->kind;
    bool source = kind == OpKind::constant || kind == OpKind::iota;
    if (source && !item(i).stored && !read_from_memory(i)) return;  // written inline where read
    if (!source && (is_pointwise(*node(i).op) || kind == OpKind::reduce) && join(i)) return;
    start(i);
    // Its value goes to memory for some consumers; others may still be computed along with it.
    for (const Use& use : uses_[static_cast<size_t>(i)]) merge(group_of(i), group_of(use.consumer));
  }

  bool read_from_memory(int i) const {
    for (const Use& use : uses_[static_cast<size_t>(i)]) {
      OpKind kind = node(use.consumer).op->kind;
      if (kind == OpKind::contract || kind == OpKind::call) return true;
    }
    return false;
  }

  void start(int i) {
    Draft group;
    const Node& root = node(i);
    if (is_pointwise(*root.op)) {
      group.kind = GroupKind::map;
      group.row_shape = root.shape;
    } else if (root.op->kind == OpKind::reduce) {
      shape_reduction(i, &group);
      result_.row_valued[static_cast<size_t>(i)] = true;
    } else {
      group.kind = root.op->kind == OpKind::contract ? GroupKind::contract : GroupKind::call;
    }
    group.items.push_back(i);
    group_of(i) = static_cast<int>(result_.drafts.size());
    result_.drafts.push_back(std::move(group));
  }

  // The iteration of a reduction: kept dimensions, then reduced ones; but kept ones that come last
  // stay last, so that memory is read in order.
  struct ReductionShape {
    Shape outer, reduced, inner;
    Dims permutation;  // empty when the input's own order serves
  };
  ReductionShape reduction_shape(int i) const {
    const Shape& shape = edge_layout(region_, region_.edges_of(item(i))[0]).shape;
    const Attributes& axes = node(i).attributes;
    auto is_reduced = [&](int d) {
      return std::find(axes.begin(), axes.end(), d) != axes.end();
    };
    int inner_begin = shape.rank();
    while (inner_begin > 0 && !(is_reduced(inner_begin - 1) && shape[inner_begin - 1] != 1)) {
      --inner_begin;
    }
    // Trailing dimensions of size one change nothing.
    int64_t inner_size = 1;
    for (int d = inner_begin; d < shape.rank(); ++d) inner_size *= shape[d];
    if (inner_size == 1) inner_begin = shape.rank();
    ReductionShape result;
    Dims order;
    for (int pass = 0; pass < 3; ++pass) {
      for (int d = 0; d < shape.rank(); ++d) {
        bool inner = d >= inner_begin && !is_reduced(d);
        int part = inner ? 2 : is_reduced(d) ? 1 : 0;
        if (part != pass) continue;
        order.push_back(d);
        (part == 0 ? result.outer : part == 1 ? result.reduced : result.inner).push_back(shape[d]);
      }
    }
    for (int d = 0; d < order.rank(); ++d) {
      if (order[d] != d) result.permutation = order;
    }
    return result;
  }

  void shape_reduction(int i, Draft* group) {
    ReductionShape shape = reduction_shape(i);
    bool in_rows = shape.inner.empty() && element_count(shape.reduced) <= longest_row;
    group->kind = in_rows ? GroupKind::row : GroupKind::reduce;
    group->row_shape = shape.outer;
    group->column_shape = shape.reduced;
    for (int64_t size : shape.inner) group->column_shape.push_back(size);
    group->inner = element_count(shape.inner);
    group->permutation = shape.permutation;
    if (!shape.permutation.empty()) {
      group->permuted_shape = edge_layout(region_, region_.edges_of(item(i))[0]).shape;
    }
  }

  // How a consumer in `group` reads item i.
  enum class Relation { none, element, row };

  Relation relation(const Draft& group, int i, const Use& use) const {
    Layout layout = edge_layout(region_, *use.edge);
    const Node& consumer = node(use.consumer);
    bool reduces = consumer.op->kind == OpKind::reduce;
    if (!group.permutation.empty() && (reduces || !is_row(use.consumer))) {
      bool same = layout.shape == group.permuted_shape && node(i).shape == group.permuted_shape &&
                  is_contiguous(layout) && layout.offset == 0;
      return same ? Relation::element : Relation::none;
    }
    if (!reduces) layout = expand(layout, consumer.shape);
    int64_t count = element_count(layout.shape);
    if (size(i) == count && is_contiguous(layout) && layout.offset == 0) {
      return !reduces && is_row(use.consumer) ? Relation::row : Relation::element;
    }
    // Constant along the columns, and row for row otherwise?
    if (reduces || is_row(use.consumer) || layout.offset != 0 || size(i) == 0) {
      return Relation::none;
    }
    int64_t rows = size(i);
    if (count % rows != 0) return Relation::none;
    std::optional<Layout> matrix = reshape(layout, {rows, count / rows});
    bool by_row = matrix && (rows == 1 || matrix->strides[0] == 1) && matrix->strides[1] == 0;
    return by_row ? Relation::row : Relation::none;
  }

  bool refuse(int i, const char* reason) {
    result_.refusal[static_cast<size_t>(i)] = reason;
    return false;
  }

  bool join(int i) {
    const auto& uses = uses_[static_cast<size_t>(i)];
    if (uses.empty()) return false;
    int target = group_of(uses[0].consumer);
    for (const Use& use : uses) {
      if (!merge(target, group_of(use.consumer))) {
        return refuse(i, "its consumers are in different groups");
      }
    }
    target = group_of(uses[0].consumer);
    Draft& group = draft(target);
    if (group.kind == GroupKind::contract) return refuse(i, "a contraction reads it from memory");
    if (group.kind == GroupKind::call) return refuse(i, "an operator that runs alone reads it");
    if (group.items.size() >= most_items) return refuse(i, "the group is full");
    Relation common = Relation::none;
    for (const Use& use : uses) {
      Relation found = relation(group, i, use);
      if (found == Relation::none) return refuse(i, "it is read in another order or repeated");
      if (common != Relation::none && found != common) {
        return refuse(i, "it is read both by element and by row");
      }
      common = found;
    }
    bool joined = node(i).op->kind == OpKind::reduce ? join_reduction(i, &group, common)
                                                     : join_pointwise(i, &group, common);
    if (!joined) return false;
    group.items.push_back(i);
    group_of(i) = target;
    return true;
  }

  // Makes groups a and b one, if they may be and are not.
  bool merge(int a, int b) {
    if (a == b) return true;
    if (a < 0 || b < 0) return false;
    Draft &into = draft(a), &from = draft(b);
    for (const Draft* group : {&into, &from}) {
      bool open = group->kind == GroupKind::map || group->kind == GroupKind::row;
      if (!open || !group->permutation.empty()) return false;
    }
    if (into.items.size() + from.items.size() >= most_items) return false;
    if (into.rows() * into.columns() != from.rows() * from.columns()) return false;
    if (runs_between(a, b) || runs_between(b, a)) return false;
    Draft split = into.kind == GroupKind::map ? into : from;
    const Draft& whole = into.kind == GroupKind::map ? from : into;
    if (into.kind != from.kind) {
      // Values for each row of a reduction are about to make rows of their own.
      for (int i : split.items) {
        if (size(i) == split.rows() && finishes_rows(i, 0)) return false;
      }
      if (!split_rows(&split, whole.columns())) return false;
    }
    const Draft& other = into.kind == from.kind ? from : split;
    const Draft& same = into.kind == from.kind ? into : whole;
    if (other.row_shape != same.row_shape || other.column_shape != same.column_shape) return false;
    // What one makes and the other reads must be read in the group's own order.
    for (int producer : {a, b}) {
      int consumer = producer == a ? b : a;
      for (int i : draft(producer).items) {
        for (const Use& use : uses_[static_cast<size_t>(i)]) {
          if (group_of(use.consumer) != consumer) continue;
          Relation found = relation(same, i, use);
          if (found != (is_row(i) ? Relation::row : Relation::element)) return false;
        }
      }
    }
    into.kind = same.kind;
    Shape rows = same.row_shape, columns = same.column_shape;
    into.row_shape = rows;
    into.column_shape = columns;
    for (int i : from.items) {
      group_of(i) = a;
      into.items.push_back(i);
    }
    from.items.clear();
    std::sort(into.items.begin(), into.items.end(), std::greater<int>());
    return true;
  }

  // Whether something that reads from group a, itself in neither, is read by group b, directly or
  // through others.
  bool runs_between(int a, int b) const {
    std::vector<int> open;
    std::vector<bool> seen(result_.drafts.size(), false);
    auto visit = [&](int group, bool from_a) {
      for (int i : result_.drafts[static_cast<size_t>(group)].items) {
        for (const Use& use : uses_[static_cast<size_t>(i)]) {
          int next = result_.group_of[static_cast<size_t>(use.consumer)];
          if (next == b && !from_a) return true;
          if (next < 0 || next == a || next == b || seen[static_cast<size_t>(next)]) continue;
          seen[static_cast<size_t>(next)] = true;
          open.push_back(next);
        }
      }
      return false;
    };
    visit(a, true);
    while (!open.empty()) {
      int group = open.back();
      open.pop_back();
      if (visit(group, false)) return true;
    }
    return false;
  }

  bool join_pointwise(int i, Draft* group, Relation relation) {
    if (relation == Relation::element && group->kind != GroupKind::map && finishes_rows(i, 0)) {
      return refuse(i, "it finishes rows of its own");
    }
    if (relation == Relation::row) {
      if (group->kind == GroupKind::map) {
        int64_t columns = size(i) ? group->rows() / size(i) : 0;
        if (!comes_from_rows(i, columns, 0)) return refuse(i, "it is repeated along rows");
        if (!split_rows(group, columns)) return refuse(i, "the rows do not follow the dimensions");
      }
      if (group->kind != GroupKind::row || size(i) != group->rows()) {
        return refuse(i, "it is repeated along rows");
      }
      if (!fits(i, group->row_shape)) return refuse(i, "its strides do not follow the rows");
      result_.row_valued[static_cast<size_t>(i)] = true;
      return true;
    }
    if (!group->permutation.empty()) {
      if (item(i).stored) return refuse(i, "it is stored in another order");
      if (node(i).op->kind == OpKind::random) return refuse(i, "it is drawn in another order");
      return true;
    }
    Shape iteration = group->row_shape;
    for (int64_t size : group->column_shape) iteration.push_back(size);
    if (!fits(i, iteration)) return refuse(i, "its strides do not follow the group's dimensions");
    return true;
  }

  // Whether everything item i reads can be addressed over `iteration`.
  bool fits(int i, const Shape& iteration) const {
    const Node& n = node(i);
    if (n.shape == iteration) return true;
    for (int e = 0; e < item(i).edge_count; ++e) {
      Layout layout = expand(edge_layout(region_, region_.edges_of(item(i))[e]), n.shape);
      if (!reshape(layout, iteration)) return false;
    }
    return true;
  }

  bool join_reduction(int i, Draft* group, Relation relation) {
    ReductionShape shape = reduction_shape(i);
    int64_t columns = element_count(shape.reduced);
    if (!shape.inner.empty()) return refuse(i, "it reduces leading dimensions");
    if (columns > longest_row || columns == 0) return refuse(i, "its rows do not fit in cache");
    if (group->row_shape.rank() + shape.reduced.rank() > max_rank) {
      return refuse(i, "the group would have too many dimensions");
    }
    if (shape.permutation.empty()) {
      // What it reads must be addressable over the group's dimensions, which may differ from its
      // own: its results may have been reshaped.
      Shape iteration = group->row_shape;
      bool splits = relation == Relation::row && group->kind == GroupKind::map;
      const Shape& rest = group->kind == GroupKind::map ? shape.reduced : group->column_shape;
      for (int d = 0; !splits && d < rest.rank(); ++d) iteration.push_back(rest[d]);
      Layout layout = edge_layout(region_, region_.edges_of(item(i))[0]);
      if (element_count(iteration) != element_count(layout.shape) || !reshape(layout, iteration)) {
        return refuse(i, "its strides do not follow the group's dimensions");
      }
    }
    if (group->kind == GroupKind::map && relation == Relation::element) {
      // The group works on the reduction's results alone: they become its row values.
      group->kind = GroupKind::row;
      group->column_shape = shape.reduced;
      group->permutation = shape.permutation;
      if (!shape.permutation.empty()) {
        group->permuted_shape = edge_layout(region_, region_.edges_of(item(i))[0]).shape;
      }
      for (int member : group->items) result_.row_valued[static_cast<size_t>(member)] = true;
    } else if (relation == Relation::row) {
      if (!shape.permutation.empty()) return refuse(i, "it reduces in another order");
      if (group->kind == GroupKind::map && !split_rows(group, columns)) {
        return refuse(i, "the rows do not follow the dimensions");
      }
      if (!group->permutation.empty()) return refuse(i, "the group works in another order");
    } else {
      return refuse(i, "the group does not work on its rows");
    }
    if (group->kind != GroupKind::row || group->rows() != size(i) || group->columns() != columns) {
      return refuse(i, "its rows differ from the group's");
    }
    result_.row_valued[static_cast<size_t>(i)] = true;
    return true;
  }

  // Whether item i is computed from reductions of rows of `columns` elements.
  bool comes_from_rows(int i, int64_t columns, int depth) const {
    if (columns <= 1 || depth > 8) return false;
    for (int e = 0; e < item(i).edge_count; ++e) {
      int input = region_.edges_of(item(i))[e].value;
      if (input < 0 || size(input) != size(i)) continue;
      if (node(input).op->kind == OpKind::reduce) {
        ReductionShape shape = reduction_shape(input);
        if (shape.inner.empty() && shape.permutation.empty() && columns <= longest_row &&
            element_count(shape.reduced) == columns) {
          return true;
        }
      } else if (is_pointwise(*node(input).op) && comes_from_rows(input, columns, depth + 1)) {
        return true;
      }
    }
    return false;
  }

  // Whether item i has one value for each row of something that is reduced to rows: then it belongs
  // with that, whoever reads it.
  bool finishes_rows(int i, int depth) const {
    if (depth > 8) return false;
    for (int e = 0; e < item(i).edge_count; ++e) {
      int input = region_.edges_of(item(i))[e].value;
      if (input < 0 || size(input) != size(i)) continue;
      if (node(input).op->kind == OpKind::reduce) {
        ReductionShape shape = reduction_shape(input);
        int64_t columns = element_count(shape.reduced);
        if (shape.inner.empty() && columns > 1 && columns <= longest_row) return true;
      } else if (is_pointwise(*node(input).op) && finishes_rows(input, depth + 1)) {
        return true;
      }
    }
    return false;
  }

  // Turns an element-wise group into one of rows of `columns` elements.
  bool split_rows(Draft* group, int64_t columns) {
    const Shape& shape = group->row_shape;
    int split = shape.rank();
    int64_t count = 1;
    while (split > 0 && count < columns) count *= shape[--split];
    if (count != columns) return false;
    Shape rows(shape.data(), split), rest(shape.data() + split, shape.rank() - split);
    group->kind = GroupKind::row;
    group->row_shape = rows;
    group->column_shape = rest;
    return true;
  }

  // A contraction whose consumers all lie in one element-wise or row group takes it as epilogue.
  void attach_epilogues() {
    for (int i = 0; i < static_cast<int>(region_.items.size()); ++i) {
      if (node(i).op->kind != OpKind::contract) continue;
      const auto& uses = uses_[static_cast<size_t>(i)];
      if (uses.empty()) continue;
      int target = group_of(uses[0].consumer);
      const char* reason = nullptr;
      for (const Use& use : uses) {
        if (group_of(use.consumer) != target) reason = "its consumers are in different groups";
      }
      if (!reason) {
        Draft& group = draft(target);
        if (group.kind != GroupKind::map && group.kind != GroupKind::row) {
          reason = group.kind == GroupKind::reduce ? "a reduction over many rows reads it"
                                                   : "another operator reads it from memory";
        } else if (group.contraction >= 0) {
          reason = "the group is the epilogue of another contraction";
        } else if (!group.permutation.empty() || !whole_rows(i, group)) {
          reason = "its rows differ from the group's";
        } else {
          for (const Use& use : uses) {
            if (relation(group, i, use) != Relation::element) {
              reason = "it is read in another order or repeated";
            }
          }
        }
      }
      if (reason) {
        refuse(i, reason);
        continue;
      }
      int own = group_of(i);
      draft(target).contraction = i;
      draft(own).items.clear();
      group_of(i) = target;
    }
  }

  bool whole_rows(int i, const Draft& group) const {
    const Attributes& counts = node(i).attributes;
    int64_t n = 1;
    for (int d = 0; d < counts[2]; ++d) n *= node(i).shape[node(i).shape.rank() - 1 - d];
    if (size(i) != group.rows() * group.columns()) return false;
    return group.kind == GroupKind::map ||
           (n > 0 && group.columns() > 0 && n % group.columns() == 0);
  }

  // Orders items within drafts, and drafts so that what a group reads has been computed: by their
  // last items, and where that does not do, what is read first.
  void finish() {
    std::vector<int> order;
    for (size_t g = 0; g < result_.drafts.size(); ++g) {
      Draft& group = result_.drafts[g];
      std::reverse(group.items.begin(), group.items.end());
      if (!group.items.empty()) order.push_back(static_cast<int>(g));
    }
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return draft(a).items.back() < draft(b).items.back();
    });
    std::vector<int> sorted, stack;
    std::vector<char> state(result_.drafts.size(), 0);  // 1: what it reads is on the stack, 2: sorted
    for (int root : order) {
      stack.push_back(root);
      while (!stack.empty()) {
        int g = stack.back();
        char& now = state[static_cast<size_t>(g)];
        if (now == 0) {
          now = 1;
          push_producers(g, state, &stack);
          continue;
        }
        stack.pop_back();
        if (now == 1) sorted.push_back(g);
        now = 2;
      }
    }
    std::vector<Draft> drafts;
    std::vector<int> renamed(result_.drafts.size(), -1);
    for (int g : sorted) {
      renamed[static_cast<size_t>(g)] = static_cast<int>(drafts.size());
      drafts.push_back(std::move(draft(g)));
    }
    result_.drafts = std::move(drafts);
    for (int& group : result_.group_of) {
      if (group >= 0) group = renamed[static_cast<size_t>(group)];
    }
  }

  void push_producers(int g, const std::vector<char>& state, std::vector<int>* stack) {
    auto push_inputs = [&](int i) {
      for (int e = 0; e < item(i).edge_count; ++e) {
        int value = region_.edges_of(item(i))[e].value;
        int from = value < 0 ? -1 : group_of(value);
        if (from >= 0 && from != g && state[static_cast<size_t>(from)] == 0) stack->push_back(from);
      }
    };
    for (int i : draft(g).items) push_inputs(i);
    if (draft(g).contraction >= 0) push_inputs(draft(g).contraction);
  }

  const Region& region_;
  std::vector<std::vector<Use>> uses_;
  Grouping result_;
};

}  // namespace

Grouping group_items(const Region& region) { return Grouper(region).run(); }

}  // namespace mt
