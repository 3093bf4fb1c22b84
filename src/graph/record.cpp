// SPDX-License-Identifier: Apache-2.0
#include "graph/record.h"

#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/nan_check.h"
#include "graph/tape.h"
#include "graph/variable.h"
#include "graph/window.h"

namespace mt {

// Recording is the hottest path of the library: moving the inputs once more can be measured.
template <class... Operands>
inline Node::Node(const Op& op, Dtype dtype, const Shape& shape, Device& device, InputsInPlace,
                  Operands&&... operands)
    : op(&op),
      device(&device),
      shape(shape),
      dtype(dtype),
      inputs(std::forward<Operands>(operands)...) {}

namespace {

// A window past either budget is evaluated. Counted in nodes and bytes, never in time, so that
// the same program always makes the same plans.
constexpr int64_t node_budget = 4096;
constexpr int64_t byte_budget = int64_t{1} << 29;
constexpr int64_t least_part = node_budget / 4 * 3;  // of a sequence that is cut again

// Whether a product is larger than each operand, so that a sum may be computed without forming it.
bool outgrows_operands(const Node& node) {
  for (const Tensor& input : node.inputs) {
    if (input.size() >= element_count(node.shape)) return false;
  }
  return true;
}

// What a node inherits from its inputs. Inputs pending on another thread are computed first.
struct FromInputs {
  bool pending = false, requires_gradient = false;

