// SPDX-License-Identifier: Apache-2.0
// What executes plans. The interface does not grow with operators.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ops/order.h"
#include "plan/plan.h"
#include "tensor/device.h"

namespace mt {

struct Launch;  // ops/kernel.h

// A contiguous operand of a small evaluation.
struct SmallOperand {
  const void* data;
  bool repeated;  // one element, read for all
};

// Observes when each group of a plan begins and ends.
class GroupWatch {
 public:
  virtual ~GroupWatch() = default;
  virtual void begins(size_t group) = 0;
  virtual void ends(size_t group) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // The hardware it runs on, in words.
  virtual std::string description() const = 0;
  // Whether it has dedicated kernels for contractions in this mode, other than strict.
  virtual bool has_kernels_for(Precision) const { return false; }
  // A number that changes when existing plans no longer fit (the number of threads changed, say).
  virtual uint64_t configuration() const = 0;
  // Prepares a new plan: sets its scratch_bytes and whatever else the backend keeps with it. The
  // plan's groups neither move nor change afterwards.
  virtual void prepare(Plan* plan) = 0;
  // Runs the plan's groups in order. buffers[i] is the memory of plan.buffers[i]; all memory is
  // there, so that running cannot fail for lack of it. A watch, if any, is told of each group, and
  // the device waited for after each, so that the times in between are the groups' own.
  virtual void run(const Plan& plan, void* const* buffers, const Immediates* immediates,
                   void* scratch, GroupWatch* watch) = 0;
  // Runs one element-wise operator on operands of `dtype` without a plan, if the types need no
  // conversion; returns whether it did. `operands` has two entries, the same one twice for a unary
  // operator; `count` is at most small_count.
  virtual bool run_small(const Op& op, Dtype dtype, const SmallOperand* operands, void* output,
                         int64_t count) = 0;
  static constexpr int64_t small_count = 16384;
  // Fewest row panels (ops/order.h) for which accumulating column totals beside a row group pays,
  // each panel separately; 0: row groups have no totals.
  virtual int64_t panels_for_totals() const { return 0; }
  // Longest row, in elements, of a row group with that many rows: registers hold whole rows.
  virtual int64_t longest_row(int64_t /*rows*/) const { return row_panel; }
  // Largest batch entry, in bytes, of a contraction's second operand whose padding, read by nothing
  // else, is generated as it is read; 0: never.
  virtual int64_t most_padding_made() const { return 0; }
  // Whether element-wise groups may read padded operands (Memory::margins).
  virtual bool reads_padded() const { return false; }
  // Prepares a user-defined kernel for a launch on tensors of these types; fails if it does not
  // fit. A backend that compiles nothing needs the kernel to have a function.
  virtual void prepare_kernel(Launch* launch, const std::vector<Dtype>& inputs);
  // For other libraries that work on the same device in streams of their own (cudaStream_t): the
  // backend's stream; nullptr if it has none.
  virtual void* stream() { return nullptr; }
  // Makes the backend's stream wait for the work now in another stream.
  virtual void wait_for_stream(void*) {}
  // Makes another stream wait for the work now in the backend's stream.
  virtual void let_stream_wait(void*) {}
  // Makes the host wait for the backend's stream or, if `others`, for all work on the device.
  virtual void finish(bool others) { static_cast<void>(others); }
  virtual void copy_from_host(void* target, const void* source, size_t bytes) = 0;
  virtual void copy_to_host(void* target, const void* source, size_t bytes) = 0;
  // Copies from another device's memory, after the work under way there and before what comes next.
  // Returns false if there is no direct path: the copy must then go through the host.
  virtual bool copy_from(Backend&, void* /*target*/, const void* /*source*/, size_t /*bytes*/) {
    return false;
  }
};

}  // namespace mt
