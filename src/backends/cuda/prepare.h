// SPDX-License-Identifier: Apache-2.0
// From a plan to what a run needs: the block of descriptions, and for each group how to launch it.
#pragma once

#include <functional>

#include "backends/cuda/block.h"
#include "backends/cuda/driver/launch_graphs.h"
#include "backends/cuda/kernels.h"
#include "plan/plan.h"

namespace mt::cuda {

// One run's addresses.
struct Run {
  char* block;    // of descriptions
  char* scratch;  // what remains of the plan's scratch memory
  Buffers buffers;
  const Immediates* immediates;
  Stream stream;

  template <class T>
  const T* description(int64_t at) const {
    return reinterpret_cast<const T*>(block + at);
  }
};

struct PreparedPlan {
  Block block;
  int64_t scratch = 0;                                  // bytes beside the block
  std::vector<std::function<void(const Run&)>> groups;  // one or more for each of the plan's
  std::vector<size_t> ends;  // of each of the plan's groups: what comes after its last one here
  std::vector<const char*> names;  // of what the groups run, each once
  mutable LaunchGraphs graphs;     // the backend's to guard
};

// `properties`: the device's.
std::shared_ptr<PreparedPlan> prepare_plan(const Plan& plan, int device,
                                           const Properties& properties);

}  // namespace mt::cuda
