// SPDX-License-Identifier: Apache-2.0
// The commonest small thing that is asked for alone: one element-wise operator on values and
// numbers. It runs without a plan, and gives the bits that it has with one.
#pragma once

namespace mt {

class Node;
class Window;
struct Thread;

// Computes `node` if it is that; else false, and nothing has changed. The caller holds the window's
// lock, and nothing that is pending reads the node.
bool run_small_elementwise(Window& window, Node* node, Thread& thread);

}  // namespace mt
