// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/lowering.h"

#include "base/error.h"
#include "fusion/planning/padded_layout.h"
#include "ops/minimal_filtering.h"
#include "ops/saturates.h"
#include "ops/slice.h"

namespace mt {
namespace {

class Lowering {
 public:
  Lowering(const Region& region, const Grouping& grouping, const ItemGroup& group,
           const BufferOf& buffer_of_leaf, const BufferOf& buffer_of_item)
      : region_(region),
        grouping_(grouping),
        group_(group),
        buffer_of_leaf_(buffer_of_leaf),
        buffer_of_item_(buffer_of_item),
        iteration_(group.row_shape) {
    for (int64_t size : group.column_shape) iteration_.push_back(size);
    segment_.rows = group.rows();
    segment_.columns = group.columns();
    segment_.memory.reserve(group.items.size() + 2);
    element_register_.assign(region.items.size(), -1);
    row_register_.assign(region.items.size(), -1);
  }

  Group run() {
    for (int i : group_.items) lower_item(i);
    FusedProgram fused;
    fused.program.instructions = std::move(instructions_);
    fused.program.registers = registers_;
    fused.segments.push_back(std::move(segment_));
    fused.totals = std::move(totals_);
    switch (group_.kind) {
      case GroupKind::map: return {MapGroup{std::move(fused)}, group_.items};
      case GroupKind::reduce:
        static_cast<FusedProgram&>(reduction_) = std::move(fused);
        return {std::move(reduction_), group_.items};
      default: return {RowGroup{std::move(fused)}, group_.items};
    }
  }

 private:
  const Node& node(int i) const { return *region_.item(i).node; }
  bool in_group(int value) const {
    if (value < 0) return false;
    int group = grouping_.group_of[value];
    return group >= 0 && &grouping_.groups[group] == &group_ && value != group_.contraction;
  }
  bool is_row(int i) const { return grouping_.row_valued[i]; }
  bool is_permuted() const { return !group_.permutation.empty(); }

  int16_t emit(Instruction instruction) {
    bool makes_register = instruction.code != Opcode::store && instruction.code != Opcode::total;
    if (makes_register) instruction.out = static_cast<int16_t>(registers_++);
    instructions_.push_back(instruction);
    return instruction.out;
  }

  // A value of the group as a register, repeated along the columns where an element is wanted.
  int16_t in_register(int i, bool row) {
    int16_t& element = element_register_[i];
    if (row || !is_row(i)) return row ? row_register_[i] : element;
    if (element < 0) {
      Instruction expand{.code = Opcode::expand, .type = compute_of(node(i).dtype)};
      expand.row_input = true;
      expand.in[0] = row_register_[i];
      element = emit(expand);
    }
    return element;
  }

  // The layout of something `consumer` reads, over the group's iteration.
  Layout over_iteration(const Layout& layout, const Shape& consumer, bool row) {
    Layout broadcast = expand(layout, consumer);
    if (!row && is_permuted()) {
      broadcast = permute(broadcast, group_.permutation);
      return broadcast;
    }
    const Shape& target = row ? group_.row_shape : iteration_;
    return *reshape(broadcast, target);  // grouping has checked that it can be done
  }

  int16_t memory_index(int buffer, Dtype dtype, const Layout& full, bool row) {
    Layout layout = collapse(full);
    for (size_t m = 0; m < segment_.memory.size(); ++m) {
      const Memory& known = segment_.memory[m];
      if (known.buffer == buffer && known.row == row && known.dtype == dtype &&
          !known.is_padded() && known.layout.shape == layout.shape &&
          known.layout.strides == layout.strides && known.layout.offset == layout.offset) {
        return static_cast<int16_t>(m);
      }
    }
    segment_.memory.push_back({buffer, dtype, layout, row, is_contiguous(layout)});
    return static_cast<int16_t>(segment_.memory.size() - 1);
  }

