// SPDX-License-Identifier: Apache-2.0
// Fast path for the commonest small evaluation: one element-wise operator on ready values and
// numbers. It runs without a plan, and gives the same bits as with one.
#pragma once

namespace mt {

class Node;
class Window;
struct Thread;

// Computes `node` if it is such an operator; else returns false, and nothing has changed. The
// caller holds the window's lock, and no pending node reads `node`.
bool run_small_elementwise(Window& window, Node* node, Thread& thread);

}  // namespace mt
