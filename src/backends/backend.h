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

// Who is told when each group of a plan begins and ends.
class GroupWatch {
 public:
  virtual ~GroupWatch() = default;
  virtual void begins(size_t group) = 0;
  virtual void ends(size_t group) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  // What it runs on, in words.
  virtual std::string description() const = 0;
  // Whether it has kernels of their own for contractions in a mode other than strict.
  virtual bool has_kernels_for(Precision) const { return false; }
  // A number that changes when plans made before no longer fit (the number of threads, say).
  virtual uint64_t configuration() const = 0;
  // Makes a new plan ready to run: sets its scratch_bytes, and what else the backend keeps with it.
  // The plan's groups will not move or change any more.
  virtual void prepare(Plan* plan) = 0;
  // Runs the plan's groups in order. buffers[i] is the memory of plan.buffers[i]; all memory is
  // there, so that running cannot fail for want of it. If there is a watch, it is told of each
  // group, and its device waited for after each, so that the times between are the groups'.
  virtual void run(const Plan& plan, void* const* buffers, const Immediates* immediates,
                   void* scratch, GroupWatch* watch) = 0;
  // Runs one element-wise operator on operands of `dtype` without a plan, if the types need no
  // conversion; returns whether it did. There are two operands, an only one twice; `count` is at
  // most small_count.
  virtual bool run_small(const Op& op, Dtype dtype, const SmallOperand* operands, void* output,
                         int64_t count) = 0;
  static constexpr int64_t small_count = 16384;
  // How many panels of rows (ops/order.h) it takes for totals to be worth making beside what the
  // rows are for, each panel by itself; 0: row groups have no totals.
  virtual int64_t panels_for_totals() const { return 0; }
  // How many elements the rows of a row group of so many may have: registers hold whole rows.
  virtual int64_t longest_row(int64_t /*rows*/) const { return row_panel; }
  // Of how many bytes an entry of a contraction's second operand may be for its padding, which
  // nobody else reads, to be made as it is read; 0: never.
  virtual int64_t most_padding_made() const { return 0; }
  // Whether element-wise groups may read padded operands (Memory::margins).
  virtual bool reads_padded() const { return false; }
  // Makes a kernel of the user's own ready for a launch on tensors of these types; fails when it
  // does not fit. Where there is nothing to compile it needs a function.
  virtual void prepare_kernel(Launch* launch, const std::vector<Dtype>& inputs);
  // Work of other libraries on the same device, which they put into streams of theirs
  // (cudaStream_t): the stream of ours, nullptr where there is none; ours waits for what is in
  // another now; another waits for what is in ours now; and the host waits, for ours or for all
  // that is on the device.
  virtual void* stream() { return nullptr; }
  virtual void wait_for_stream(void*) {}
  virtual void let_stream_wait(void*) {}
  virtual void finish(bool others) { static_cast<void>(others); }
  virtual void copy_from_host(void* target, const void* source, size_t bytes) = 0;
  virtual void copy_to_host(void* target, const void* source, size_t bytes) = 0;
  // Copies from another device's memory, after what is under way there, and before what comes next.
  // False where there is no such way: then it has to pass through the host.
  virtual bool copy_from(Backend&, void* /*target*/, const void* /*source*/, size_t /*bytes*/) {
    return false;
  }
};

}  // namespace mt