  int16_t constant(const Node& source, int item, bool row) {
    for (const Instruction& known : instructions_) {
      if (known.code == Opcode::constant && known.row == row && known.dtype == source.dtype &&
          segment_.constants[known.index] == item) {
        return known.out;
      }
    }
    Instruction fill{.code = Opcode::constant, .type = compute_of(source.dtype)};
    fill.dtype = source.dtype;
    fill.row = row;
    fill.index = static_cast<int16_t>(segment_.constants.size());
    segment_.constants.push_back(item);
    return emit(fill);
  }

  int16_t read(const Edge& edge, const Shape& consumer, bool row) {
    int value = edge.value;
    if (in_group(value)) return in_register(value, row);
    Layout layout = edge_layout(region_, edge);
    if (value >= 0) {
      const Node& source = node(value);
      if (source.op->kind == OpKind::constant) return constant(source, value, row);
      if (source.op->kind == OpKind::iota) {
        return load(Opcode::iota, -1, source.dtype, over_iteration(layout, consumer, row), row);
      }
    }
    int buffer = value < 0 ? buffer_of_leaf_[~value] : buffer_of_item_[value];
    const Dtype dtype = region_.node_of(value).dtype;
    return load(Opcode::load, buffer, dtype, over_iteration(layout, consumer, row), row);
  }

  int16_t load(Opcode code, int buffer, Dtype dtype, const Layout& layout, bool row) {
    int16_t index = memory_index(buffer, dtype, layout, row);
    for (const Instruction& known : instructions_) {
      if (known.code == code && known.index == index && known.row == row) return known.out;
    }
    Instruction instruction{.code = code, .type = compute_of(dtype)};
    instruction.dtype = dtype;
    instruction.row = row;
    instruction.index = index;
    return emit(instruction);
  }

  // Loads the value of item i, a padding, in the order of the group's elements.
  int16_t load_padded(int i) {
    const Node& pad = node(i);
    const Edge& edge = region_.edges_of(i)[0];
    const int buffer = edge.value < 0 ? buffer_of_leaf_[~edge.value] : buffer_of_item_[edge.value];
    auto [layout, margins] = padded_layout(pad, edge_layout(region_, edge));
    margins.constant = static_cast<int>(segment_.constants.size());
    segment_.constants.push_back(i);
    segment_.memory.push_back({.buffer = buffer,
                               .dtype = pad.dtype,
                               .layout = layout,
                               .row = false,
                               .contiguous = false,
                               .margins = static_cast<int>(segment_.margins.size())});
    segment_.margins.push_back(margins);
    Instruction load{.code = Opcode::load, .type = compute_of(pad.dtype)};
    load.dtype = pad.dtype;
    load.index = static_cast<int16_t>(segment_.memory.size() - 1);
    return emit(load);
  }

  void lower_item(int i) {
    const Node& n = node(i);
    const bool row = is_row(i);
    const bool pads = n.op == &pad_op;
    int16_t value = n.op->kind == OpKind::reduce ? reduced(i)
                    : pads                       ? load_padded(i)
                                                 : computed(i, row);
    if (value < 0) return;  // the reduce group's result or a total: no value of the program
    if (!pads && needs_rounding(n.dtype) && !is_exact(i)) value = rounded(n, value, row);
    (row ? row_register_ : element_register_)[i] = value;
    if (buffer_of(i) >= 0) store(i, value, row);
  }

  int buffer_of(int i) const { return buffer_of_item_[i]; }
  // Where all of item i's value goes.
  Operand stored(int i) const {
    return {buffer_of(i), node(i).dtype, contiguous_layout(node(i).shape)};
  }

  // The type of item i's first operand.
  Dtype dtype_read(int i) const { return region_.node_of(region_.edges_of(i)[0].value).dtype; }

  // Whether the instruction itself gives numbers of the item's type.
  bool is_exact(int i) const {
    const Node& n = node(i);
    if (n.op->kind == OpKind::cast) return saturates(compute_of(dtype_read(i)), n.dtype);
    return n.op->kind == OpKind::iota;
  }

