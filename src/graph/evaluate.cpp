// SPDX-License-Identifier: Apache-2.0
#include "graph/evaluate.h"

#include <atomic>

#include "graph/trace_log.h"
#include "graph/window.h"
#include "tensor/error.h"

namespace mt {
namespace {

std::atomic<Evaluator*> installed{nullptr};

Evaluator& evaluator() {
  Evaluator* result = installed.load(std::memory_order_acquire);
  if (!result) fail(Code::unsupported, "evaluate: no evaluator is installed");
  return *result;
}

}  // namespace

void install_evaluator(Evaluator* evaluator) { installed.store(evaluator); }

void evaluate(const Tensor* tensors, size_t count) {
  if (TraceLog::current()) {
    fail(Code::trace,
         "a value is asked for inside a trace, which only records operators; "
         "to choose by a value, use where");
  }
  for (size_t i = 0; i < count; ++i) {
    if (!tensors[i] || tensors[i]->ready()) continue;
    Window* window = tensors[i]->window.load();
    if (!window) continue;  // another thread has just made it ready
    DisposalPause pause;
    std::lock_guard lock(window->mutex);
    if (window->tracing) fail(Code::trace, "a value is asked for while another thread traces it");
    SmallVector<Tensor, 8> requested;
    for (size_t j = i; j < count; ++j) {
      if (tensors[j] && tensors[j]->window.load() == window) requested.push_back(tensors[j]);
    }
    if (!requested.empty()) evaluator().evaluate(*window, requested.data(), requested.size());
  }
}

void flush() {
  Window& window = Window::current();
  DisposalPause pause;
  std::lock_guard lock(window.mutex);
  if (window.first() && !TraceLog::current()) evaluator().evaluate(window, nullptr, 0);
}

namespace {

void hold(Window& window, std::vector<Tensor>* held) {
  for (Node* node = window.first(); node; node = node->next) {
    if (node->references() <= node->pending_uses || !node->retain_if_alive()) continue;
    held->push_back(Tensor(node));
    node->release();
  }
}

}  // namespace

void settle() {
  Window& window = Window::current();
  std::vector<Tensor> held;
  {
    std::lock_guard lock(window.mutex);
    hold(window, &held);
  }
  evaluate(held.data(), held.size());
}

void bring_here(const Tensor& tensor) {
  if (!tensor->ready() && tensor->window.load() != &Window::current()) evaluate(tensor);
}

}  // namespace mt
