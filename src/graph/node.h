// SPDX-License-Identifier: Apache-2.0
// A node of the deferred graph, which is also the tape: an operator, its inputs, and its value once
// that has been computed. `Tensor` is the value type everybody passes around.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ref.h"
#include "base/relaxed.h"
#include "base/small_vector.h"
#include "base/thread.h"
#include "graph/op.h"
#include "tensor/dtype.h"
#include "tensor/layout.h"
#include "tensor/storage.h"

namespace mt {

class Window;
class Variable;

class Tensor {
 public:
  Tensor() = default;
  Tensor(std::nullptr_t) {}
  explicit Tensor(Node* node) : node_(node) {}
  // Takes over a reference that the caller owns: a new node's first.
  static Tensor adopt(Node* node) {
    Tensor result;
    result.node_ = Ref<Node>::adopt(node);
    return result;
  }

  // Gives up its reference, for the caller to release.
  Node* disown() { return node_.disown(); }

  explicit operator bool() const { return static_cast<bool>(node_); }
  Node* node() const { return node_.get(); }
  Node* operator->() const { return node_.get(); }

  inline const Shape& shape() const;
  inline int rank() const;
  inline int64_t size() const;
  inline Dtype dtype() const;
  inline Device& device() const;
  inline bool requires_gradient() const;

 private:
  Ref<Node> node_;
};

template <>
inline constexpr bool is_relocatable<Tensor> = true;

using Inputs = SmallVector<Tensor, 3>;
using Attributes = SmallVector<int64_t, 6>;

// Numbers that take no part in planning, so that one plan serves for any of them.
struct Immediates {
  uint64_t value[2] = {0, 0};
};

enum class State : uint8_t { pending, ready };

// Who needs a node's inputs besides its own evaluation; guarded by a mutex in graph/history.cpp.
struct HistoryUse {
  bool forgotten = false;  // after a backward: no gradient passes here any more
  int32_t tapes = 0;       // tapes still alive that show it with its inputs
  int32_t walks = 0;       // histories being walked that hold it
};

class Node {
 public:
  const Op* op;
  Device* device;
  Shape shape;
  Dtype dtype;
  Relaxed<bool> requires_gradient = false;
  bool is_plain_number = false;       // takes the other operand's dtype
  bool is_broadcast_product = false;  // keeps its operands all its life: a sum may want them
  // Keeps its inputs once ready, for gradients, live tapes or sums; guarded by the window's lock.
  bool keeps_inputs = false;
  uint8_t times_computed = 0;  // in evaluations that did not store it; counts to 2
  bool reads_pending = false;  // it had an input that was pending when it was recorded
  HistoryUse history_use;
  Inputs inputs;
  Attributes attributes;
  Immediates immediates;

  // The value. Ready: elements of `storage`. A pending view: elements of `base`, which will be
  // contiguous (or, in a trace, of the storage of a `base` that is ready). Other pending nodes:
  // unset.
  Strides strides;
  int64_t offset = 0;
  Ref<Storage> storage;
  Tensor base;

  // Where the gradient is collected, when this is the current value of a leaf.
  Ref<Variable> variable;

  // Made with one reference, which its maker adopts.
  Node(const Op& op, Dtype dtype, const Shape& shape, Device& device, Inputs&& inputs = {},
       Attributes&& attributes = {});
  // The same, with the inputs constructed in place; for graph/record.cpp.
  struct InputsInPlace {};
  template <class... Operands>
  Node(const Op& op, Dtype dtype, const Shape& shape, Device& device, InputsInPlace,
       Operands&&... operands);
  Node(const Node&) = delete;
  ~Node();
  static void* operator new(size_t size);
  static void* operator new(size_t, Thread& thread) { return thread.nodes.take(); }
  static void operator delete(void* memory);
  static void operator delete(void* memory, Thread& thread);

  bool ready() const { return state_.load(std::memory_order_acquire) == State::ready; }
  Layout layout() const { return {shape, strides, offset}; }
  void* data() const {
    return static_cast<char*>(storage->data()) + offset * static_cast<int64_t>(size_of(dtype));
  }
  int64_t bytes() const { return element_count(shape) * static_cast<int64_t>(size_of(dtype)); }

  // Gives a node its value; only for nodes that are in no window. A view has its layout already.
  void set_ready(Ref<Storage> value, const Strides& value_strides, int64_t value_offset) {
    strides = value_strides;
    offset = value_offset;
    set_ready(std::move(value));
  }
  void set_ready(Ref<Storage> value) {
    storage = std::move(value);
    state_.store(State::ready, std::memory_order_release);
  }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references() == 1) {
      release_last();
    } else if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      dispose();
    }
  }
  void release(Thread& thread) {
    if (references() == 1) {
      release_last(thread);
    } else if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      dispose(thread);
    }
  }
  // For a node found in a window, whose lock the caller holds: another thread may be about to
  // dispose of it.
  bool retain_if_alive() {
    int32_t count = references_.load(std::memory_order_relaxed);
    while (count > 0 && !references_.compare_exchange_weak(count, count + 1)) {
    }
    return count > 0;
  }
  // Acquire: whatever was done through references that are gone is visible.
  int32_t references() const { return references_.load(std::memory_order_acquire); }

  // Guarded by the window's lock and meaningful only while pending, except next_dying (dispose()).
  std::atomic<Window*> window{nullptr};
  Node* previous = nullptr;
  Node* next = nullptr;
  Node* next_dying = nullptr;
  int32_t pending_uses = 0;  // references held by pending nodes
  int32_t mark = 0;          // scratch for passes over the window

  // While pending: how many StateCells hold this value. Once ready, only note_state() changes it.
  std::atomic<int32_t> state_slots{0};

 private:
  void release_last();
  void release_last(Thread& thread);
  bool drop_in_window(Window& home, Thread& thread);
  void dispose();
  void dispose(Thread& thread);
  void destroy(Thread& thread);

  friend class DisposalPause;
  std::atomic<int32_t> references_{1};
  std::atomic<State> state_{State::pending};
};

// While one exists, nodes that die on this thread are destroyed only at its end. It goes around a
// window's lock, because destroying a node may take another's or call the owner of borrowed memory.
class DisposalPause {
 public:
  explicit DisposalPause(Thread& thread = current_thread())
      : thread_(thread), outermost_(!thread.disposal_paused) {
    thread.disposal_paused = true;
  }
  ~DisposalPause() {
    if (!outermost_) return;
    if (thread_.dying) [[unlikely]]
      destroy_waiting(thread_);
    thread_.disposal_paused = false;
  }
  DisposalPause(const DisposalPause&) = delete;

 private:
  static void destroy_waiting(Thread& thread);

  Thread& thread_;
  bool outermost_;
};

inline const Shape& Tensor::shape() const { return node_->shape; }
inline int Tensor::rank() const { return node_->shape.rank(); }
inline int64_t Tensor::size() const { return element_count(node_->shape); }
inline Dtype Tensor::dtype() const { return node_->dtype; }
inline Device& Tensor::device() const { return *node_->device; }
inline bool Tensor::requires_gradient() const {
  if (!node_) __builtin_unreachable();  // else gcc 12 warns of a flag at address 0
  return node_->requires_gradient;
}

}  // namespace mt
