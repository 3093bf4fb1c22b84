// SPDX-License-Identifier: Apache-2.0
#include "graph/node.h"

#include "base/thread.h"
#include "graph/variable.h"
#include "graph/window.h"

namespace mt {

Node::Node(const Op& op, Dtype dtype, const Shape& shape, Device& device, Inputs&& inputs,
           Attributes&& attributes)
    : op(&op),
      device(&device),
      shape(shape),
      dtype(dtype),
      inputs(std::move(inputs)),
      attributes(std::move(attributes)) {}

inline Node::~Node() = default;  // called here alone

void* Node::operator new(size_t) { return current_thread().nodes.take(); }
void Node::operator delete(void* memory) { current_thread().nodes.keep(memory); }
void Node::operator delete(void* memory, Thread& thread) { thread.nodes.keep(memory); }

// The holder of the only reference needs no atomic subtraction, unless another thread may find the
// node in a window. We then take the window's lock if it is ours and not nested in another's.
void Node::release_last(Thread& thread) {
  if (Window* home = window.load(std::memory_order_acquire)) {
    if (!drop_in_window(*home, thread)) return;
  } else {
    references_.store(0, std::memory_order_relaxed);
  }
  dispose(thread);
}

// Drops a reference to a node in a window; returns whether it was the last. While disposal is
// paused, an evaluation may be walking the window, so the node stays in it until it is destroyed.
[[gnu::noinline]] bool Node::drop_in_window(Window& home, Thread& thread) {
  const bool stays = thread.disposal_paused;
  if (&home == thread.window && (!stays || home.lock.is_inside())) {
    OwnerLock::Hold hold(home.lock, &thread);
    if (references() == 1 && window.load(std::memory_order_relaxed)) {
      references_.store(0, std::memory_order_relaxed);
      if (!stays) home.remove(this);
      return true;
    }
  }
  return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void Node::release_last() { release_last(current_thread()); }
void Node::dispose() { dispose(current_thread()); }

void Node::destroy(Thread& thread) {
  if (Window* home = window.load(std::memory_order_acquire)) [[unlikely]] {
    OwnerLock::Hold hold(home->lock, &thread);
    if (window.load(std::memory_order_relaxed)) home->remove(this);
  }
  if (Storage* value = storage.disown()) value->release(thread);
  this->~Node();
  thread.nodes.keep(this);
}

// A chain of a million nodes needs no deep stack: those that die while another is being destroyed
// wait for it.
void Node::dispose(Thread& thread) {
  if (thread.disposal_paused) {
    next_dying = thread.dying;
    thread.dying = this;
    return;
  }
  DisposalPause pause(thread);
  destroy(thread);
}

void DisposalPause::destroy_waiting(Thread& thread) {
  while (Node* node = thread.dying) {
    thread.dying = node->next_dying;
    node->destroy(thread);
  }
}

}  // namespace mt
