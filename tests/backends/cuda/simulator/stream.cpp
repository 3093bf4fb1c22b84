// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/simulator/stream.h"

#include "backends/cuda/simulator/memory.h"

// What the tests know the simulator by.
extern "C" {
extern const int mt_cuda_simulator;
const int mt_cuda_simulator = 1;
}

namespace grid {
namespace {

thread_local int device_used = 0;

}  // namespace

int graph_launches = 0, peer_copies = 0, stream_waits = 0, device_waits = 0;
bool peers = true;
bool units_truncate = false;
double clock = 0;
std::string fast_work, failed_work;

void use_device(int device) { device_used = device; }
int device_in_use() { return device_used; }

void submit(CUstream_st* stream, const char* name, std::function<void()> work) {
  clock += name == fast_work ? 1 : 10;
  if (!stream) return work();
  if (stream->device != device_used) {
    throw Fault(std::string(name) + ": a stream of device " + std::to_string(stream->device) +
                ", while this thread uses device " + std::to_string(device_used));
  }
  for (auto [other, count] : stream->owed) {
    if (stream->seen[other] < count) {
      throw Fault(std::string(name) + ": in the place of what may still be copied");
    }
  }
  ++stream->count;
  if (stream->capturing) {
    stream->captured.push_back(std::move(work));
  } else {
    stream->in_use = true;
    work();
  }
}

}  // namespace grid