  // The operator itself, of an item that is computed element by element.
  int16_t computed(int i, bool row) {
    const Node& n = node(i);
    Instruction instruction{.code = Opcode::elementwise, .type = compute_of(n.dtype)};
    instruction.detail = n.op->code;
    instruction.dtype = n.dtype;
    instruction.row = instruction.row_input = row;
    auto read_all = [&] {
      int16_t* in = instruction.in;
      for (const Edge& edge : region_.edges_of(i)) *in++ = read(edge, n.shape, row);
    };
    switch (n.op->kind) {
      case OpKind::constant: return constant(n, i, row);
      case OpKind::iota:
        return load(Opcode::iota, -1, n.dtype,
                    over_iteration(contiguous_layout(n.shape), n.shape, row), row);
      case OpKind::random:
        instruction.code = Opcode::random;
        instruction.index = static_cast<int16_t>(segment_.constants.size());
        segment_.constants.push_back(i);
        return emit(instruction);
      case OpKind::elementwise:
        read_all();
        instruction.from = compute_of(dtype_read(i));
        if (info(static_cast<Elementwise>(n.op->code)).boolean_result) {
          instruction.type = Compute::i32;
        }
        return emit(instruction);
      case OpKind::select:
        instruction.code = Opcode::select;
        read_all();
        return emit(instruction);
      case OpKind::cast: {
        const Dtype from = dtype_read(i);
        read_all();
        instruction.from = compute_of(from);
        if (n.dtype == Dtype::boolean && from != Dtype::boolean) {
          instruction.code = Opcode::to_boolean;
        } else if (instruction.from != instruction.type) {
          instruction.code = Opcode::cast;
        } else {
          return instruction.in[0];
        }
        return emit(instruction);
      }
      default: fail(Code::unsupported, "%s cannot be fused", n.op->name);
    }
  }

  // A reduction: a row value, or -1 if it is the reduce group's result or a total.
  int16_t reduced(int i) {
    const Node& n = node(i);
    const Edge& edge = region_.edges_of(i)[0];
    // Its input is read over the whole iteration, in the input's own shape.
    const int16_t value = read(edge, edge_layout(region_, edge).shape, false);
    if (group_.kind == GroupKind::reduce) {
      set_reduction(n, edge, value);
      reduction_.output = stored(i);
      return -1;
    }
    Instruction instruction{.code = Opcode::reduce, .type = compute_of(n.dtype)};
    instruction.detail = n.op->code;
    instruction.dtype = n.dtype;
    instruction.row = is_row(i);
    instruction.in[0] = value;
    if (!grouping_.total[i]) return emit(instruction);
    instruction.code = Opcode::total;
    instruction.row_input = instruction.row;
    instruction.index = static_cast<int16_t>(totals_.size());
    emit(instruction);
    totals_.push_back({static_cast<Reduction>(n.op->code), instruction.type, stored(i)});
    return -1;
  }

  int16_t rounded(const Node& n, int16_t value, bool row) {
    Instruction round{.code = Opcode::round, .type = compute_of(n.dtype)};
    round.dtype = n.dtype;
    round.row = round.row_input = row;
    round.in[0] = value;
    return emit(round);
  }

  // A stored item is contiguous in the order of the group's iteration.
  void store(int i, int16_t value, bool row) {
    const Dtype dtype = node(i).dtype;
    Instruction store{.code = Opcode::store, .type = compute_of(dtype)};
    store.dtype = dtype;
    store.row = store.row_input = row;
    store.in[0] = value;
    store.index = memory_index(buffer_of(i), dtype,
                               contiguous_layout(row ? group_.row_shape : iteration_), row);
    emit(store);
  }

