// SPDX-License-Identifier: Apache-2.0
// A simulated stream: what is put into it has ended when the call returns, unless the stream is
// being captured, when it only becomes part of a graph.
#pragma once

#include <functional>
#include <vector>

struct CUstream_st {
  int device = 0;
  bool capturing = false;
  std::vector<std::function<void()>> captured;
};

namespace grid {

// A stream takes work while its own device is the calling thread's, as with CUDA. The null stream
// takes all.
void use_device(int device);
void submit(CUstream_st* stream, const char* name, std::function<void()> work);

}  // namespace grid
