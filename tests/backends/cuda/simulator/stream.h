// SPDX-License-Identifier: Apache-2.0
// A simulated stream: what is put into it has ended when the call returns, unless the stream is
// being captured, when it only becomes part of a graph.
#pragma once

#include <functional>
#include <string>
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

// What tests, which load the simulator, look up by name (tests/backends/cuda/simulated.h).
extern int graph_launches;       // so far
extern int stream_waits;         // of one stream for another
extern int device_waits;         // for all work on a device
extern std::string failed_work;  // what the next wait for a stream finds; empty: nothing

}  // namespace grid
