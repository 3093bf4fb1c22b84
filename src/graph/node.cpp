// SPDX-License-Identifier: Apache-2.0
#include "graph/node.h"

#include "graph/variable.h"
#include "graph/window.h"
#include "tensor/thread.h"

namespace mt {

Node::Node(const Op& op, Dtype dtype, const Shape& shape, Device& device, Inputs&& inputs,
           Attributes&& attributes)
    : op(&op),
      device(&device),
      shape(shape),
      dtype(dtype),
      inputs(std::move(inputs)),
      attributes(std::move(attributes)) {}

Node::~Node() = default;

void* Node::operator new(size_t) { return current_thread().nodes.take(); }
void* Node::operator new(size_t, Thread& thread) { return thread.nodes.take(); }
void Node::operator delete(void* memory) { current_thread().nodes.keep(memory); }
void Node::operator delete(void* memory, Thread& thread) { thread.nodes.keep(memory); }

// Whoever holds the only reference needs no atomic subtraction, unless a window's lock lets another
// thread find the node there. That lock is ours to take, without nesting, if the window is.
void Node::release_last(Thread& thread) {
  if (Window* home = window.load(std::memory_order_acquire)) {
    bool alone = false;
    if (home == thread.window && !thread.disposal_paused) {
      OwnerLock::Hold hold(home->lock, &thread);
      alone = references() == 1 && window.load(std::memory_order_relaxed);
      if (alone) {
        references_.store(0, std::memory_order_relaxed);
        home->remove(this);
      }
    }
    if (!alone && references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  } else {
    references_.store(0, std::memory_order_relaxed);
  }
  dispose(thread);
}

void Node::release_last() { release_last(current_thread()); }
void Node::dispose() { dispose(current_thread()); }

// A chain of a million nodes needs no deep stack: those that die while another is being destroyed
// wait for it.
void Node::dispose(Thread& thread) {
  DisposalPause pause(thread);
  next_dying = thread.dying;
  thread.dying = this;
}

void DisposalPause::destroy_waiting() {
  while (Node* node = thread_.dying) {
    thread_.dying = node->next_dying;
    if (Window* window = node->window.load(std::memory_order_acquire)) {
      OwnerLock::Hold hold(window->lock, &thread_);
      if (node->window.load(std::memory_order_relaxed)) window->remove(node);
    }
    if (Storage* value = node->storage.disown()) value->release(thread_);
    node->~Node();
    thread_.nodes.keep(node);
  }
}

}  // namespace mt
