// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <cstring>

#include "backends/cuda/prepare.h"
#include "backends/cuda/user_kernel.h"
#include "tensor/error.h"

namespace mt::cuda {
namespace {

constexpr size_t pinned_bytes = 4 << 20;
constexpr int64_t alignment = 256;

}  // namespace

CudaBackend::CudaBackend(int device) : device_(device) {
  Properties p = properties(device);
  description_ = p.name + ", compute capability " + std::to_string(p.capability / 10) + "." +
                 std::to_string(p.capability % 10) + ", " + std::to_string(p.memory >> 20) + " MiB";
  processors_ = p.processors;
  shared_memory_ = p.shared_memory;
  stream_ = make_stream(device);
  pinned_ = static_cast<char*>(allocate_pinned(pinned_bytes));
}

void CudaBackend::prepare(Plan* plan) {
  std::shared_ptr<PreparedPlan> prepared = prepare_plan(*plan, device_, processors_);
  int64_t block = static_cast<int64_t>(prepared->block.bytes());
  plan->scratch_bytes = (block + alignment - 1) / alignment * alignment + prepared->scratch;
  plan->prepared = prepared;
}

void CudaBackend::prepare_kernel(Launch* launch, const std::vector<Dtype>& inputs) {
  prepare_user_kernel(launch, inputs, device_, shared_memory_);
}

void CudaBackend::run(const Plan& plan, void* const* buffers, const Immediates* immediates,
                      void* memory) {
  const auto& prepared = *static_cast<const PreparedPlan*>(plan.prepared.get());
  int64_t bytes = static_cast<int64_t>(prepared.block.bytes());
  Run run;
  run.block = static_cast<char*>(memory);
  run.scratch = run.block + (bytes + alignment - 1) / alignment * alignment;
  run.buffers = buffers;
  run.immediates = immediates;
  run.stream = stream_;
  std::vector<char> descriptions(prepared.block.bytes());
  prepared.block.write(descriptions.data(), run.block, buffers, run.scratch, immediates);
  std::lock_guard lock(mutex_);
  use_device(device_);
  upload(run.block, descriptions.data(), descriptions.size());
  for (const auto& group : prepared.groups) group(run);
}

void CudaBackend::upload(void* target, const void* source, size_t bytes) {
  if (bytes > pinned_bytes) {
    copy_in(target, source, bytes, stream_);
    return synchronize(stream_, "copy to the device");
  }
  if (used_ + bytes > pinned_bytes) {
    synchronize(stream_, "copy to the device");
    used_ = 0;
  }
  std::memcpy(pinned_ + used_, source, bytes);
  copy_in(target, pinned_ + used_, bytes, stream_);
  used_ += (bytes + 63) / 64 * 64;
}

void CudaBackend::copy_from_host(void* target, const void* source, size_t bytes) {
  std::lock_guard lock(mutex_);
  use_device(device_);
  upload(target, source, bytes);
}

void CudaBackend::copy_to_host(void* target, const void* source, size_t bytes) {
  {
    std::lock_guard lock(mutex_);
  use_device(device_);
    copy_out(target, source, bytes, stream_);
  }
  synchronize(stream_, "copy to the host");
}

}  // namespace mt::cuda
