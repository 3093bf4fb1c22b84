// SPDX-License-Identifier: Apache-2.0
// All that the library keeps per thread, in one place: in a shared library, finding a thread_local
// variable takes a call, which recording an operator should make only once.
#pragma once

#include <cstdint>

#include "base/free_list.h"

struct mt_scope;
struct mt_tensor;

namespace mt {

class Node;
class Storage;
class TraceLog;
class Window;

struct Thread {
  Window* window = nullptr;  // Window::current(), once it has been asked for
  TraceLog* trace = nullptr;
  bool records_gradients = true;
  // Gradients are being recorded that have gradients themselves: what depends on something through
  // comparisons alone counts as depending on it, with a slope of zero.
  bool records_slopes = false;
  // Whether dead nodes must wait to be destroyed, and the list of those that do: see DisposalPause.
  bool disposal_paused = false;
  Node* dying = nullptr;
  // Memory of dead nodes and storages, kept because recording must be cheap; small values lie
  // inside their storage. The thread's window opens the lists.
  FreeList<Node, 512> nodes;
  FreeList<Storage, 256> storages;

  // For the C boundary, which alone knows these types: the pending error, the innermost scope,
  // spare scopes (chained by `outer`), and memory of handles, which live hardly longer than the
  // call that follows.
  int32_t error = 0;
  mt_scope* scope = nullptr;
  mt_scope* spare_scopes = nullptr;
  FreeList<mt_tensor, 1024> handles;
};

// Trivially built and destroyed, so that reaching it costs no check.
inline constinit thread_local Thread this_thread;

inline Thread& current_thread() {
  Thread* thread = &this_thread;
  __asm__("" : "+r"(thread));  // keeps the compiler from looking it up again
  return *thread;
}

}  // namespace mt
