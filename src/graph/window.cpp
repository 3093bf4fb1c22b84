// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

#include <mutex>

#include "graph/tape.h"

namespace mt {
namespace {

std::mutex& pool_mutex() {
  static std::mutex* mutex = new std::mutex;  // outlives every thread
  return *mutex;
}
std::vector<Window*>& pool() {
  static auto* windows = new std::vector<Window*>;
  return *windows;
}
size_t made = 0;  // windows made so far

}  // namespace

Window& Window::lease(Thread& thread) {
  struct Lease {
    Window* window;
    explicit Lease(Thread& thread) {
      {
        std::lock_guard lock(pool_mutex());
        if (pool().empty()) {
          pool().reserve(made + 1);  // so that returning it when the thread ends cannot fail
          window = new Window;
          ++made;
        } else {
          window = pool().back();
          pool().pop_back();
        }
      }
      window->lock.set_owner(&thread);
      thread.window = window;
      thread.nodes.open();
      thread.storages.open();
    }
    ~Lease() {
      Thread& thread = current_thread();
      thread.nodes.close();
      thread.storages.close();
      Tape::end_all(*window);  // so that they do not record the next thread
      window->lock.set_owner(nullptr);
      std::lock_guard lock(pool_mutex());
      pool().push_back(window);
    }
  };
  thread_local Lease lease(thread);
  return *lease.window;
}

}  // namespace mt
