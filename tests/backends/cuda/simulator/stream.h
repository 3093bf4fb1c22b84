// SPDX-License-Identifier: Apache-2.0
// A simulated stream: what is put into it has ended when the call returns, unless the stream is
// being captured, when it only becomes part of a graph.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct CUstream_st {
  explicit CUstream_st(int of) : device(of) {}

  int device;
  bool capturing = false;
  bool in_use = false;  // it has had work of its own, for which any thread may wait at any time
  std::vector<std::function<void()>> captured;
  // How much has been put into it; how much of others it has waited for, and must have before any
  // more is put into it.
  size_t count = 0;
  std::map<CUstream_st*, size_t> seen, owed;
};

namespace grid {

// A stream takes work while its own device is the calling thread's, as with CUDA. The null stream
// takes all.
void use_device(int device);
int device_in_use();
// One of the devices is of a newer kind than the oldest that serve.
constexpr int hopper = 1;
constexpr size_t most_shared_bytes(int device) { return device == hopper ? 227 << 10 : 99 << 10; }
void submit(CUstream_st* stream, const char* name, std::function<void()> work);

// What tests, which load the simulator, look up by name (tests/backends/cuda/simulated.h).
extern int graph_launches;       // so far
extern int peer_copies;          // from one device to the other, so far
extern bool peers;               // whether these are possible
extern int stream_waits;         // of one stream for another
extern int device_waits;         // for all work on a device
extern bool units_truncate;      // matrix units cut sums off, as those of GPUs
extern double clock;             // microseconds: of a launch 10, or 1 when it is fast_work
extern std::string fast_work;    // the name of the kernel that is faster than others
extern std::string failed_work;  // what the next wait for a stream finds; empty: nothing

}  // namespace grid
