// SPDX-License-Identifier: Apache-2.0
// The launchers of operators that run by themselves; call.cpp lists them. Each is given the group,
// for its shapes, and the same group as the device sees it.
#pragma once

#include "backends/cuda/device/views.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/launch_graphs.h"
#include "plan/plan.h"

namespace mt::cuda {

struct Call {
  const CallGroup& group;
  const CallView* view;
  char *input, *output;  // where the first input and the output lie
  char* scratch;
  Stream stream;
  Buffers buffers;
  const Properties& device;
};

// attention.cu, attention_gradient.cu
void launch_attention(const Call& call);
void launch_attention_gradient(const Call& call);
int64_t attention_gradient_scratch(const CallGroup& group);
// index/move.cu
void launch_gather(const Call& call);
void launch_take_along_axis(const Call& call);
void launch_concat(const Call& call);
void launch_pad(const Call& call);
void launch_overlay(const Call& call);
// index/scatter.cu
void launch_scatter(const Call& call);
void launch_add_along_axis(const Call& call);
void launch_last_writer(const Call& call);
int64_t scatter_scratch(const CallGroup& group);
int64_t add_along_axis_scratch(const CallGroup& group);
int64_t last_writer_scratch(const CallGroup& group);
// index/fold.cu
void launch_fold(const Call& call);
// index/argmax.cu
void launch_argmax(const Call& call);
void launch_argmin(const Call& call);
// index/sort.cu
void launch_argsort(const Call& call);
void launch_sort(const Call& call);
int64_t argsort_scratch(const CallGroup& group);  // sort, too
void launch_searchsorted(const Call& call);
// index/scan.cu
void launch_cumulative_sum(const Call& call);
void launch_recurrence(const Call& call);
void launch_nonzero(const Call& call);
int64_t nonzero_scratch(const CallGroup& group);

// Sorts rows of positions by the keys they show; stable. `positions` and `spare` hold rows * length
// each; the result is in the one that is returned.
int64_t* sort_positions(const char* keys, Dtype dtype, int64_t rows, int64_t length,
                        bool descending, int64_t* positions, int64_t* spare, Stream stream);

constexpr int call_threads = 256;
inline unsigned call_blocks(int64_t count) {
  return static_cast<unsigned>((count + call_threads - 1) / call_threads);
}

}  // namespace mt::cuda
