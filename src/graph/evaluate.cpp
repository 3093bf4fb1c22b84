// SPDX-License-Identifier: Apache-2.0
#include "graph/evaluate.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/before_work.h"
#include "base/error.h"
#include "graph/window.h"

namespace mt {
namespace {

std::atomic<Evaluator*> installed{nullptr};

Evaluator& evaluator() {
  Evaluator* result = installed.load(std::memory_order_acquire);
  if (!result) fail(Code::unsupported, "evaluate: no evaluator is installed");
  return *result;
}

[[noreturn]] void fail_in_trace() {
  fail(Code::trace,
       "a value is asked for inside a trace, which only records operators; to choose by a value, "
       "use where");
}

// The caller holds the window's lock.
inline void evaluate_in(Window& window, const Tensor* tensors, size_t count, Thread& thread) {
  if (window.tracing) fail(Code::trace, "a value is asked for while another thread traces it");
  window.forget_cut();
  evaluator().evaluate(window, tensors, count, thread);
}

}  // namespace

void install_evaluator(Evaluator* evaluator) { installed.store(evaluator); }

void evaluate(const Tensor& tensor) {
  Thread& thread = current_thread();
  if (thread.trace) fail_in_trace();
  if (!tensor || tensor->ready()) return;
  Window* window = tensor->window.load(std::memory_order_acquire);
  if (!window) return;  // another thread has just made it ready
  DisposalPause pause(thread);
  OwnerLock::Hold hold(window->lock, &thread);
  if (!tensor->ready()) evaluate_in(*window, &tensor, 1, thread);
}

void evaluate(const Tensor* tensors, size_t count) {
  Thread& thread = current_thread();
  if (thread.trace) fail_in_trace();
  for (size_t i = 0; i < count; ++i) {
    if (!tensors[i] || tensors[i]->ready()) continue;
    Window* window = tensors[i]->window.load(std::memory_order_acquire);
    if (!window) continue;
    DisposalPause pause(thread);
    OwnerLock::Hold hold(window->lock, &thread);
    auto is_here = [&](const Tensor& tensor) { return tensor && tensor->window.load() == window; };
    if (std::all_of(tensors, tensors + count, is_here)) {
      return evaluate_in(*window, tensors, count, thread);
    }
    SmallVector<Tensor, 8> requested;
    for (size_t j = i; j < count; ++j) {
      if (is_here(tensors[j])) requested.push_back(tensors[j]);
    }
    if (!requested.empty()) evaluate_in(*window, requested.data(), requested.size(), thread);
  }
}

void read_element(const Tensor& tensor, void* to) {
  if (!tensor.device().host_memory) before_work();
  evaluator().read(tensor.device(), to, tensor->data(), size_of(tensor.dtype()));
}

void flush() {
  Thread& thread = current_thread();
  Window& window = Window::current(thread);
  DisposalPause pause(thread);
  OwnerLock::Hold hold(window.lock, &thread);
  if (window.first() && !thread.trace) evaluator().evaluate(window, nullptr, 0, thread);
}

void evaluate_all() {
  Thread& thread = current_thread();
  Window& window = Window::current(thread);
  DisposalPause pause(thread);
  OwnerLock::Hold hold(window.lock, &thread);
  if (window.first() && !thread.trace) evaluator().evaluate_all(window);
}

namespace {

void collect_held(Window& window, std::vector<Tensor>* held) {
  held->reserve(window.count());
  for (Node* node = window.first(); node; node = node->next) {
    if (node->references() <= node->pending_uses || !node->retain_if_alive()) continue;
    held->push_back(Tensor::adopt(node));
  }
}

}  // namespace

void evaluate_held() {
  Thread& thread = current_thread();
  Window& window = Window::current(thread);
  std::vector<Tensor> held;
  {
    OwnerLock::Hold lock(window.lock, &thread);
    collect_held(window, &held);
  }
  evaluate(held.data(), held.size());
}

}  // namespace mt
