// SPDX-License-Identifier: Apache-2.0
// Runs plans on an NVIDIA GPU, group by group, in the device's one stream.
#pragma once

#include <mutex>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/driver/driver.h"

namespace mt::cuda {

struct PreparedPlan;
struct Run;

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device);

  std::string description() const override { return description_; }
  bool has_kernels_for(Precision) const override { return true; }
  uint64_t configuration() const override { return 0; }
  void prepare(Plan* plan) override;
  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void* scratch,
           GroupWatch* watch) override;
  bool run_small(const Op&, Dtype, const SmallOperand*, void*, int64_t) override { return false; }
  // As many as a GPU has processors, for a block takes a panel.
  int64_t panels_for_totals() const override { return 128; }
  void prepare_kernel(Launch* launch, const std::vector<Dtype>& inputs) override;
  void* stream() override { return stream_; }
  void wait_for_stream(void* stream) override;
  void let_stream_wait(void* stream) override;
  void finish(bool others) override;
  void copy_from_host(void* target, const void* source, size_t bytes) override;
  void copy_to_host(void* target, const void* source, size_t bytes) override;
  bool copy_from(Backend& other, void* target, const void* source, size_t bytes) override;

 private:
  // Host memory from which the device is still copying is not written again: whoever comes to the
  // end of the pinned memory waits for the device.
  void upload(void* target, const void* source, size_t bytes);
  void launch(const PreparedPlan& prepared, void* memory, void* const* buffers, Run* run,
              GroupWatch* watch);
  // Waits for the stream. What failed there may be anything since the last time: those are named.
  void wait(const char* what);

  std::mutex mutex_;           // keeps the order of what one run puts into the stream
  Stream stream_, capturing_;  // what is put into the second becomes a graph
  const int device_;
  Properties properties_;
  std::string description_;
  char* pinned_ = nullptr;
  size_t used_ = 0;
  std::vector<const char*> since_wait_;  // what has been launched
};

}  // namespace mt::cuda