  void add(const Tensor& input, const Thread& thread) {
    if (!input->ready()) {
      evaluate_if_foreign(input, thread);
      pending = true;
    }
    requires_gradient |= input->requires_gradient;
  }
};

// Sets whether the node takes part in gradients, and whether it keeps its inputs.
[[gnu::always_inline]] inline void connect(Node* node, const FromInputs& inputs, Thread& thread) {
  const Window& window = Window::current(thread);  // created with the thread's first node
  const bool required =
      inputs.requires_gradient && thread.records_gradients &&
      (is_floating(node->dtype) ? node->op->gradient != nullptr
                                : thread.records_slopes && node->dtype == Dtype::boolean);
  node->requires_gradient = required;
  node->keeps_inputs = required || node->is_broadcast_product || window.recording_tapes > 0;
  node->reads_pending = inputs.pending;
}
inline void connect(Node* node, Thread& thread) {
  FromInputs inputs;
  for (const Tensor& input : node->inputs) inputs.add(input, thread);
  node->is_broadcast_product = node->op->is_product && outgrows_operands(*node);
  connect(node, inputs, thread);
}

void append_and_evaluate(const Tensor& tensor, Thread& thread) {
  // The NaN check needs the inputs, which an evaluation, perhaps by another thread, releases.
  Inputs inputs = nan_check() ? tensor->inputs : Inputs();
  thread.window->append(tensor.node(), thread);
  if (thread.trace) return;
  evaluate(tensor);
  if (nan_check()) check_nan(tensor, inputs);
}

// A number for the operators and sizes of the nodes that were recorded last; not 0.
uint64_t recorded_last(const Window& window) {
  constexpr int most = 24;
  uint64_t number = 1;
  int count = 0;
  for (const Node* node = window.last(); node && count < most; node = node->previous, ++count) {
    number ^= reinterpret_cast<uintptr_t>(node->op) + static_cast<uint64_t>(node->bytes());
    number *= 0x9E3779B97F4A7C15u;
    number ^= number >> 29;
  }
  return number | 1;
}

// A long sequence, as of a recurrent network's positions, is cut each time where the first cut was
// in what it repeats, so that all parts have one plan.
[[gnu::noinline]] bool is_cut_here(Window& window, Thread& thread) {
  if (window.count_since_cut() > node_budget) return true;
  OwnerLock::Hold hold(window.lock, &thread);
  return window.cut() != 0 && window.cut() == recorded_last(window);
}
inline bool is_full(Window& window, Thread& thread) {
  if (window.costly_bytes() > byte_budget) return true;
  return window.count_since_cut() > least_part && is_cut_here(window, thread);
}

// What does not fit in memory stays pending: whoever asks for it gets the error.
[[gnu::noinline]] void evaluate_pending(Window& window, Thread& thread) {
  uint64_t last;
  {
    OwnerLock::Hold hold(window.lock, &thread);
    last = recorded_last(window);
  }
  try {
    flush();
    // Cheap values that are held keep their recipes; too many of them are computed after all.
    if (window.count() > node_budget / 2) evaluate_all();
  } catch (const Error& error) {
    if (error.code() != Code::memory) throw;
  }
  OwnerLock::Hold hold(window.lock, &thread);
  window.cut_here(last);
}

// Puts a node on the tapes that record, and, if it is pending, into the thread's window.
[[gnu::always_inline]] inline void append(const Tensor& tensor, Thread& thread) {
  Window& window = *thread.window;
  if (window.recording_tapes > 0) Tape::append_to_all(window, tensor, thread);
  if (tensor->ready()) return;
  if (eager_mode()) [[unlikely]]
    return append_and_evaluate(tensor, thread);
  window.append(tensor.node(), thread);
  if (thread.trace) return;
  if (is_full(window, thread)) evaluate_pending(window, thread);
}

inline Tensor record_node(const Op& op, Dtype dtype, const Shape& shape, Device& device,
                          Inputs&& inputs, Attributes&& attributes, const Immediates& immediates) {
  Thread& thread = current_thread();
  Tensor tensor = Tensor::adopt(
      new (thread) Node(op, dtype, shape, device, std::move(inputs), std::move(attributes)));
  tensor->immediates = immediates;
  connect(tensor.node(), thread);
  append(tensor, thread);
  return tensor;
}

}  // namespace

Tensor record(const Op& op, Dtype dtype, const Shape& shape, Inputs inputs, Attributes attributes,
              const Immediates& immediates) {
  Device& device = inputs[0].device();
  for (const Tensor& input : inputs) {
    if (&input.device() != &device) {
      fail(Code::device, "%s: operands lie on %s and %s; copy one first", op.name,
           device.name.c_str(), input.device().name.c_str());
    }
  }
  if (!(shape == inputs[0].shape()) || size_of(dtype) > size_of(inputs[0].dtype())) {
    check_shape(shape, size_of(dtype), op.name);  // broadcasting can make any size
  }
  return record_node(op, dtype, shape, device, std::move(inputs), std::move(attributes),
                     immediates);
}

namespace {

template <class... Operands>
inline Tensor record_like_first(const Op& op, Dtype dtype, const Tensor& first,
                                const Operands&... others) {
  Thread& thread = current_thread();
  FromInputs inputs;
  inputs.add(first, thread);
  (inputs.add(others, thread), ...);
  Tensor tensor =
      Tensor::adopt(new (thread) Node(op, dtype, first.shape(), first.device(),
                                      Node::InputsInPlace{}, Tensor(first), Tensor(others)...));
  connect(tensor.node(), inputs, thread);
  append(tensor, thread);
  return tensor;
}

}  // namespace

Tensor record_same_shape(const Op& op, Dtype dtype, const Tensor& x) {
  return record_like_first(op, dtype, x);
}
Tensor record_same_shape(const Op& op, Dtype dtype, const Tensor& a, const Tensor& b) {
  return record_like_first(op, dtype, a, b);
}

Tensor record_source(const Op& op, Dtype dtype, const Shape& shape, Device& device,
                     Attributes attributes, const Immediates& immediates) {
  check_shape(shape, size_of(dtype), op.name);
  return record_node(op, dtype, shape, device, {}, std::move(attributes), immediates);
}

// Another thread may be finishing `input` at this moment, which does not change a view's layout.
Layout view_layout(const Tensor& input) {
  evaluate_if_foreign(input, current_thread());
  if (input->ready() || input->op->kind == OpKind::view) return input->layout();
  return contiguous_layout(input.shape());
}

Tensor base_of_view(const Tensor& tensor) {
  if (tensor->op->kind != OpKind::view) return nullptr;
  Thread& thread = current_thread();
  evaluate_if_foreign(tensor, thread);
  OwnerLock::Hold hold(Window::current(thread).lock, &thread);
  return tensor->base;
}

bool is_untracked(const Tensor& input, Thread& thread) {
  return input->ready() && !thread.trace &&
         !(thread.records_gradients && input->requires_gradient) &&
         Window::current(thread).recording_tapes == 0;
}

Tensor untracked_view(const Op& op, const Tensor& value, const Layout& layout,
                      Attributes&& attributes, Thread& thread) {
  Node* node =
      new (thread) Node(op, value.dtype(), layout.shape, value.device(), {}, std::move(attributes));
  node->set_ready(value->storage, layout.strides, layout.offset);
  return Tensor::adopt(node);
}

Tensor record_view(const Op& op, const Tensor& input, const Layout& layout, Attributes attributes) {
  check_shape(layout.shape, size_of(input.dtype()), op.name);
  Thread& thread = current_thread();
  if (is_untracked(input, thread)) {
    return untracked_view(op, input, layout, std::move(attributes), thread);
  }
  Tensor tensor = Tensor::adopt(new (thread) Node(op, input.dtype(), layout.shape, input.device(),
                                                  {input}, std::move(attributes)));
  Node* node = tensor.node();
  node->strides = layout.strides;
  node->offset = layout.offset;
  connect(node, thread);
  if (input->ready() && !thread.trace) {
    // A view of a ready value needs no plan. (connect() may just have made it ready; a layout
    // within a base is then one within a contiguous storage.) A trace keeps the view, since its
    // input may be another value at each replay.
    node->set_ready(input->storage, layout.strides, layout.offset);
    if (!node->keeps_inputs) node->inputs.clear();
  } else {
    node->base = base_of_view(input);
    if (!node->base) node->base = input;
  }
  append(tensor, thread);
  return tensor;
}

Tensor record_value(const Op& op, Ref<Storage> storage, Dtype dtype, const Layout& layout,
                    Inputs inputs, Attributes attributes) {
  Thread& thread = current_thread();
  Tensor tensor = Tensor::adopt(new (thread) Node(op, dtype, layout.shape, storage->device(),
                                                  std::move(inputs), std::move(attributes)));
  connect(tensor.node(), thread);
  tensor->set_ready(std::move(storage), layout.strides, layout.offset);
  append(tensor, thread);
  if (!tensor->keeps_inputs) tensor->inputs.clear();
  return tensor;
}

Tensor make_leaf(Ref<Storage> storage, Dtype dtype, const Layout& layout) {
  static const Op leaf{.name = "leaf", .kind = OpKind::leaf};
  Tensor tensor = Tensor::adopt(new Node(leaf, dtype, layout.shape, storage->device()));
  tensor->set_ready(std::move(storage), layout.strides, layout.offset);
  return tensor;
}

}  // namespace mt