  void set_reduction(const Node& n, const Edge& edge, int16_t value) {
    Shape shape = edge_layout(region_, edge).shape;
    Dims axes(n.attributes.data(), static_cast<int>(n.attributes.size()));
    int64_t reduced = 1;
    for (int64_t axis : axes) reduced *= shape[static_cast<int>(axis)];
    reduction_.reduction = static_cast<Reduction>(n.op->code);
    reduction_.type = compute_of(n.dtype);
    reduction_.outer = group_.rows();
    reduction_.reduced = reduced;
    reduction_.inner = group_.inner;
    reduction_.in_lanes = reduction_.inner == 1;
    Instruction reduce{.code = Opcode::reduce, .type = reduction_.type};
    reduce.detail = n.op->code;
    reduce.row = true;
    reduce.in[0] = value;
    emit(reduce);
  }

  const Region& region_;
  const Grouping& grouping_;
  const ItemGroup& group_;
  const BufferOf& buffer_of_leaf_;
  const BufferOf& buffer_of_item_;
  Shape iteration_;
  Segment segment_;
  std::vector<Instruction> instructions_;
  std::vector<Total> totals_;
  ReduceGroup reduction_;  // for a reduce group, without its program
  int registers_ = 0;
  std::vector<int16_t> element_register_, row_register_;
};

}  // namespace

Group lower(const Region& region, const Grouping& grouping, const ItemGroup& group,
            const BufferOf& buffer_of_leaf, const BufferOf& buffer_of_item) {
  return Lowering(region, grouping, group, buffer_of_leaf, buffer_of_item).run();
}

namespace {

// What an item reads, and where its value goes.
std::vector<Operand> inputs_of(const Region& region, const Item& item,
                               const BufferOf& buffer_of_leaf, const BufferOf& buffer_of_item) {
  std::vector<Operand> inputs;
  for (const Edge& edge : region.edges_of(item)) {
    bool leaf = edge.value < 0;
    int buffer = leaf ? buffer_of_leaf[~edge.value] : buffer_of_item[edge.value];
    inputs.push_back({buffer, region.node_of(edge.value).dtype, edge_layout(region, edge)});
  }
  return inputs;
}
Operand output_of(const Region& region, int index, const BufferOf& buffer_of_item) {
  const Node& node = *region.item(index).node;
  return {buffer_of_item[index], node.dtype, contiguous_layout(node.shape)};
}

}  // namespace

ContractGroup lower_contraction(const Region& region, int index, const BufferOf& buffer_of_leaf,
                                const BufferOf& buffer_of_item) {
  const Item& item = region.item(index);
  const Node& node = *item.node;
  const std::vector<Operand> inputs = inputs_of(region, item, buffer_of_leaf, buffer_of_item);
  ContractGroup group;
  group.contraction = canonical_contraction(node.attributes, inputs[0], inputs[1], node.dtype);
  group.contraction.precision = precision_of(*node.op, node.attributes);
  if (group.contraction.precision == minimal_filtering) {
    const Layout& b = inputs[1].layout;
    const int lines = static_cast<int>(node.attributes[0]), positions = lines + 1;
    group.contraction.n = {{b.shape[lines], 0, b.strides[lines]},
                           {b.shape[positions], 0, b.strides[positions]}};
  } else if (group.contraction.precision == minimal_filtering_of_weight) {
    const Layout &a = inputs[0].layout, &b = inputs[1].layout;
    group.contraction.n.clear();
    group.contraction.k.clear();
    for (int i = 0; i < 3; ++i) {
      group.contraction.n.push_back({b.shape[1 + i], 0, b.strides[1 + i]});
      group.contraction.k.push_back({a.shape[2 + i], a.strides[2 + i], b.strides[4 + i]});
    }
  }
  group.a = inputs[0];
  group.b = inputs[1];
  group.output = output_of(region, index, buffer_of_item);
  return group;
}

CallGroup lower_call(const Region& region, int index, const BufferOf& buffer_of_leaf,
                     const BufferOf& buffer_of_item) {
  const Item& item = region.item(index);
  return {.op = item.node->op,
          .attributes = item.node->attributes,
          .immediate = index,
          .inputs = inputs_of(region, item, buffer_of_leaf, buffer_of_item),
          .output = output_of(region, index, buffer_of_item)};
}

}  // namespace mt
