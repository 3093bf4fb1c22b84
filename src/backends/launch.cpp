// SPDX-License-Identifier: Apache-2.0
#include "backends/launch.h"

#include <atomic>

#include "backends/backend.h"
#include "base/error.h"
#include "base/rounding.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "graph/trace_log.h"
#include "ops/ops.h"

namespace mt {
namespace {

constexpr int64_t alignment = 256;  // of each result if there are several

// Reports what cannot be launched the same way on every device, rather than with a GPU's own error.
void check_launch(const Launch& launch) {
  const char* name = launch.kernel->name.c_str();
  auto text = [](const int64_t sizes[3]) {
    return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " +
           std::to_string(sizes[2]);
  };
  auto within = [&](const int64_t sizes[3], const int64_t most[3], const char* what) {
    for (int d = 0; d < 3; ++d) {
      if (sizes[d] >= 1 && sizes[d] <= most[d]) continue;
      fail(Code::invalid, "%s: a %s of %s; 1 to %s are possible", name, what, text(sizes).c_str(),
           text(most).c_str());
    }
  };
  within(launch.grid, most_blocks, "grid");
  within(launch.block, most_block_sizes, "block");
  int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > most_block_threads) {
    fail(Code::invalid, "%s: a block of %s has %lld threads; at most %lld", name,
         text(launch.block).c_str(), static_cast<long long>(threads),
         static_cast<long long>(most_block_threads));
  }
  if (launch.shared_bytes < 0) {
    fail(Code::invalid, "%s: %lld bytes of shared memory", name,
         static_cast<long long>(launch.shared_bytes));
  }
}

// Sets where each result begins in the value of the call; returns the bytes of all.
int64_t place_results(Launch* launch) {
  int64_t bytes = 0;
  for (Launch::Result& result : launch->results) {
    check_shape(result.shape, size_of(result.dtype), launch->kernel->name.c_str());
    result.byte = bytes;
    __int128 end =
        __int128{element_count(result.shape)} * static_cast<int64_t>(size_of(result.dtype));
    end = round_up(bytes + end, alignment);
    if (end > INT64_MAX / 2) {
      fail(Code::shape, "%s: results too large to address", launch->kernel->name.c_str());
    }
    bytes = static_cast<int64_t>(end);
  }
  return bytes;
}

// A tensor without elements that keeps the launch alive.
Tensor carrier_of(std::shared_ptr<Launch> launch, Device& device) {
  static std::atomic<uint64_t> next_id{1};
  launch->id = next_id.fetch_add(1, std::memory_order_relaxed);
  auto kept = std::make_unique<std::shared_ptr<Launch>>(std::move(launch));
  Ref<Storage> storage = Storage::borrow(
      device, kept->get(), 0,
      [](void* user) { delete static_cast<std::shared_ptr<Launch>*>(user); }, kept.get());
  kept.release();
  return make_leaf(std::move(storage), Dtype::uint8, contiguous_layout({0}));
}

}  // namespace

void Backend::prepare_kernel(Launch* launch, const std::vector<Dtype>&) {
  if (launch->kernel->has_function) return;
  fail(Code::unsupported, "%s: the kernel is for a GPU; it has no function for the CPU",
       launch->kernel->name.c_str());
}

std::vector<Tensor> launch_kernel(std::shared_ptr<Launch> launch, Device& device,
                                  const std::vector<Tensor>& inputs) {
  check_launch(*launch);
  const Op& op = kernel_op(launch->kernel->name);
  std::vector<Dtype> dtypes;
  Inputs all;
  bool needs_gradient = false;
  for (const Tensor& input : inputs) {
    if (&input.device() != &device) {
      fail(Code::device, "%s: an operand lies on %s, and the kernel runs on %s; copy it first",
           op.name, input.device().name.c_str(), device.name.c_str());
    }
    dtypes.push_back(input.dtype());
    needs_gradient |= gradient_mode() && input.requires_gradient();
    Layout layout = view_layout(input);
    all.push_back(is_contiguous(layout.shape, layout.strides) ? input : copy(input));
  }
  int64_t bytes = place_results(launch.get());
  device.backend->prepare_kernel(launch.get(), dtypes);
  const std::vector<Launch::Result> results = launch->results;
  all.push_back(carrier_of(std::move(launch), device));
  std::vector<Tensor> found;
  if (results.size() == 1) {
    found.push_back(record(op, results[0].dtype, results[0].shape, std::move(all)));
  } else {
    // Only a floating-point value can report that no gradient passes through it.
    Dtype dtype = needs_gradient ? Dtype::float32 : Dtype::uint8;
    Tensor call = record(op, dtype, {bytes / static_cast<int64_t>(size_of(dtype))}, std::move(all));
    for (const Launch::Result& result : results) {
      found.push_back(record(kernel_part_op, result.dtype, result.shape, {call}, {result.byte}));
    }
  }
  if (!TraceLog::current()) evaluate(found.data(), found.size());
  return found;
}

}  // namespace mt
