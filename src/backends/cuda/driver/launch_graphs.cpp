// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver/launch_graphs.h"

#include <algorithm>
#include <exception>

#include "ops/kernel.h"

namespace mt::cuda {

bool Looked::fits(void* const* buffers) const {
  for (auto [buffer, aligned] : alignments_) {
    if (is_aligned(buffers[buffer]) != aligned) return false;
  }
  return std::all_of(seen_.begin(), seen_.end(), [&](const Seen& seen) {
    void* address = buffers[seen.buffer];
    return address == seen.address &&
           (seen.launch == 0 || static_cast<const Launch*>(address)->id == seen.launch);
  });
}

void* Buffers::launch(int i) const {
  void* address = buffers_[i];
  if (looked_) looked_->at_launch(i, address, static_cast<const Launch*>(address)->id);
  return address;
}

LaunchGraphs::~LaunchGraphs() {
  for (Entry& entry : entries_) drop(&entry);
}

LaunchGraphs::Entry* LaunchGraphs::find(void* memory, void* const* buffers) {
  for (Entry& entry : entries_) {
    if (entry.memory == memory && entry.looked.fits(buffers)) return &entry;
  }
  return nullptr;
}

void LaunchGraphs::keep(Entry entry, Stream stream) {
  stream_ = stream;
  if (entries_.size() < most) {
    entries_.push_back(std::move(entry));
    return;
  }
  drop(&entries_[next_]);
  entries_[next_] = std::move(entry);
  next_ = (next_ + 1) % most;
}

// The device may still be at it.
void LaunchGraphs::drop(Entry* entry) {
  if (!entry->graph) return;
  try {
    synchronize(stream_, "cuda graph");
  } catch (const std::exception&) {
    // Who waits for the work that failed is told.
  }
  destroy_graph(entry->graph);
  entry->graph = nullptr;
}

}  // namespace mt::cuda
