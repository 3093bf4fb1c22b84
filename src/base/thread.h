// SPDX-License-Identifier: Apache-2.0
// What the library keeps for each thread, in one place: a shared library looks a thread's variable
// up by a call, which recording an operator should make once.
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
  // Nodes that wait to be destroyed, chained, and whether they must: see DisposalPause.
  bool disposal_paused = false;
  Node* dying = nullptr;
  // Recording must be cheap: memory of dead nodes, and of small values, is kept. It is opened by
  // the thread's window.
  FreeList<Node, 512> nodes;
  FreeList<Storage, 256> storages;

  // The C boundary's, whose types only it knows: the pending error, the innermost scope and those
  // to be used again, chained by `outer`, and memory of handles, which live about as long as the
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
  __asm__("" : "+r"(thread));  // or the compiler looks it up again rather than keep it
  return *thread;
}

}  // namespace mt
