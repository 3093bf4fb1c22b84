// SPDX-License-Identifier: Apache-2.0
// Turning pending nodes into values: the only interface between the graph and what executes it.
#pragma once

#include "base/thread.h"
#include "graph/node.h"

namespace mt {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Computes the requested nodes of `window`, and whatever else an evaluation stores; the caller
  // holds the window's lock; `thread` is the calling one. On failure throws, and nothing has
  // changed.
  virtual void evaluate(Window& window, const Tensor* tensors, size_t count, Thread& thread) = 0;
  // Computes whatever something still refers to, but for large constants, so that hardly anything
  // stays pending.
  virtual void evaluate_all(Window& window) = 0;
  // Copies `bytes` bytes at `data` of the device's memory to the host.
  virtual void read(Device& device, void* to, const void* data, size_t bytes) = 0;
};
void install_evaluator(Evaluator* evaluator);

// Returns when all tensors are ready, whichever thread recorded them.
void evaluate(const Tensor* tensors, size_t count);
void evaluate(const Tensor& tensor);
// Copies the only element of a ready tensor to the host, from whichever device.
void read_element(const Tensor& tensor, void* to);
// Evaluates the calling thread's window without asking for a value: what lasting state holds, and
// held values that are costly to recompute.
void flush();
// Computes every pending value of the calling thread that something holds.
void evaluate_held();
// The same for what histories need to compute those, but for large constants.
void evaluate_all();
// Computes a tensor that is pending on another thread, which may be finishing it at this moment.
// Afterwards the calling thread may read its node.
inline void evaluate_if_foreign(const Tensor& tensor, const Thread& thread) {
  if (!tensor->ready() && tensor->window.load(std::memory_order_acquire) != thread.window) {
    evaluate(tensor);
  }
}

}  // namespace mt
