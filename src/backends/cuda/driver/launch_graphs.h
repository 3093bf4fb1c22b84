// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of a plan that runs again and again: what its groups put into the stream is captured
// once, and from then on launched as one. Kernels find most addresses, and all numbers, in the
// block, which is copied to the device anew before each run. What else the launching code looks at
// (a kernel's own parameters, a launch of the user's) is what must be the same for a graph to
// serve.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cuda/device/vector_bytes.h"
#include "backends/cuda/driver/driver.h"

namespace mt::cuda {

inline bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % vector_bytes == 0;
}

// What one run's launching code looked at.
class Looked {
 public:
  void at(int buffer, void* address) { seen_.push_back({buffer, address, 0}); }
  // At no more than whether vectors may begin there.
  void at_alignment(int buffer, bool aligned) { alignments_.push_back({buffer, aligned}); }
  // The buffer holds a Launch, whose place another may take later.
  void at_launch(int buffer, void* address, uint64_t id) { seen_.push_back({buffer, address, id}); }
  bool fits(void* const* buffers) const;

 private:
  struct Seen {
    int buffer;
    void* address;
    uint64_t launch;
  };
  std::vector<Seen> seen_;
  std::vector<std::pair<int, bool>> alignments_;
};

// The buffers of a run, which keep account of those that are looked at.
class Buffers {
 public:
  Buffers() = default;
  Buffers(void* const* buffers, Looked* looked) : buffers_(buffers), looked_(looked) {}
  void* operator[](int i) const {
    if (looked_) looked_->at(i, buffers_[i]);
    return buffers_[i];
  }
  // One that holds a launch of the user's.
  void* launch(int i) const;
  // Whether vectors may begin where one does.
  bool aligned(int i) const {
    const bool is = is_aligned(buffers_[i]);
    if (looked_) looked_->at_alignment(i, is);
    return is;
  }

 private:
  void* const* buffers_ = nullptr;
  Looked* looked_ = nullptr;
};

// The graphs of one plan, for the few sets of addresses that it keeps coming back to. Guarded by
// the backend's mutex.
class LaunchGraphs {
 public:
  LaunchGraphs() = default;
  ~LaunchGraphs();
  LaunchGraphs(const LaunchGraphs&) = delete;

  // Calls put(stream, looked), which puts the launches of a run into that stream, or launches a
  // graph of what it put into `capturing` before: a stream of its own, since other threads may wait
  // for `stream` at any time, which would end a capture. `memory` is where the block lies.
  // `settled`: what put() does will not change any more.
  template <class Put>
  void run(Stream stream, Stream capturing, void* memory, void* const* buffers, bool settled,
           Put&& put) {
    Entry* known = find(memory, buffers);
    if (known && known->graph) return launch_graph(known->graph, stream);
    if (known && settled && !refused_) {
      Looked looked;  // generated kernels may have come since, which look at other things
      known->graph = capture(capturing, [&] { put(capturing, &looked); });
      known->looked = std::move(looked);
      if (known->graph) return launch_graph(known->graph, stream);
      refused_ = true;
    }
    Looked looked;
    put(stream, &looked);
    if (!known && !refused_) keep({memory, std::move(looked), nullptr}, stream);
  }

 private:
  struct Entry {
    void* memory = nullptr;
    Looked looked;
    LaunchGraph* graph = nullptr;  // nullptr: not captured so far
  };
  static constexpr size_t most = 4;

  // nullptr when what is put cannot be captured; then nothing has run.
  template <class Put>
  LaunchGraph* capture(Stream stream, Put&& put) {
    try {
      begin_capture(stream);
      put();
    } catch (...) {
      if (LaunchGraph* part = end_capture(stream)) destroy_graph(part);
      return nullptr;
    }
    return end_capture(stream);
  }
  Entry* find(void* memory, void* const* buffers);
  void keep(Entry entry, Stream stream);
  void drop(Entry* entry);

  std::vector<Entry> entries_;
  size_t next_ = 0;       // which one makes room
  bool refused_ = false;  // something in the plan is no part of a graph
  Stream stream_ = nullptr;
};

}  // namespace mt::cuda
