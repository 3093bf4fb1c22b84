// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cuda/generate/generated.h"
#include "backends/cuda/prepare.h"
#include "backends/cuda/user_kernel.h"
#include "base/error.h"
#include "base/rounding.h"

namespace mt::cuda {
namespace {

constexpr size_t pinned_bytes = 4 << 20;
constexpr int64_t alignment = 256;
constexpr size_t fewest_for_graph = 4;  // groups; a graph of fewer saves nothing
constexpr size_t most_names = 8;

// MT_CUDA_GRAPHS=0: each kernel is launched by itself.
bool captures() {
  const char* how = std::getenv("MT_CUDA_GRAPHS");
  return !(how && std::strcmp(how, "0") == 0);
}

// What the group is called where something in the stream has failed.
const char* name_of(const Group& group) {
  switch (group.kind()) {
    case GroupKind::map: return "element-wise operators";
    case GroupKind::row: return "operators along rows";
    case GroupKind::reduce: return "a reduction";
    case GroupKind::contract: return "a contraction";
    case GroupKind::call: break;
  }
  return std::get<CallGroup>(group.work).op->name;
}

void add_name(const char* name, std::vector<const char*>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

// What failed on the device, with all that it may have happened in.
Error with_names(const Error& error, const std::vector<const char*>& names) {
  std::string text = error.what();
  for (size_t i = 0; i < names.size() && error.code() == Code::device; ++i) {
    text += (i ? ", " : "; it happened in one of: ") + std::string(names[i]);
  }
  return Error(error.code(), text);
}

}  // namespace

CudaBackend::CudaBackend(int device) : device_(device) {
  const Properties& p = properties_ = properties(device);
  description_ = p.name + ", compute capability " + std::to_string(p.capability / 10) + "." +
                 std::to_string(p.capability % 10) + ", " + std::to_string(p.memory >> 20) + " MiB";
  stream_ = make_stream(device);
  capturing_ = make_stream(device);
  pinned_ = static_cast<char*>(allocate_pinned(pinned_bytes));
}

void CudaBackend::prepare(Plan* plan) {
  std::shared_ptr<PreparedPlan> prepared = prepare_plan(*plan, device_, properties_);
  int64_t block = static_cast<int64_t>(prepared->block.bytes());
  plan->scratch_bytes = round_up(block, alignment) + prepared->scratch;
  for (const Group& group : plan->groups) add_name(name_of(group), &prepared->names);
  plan->prepared = prepared;
}

void CudaBackend::prepare_kernel(Launch* launch, const std::vector<Dtype>& inputs) {
  prepare_user_kernel(launch, inputs, device_, properties_.shared_memory);
}

void CudaBackend::run(const Plan& plan, void* const* buffers, const Immediates* immediates,
                      void* memory, GroupWatch* watch) {
  const auto& prepared = *static_cast<const PreparedPlan*>(plan.prepared.get());
  int64_t bytes = static_cast<int64_t>(prepared.block.bytes());
  Run run;
  run.block = static_cast<char*>(memory);
  run.scratch = run.block + round_up(bytes, alignment);
  run.immediates = immediates;
  std::vector<char> descriptions(prepared.block.bytes());
  prepared.block.write(descriptions.data(), run.block, buffers, run.scratch, immediates);
  std::lock_guard lock(mutex_);
  try {
    use_device(device_);
    upload(run.block, descriptions.data(), descriptions.size());
    for (const char* name : prepared.names) {
      if (since_wait_.size() < most_names) add_name(name, &since_wait_);
    }
    launch(prepared, memory, buffers, &run, watch);
  } catch (const Error& error) {  // perhaps of what was launched before
    throw with_names(error, since_wait_);
  }
}

void CudaBackend::launch(const PreparedPlan& prepared, void* memory, void* const* buffers,
                         Run* of_run, GroupWatch* watch) {
  Run& run = *of_run;
  auto put = [&](Stream stream, Looked* looked) {
    run.stream = stream;
    run.buffers = Buffers(buffers, looked);
    for (const auto& group : prepared.groups) group(run);
  };
  if (watch) {
    run.stream = stream_;
    run.buffers = Buffers(buffers, nullptr);
    size_t next = 0;
    for (size_t g = 0; g < prepared.ends.size(); ++g) {
      synchronize(stream_, "profile");
      watch->begins(g);
      for (; next < prepared.ends[g]; ++next) prepared.groups[next](run);
      synchronize(stream_, "profile");
      watch->ends(g);
    }
    return;
  }
  if (prepared.groups.size() < fewest_for_graph || !captures()) return put(stream_, nullptr);
  prepared.graphs.run(stream_, capturing_, memory, buffers, !compiling(), put);
}

void CudaBackend::wait(const char* what) {
  std::vector<const char*> names;
  {
    std::lock_guard lock(mutex_);
    names.swap(since_wait_);
  }
  try {
    synchronize(stream_, what);
  } catch (const Error& error) {
    throw with_names(error, names);
  }
}

// The other library's stream has made what is handed over.
void CudaBackend::wait_for_stream(void* stream) {
  std::lock_guard lock(mutex_);
  use_device(device_);
  wait_for(stream_, static_cast<Stream>(stream));
}
void CudaBackend::let_stream_wait(void* stream) {
  std::lock_guard lock(mutex_);
  use_device(device_);
  wait_for(static_cast<Stream>(stream), stream_);
}
void CudaBackend::finish(bool others) {
  if (others) {
    std::lock_guard lock(mutex_);  // the device cannot be waited for while a stream is captured
    return synchronize_device(device_, "waiting for the device");
  }
  use_device(device_);
  wait("waiting for the device");
}

void CudaBackend::upload(void* target, const void* source, size_t bytes) {
  if (bytes == 0) return;
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
  used_ += round_up(bytes, 64);
}

void CudaBackend::copy_from_host(void* target, const void* source, size_t bytes) {
  std::lock_guard lock(mutex_);
  use_device(device_);
  upload(target, source, bytes);
}

// What made the source is in the other device's stream, and what will take its place; what had the
// target's place is in ours.
bool CudaBackend::copy_from(Backend& other, void* target, const void* source, size_t bytes) {
  auto* from = dynamic_cast<CudaBackend*>(&other);
  if (!from || from == this || !reaches(from->device_, device_)) return false;
  std::scoped_lock lock(mutex_, from->mutex_);
  try {
    use_device(from->device_);
    wait_for(stream_, from->stream_);
    use_device(device_);
    add_name("to_device", &since_wait_);
    copy_between(target, device_, source, from->device_, bytes, stream_);
    wait_for(from->stream_, stream_);
  } catch (const Error& error) {
    throw with_names(error, since_wait_);
  }
  return true;
}

void CudaBackend::copy_to_host(void* target, const void* source, size_t bytes) {
  use_device(device_);
  wait("copy to the host");  // without the lock: a copy into pageable memory waits itself
  std::lock_guard lock(mutex_);
  try {
    copy_out(target, source, bytes, stream_);
    synchronize(stream_, "copy to the host");
  } catch (const Error& error) {  // of what others have launched since
    throw with_names(error, since_wait_);
  }
}

}  // namespace mt::cuda
