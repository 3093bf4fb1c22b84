// SPDX-License-Identifier: Apache-2.0
// Measured choices of kernels, in a file: MT_CUDA_TUNED=FILE reads it, and MT_CUDA_TUNE=FILE, which
// may be missing or empty, also has what it does not say measured and adds that.
#pragma once

#include <mutex>
#include <string>

#include "backends/cuda/contract/kernel_table.h"

namespace mt::cuda {

class Tuning {
 public:
  // What the environment names now, which is read when first asked for and lives for ever; nullptr:
  // nothing. Fails when the file cannot be read or is wrong.
  static Tuning* chosen();

  bool measures() const { return measures_; }
  std::string find(const std::string& device, const Facts& facts,
                   const std::vector<std::string>& kernels);
  // Adds a line to the file, as a whole or not at all, and takes what others have added since.
  // Processes that add at once wait for each other, by flock().
  void add(const std::string& line);

 private:
  Tuning(std::string file, bool measures);
  std::string source() const { return (measures_ ? "MT_CUDA_TUNE: " : "MT_CUDA_TUNED: ") + file_; }
  std::string read() const;
  void replace(const std::string& text) const;

  const std::string file_;
  const bool measures_;
  std::mutex mutex_;
  KernelTable table_;
};

}  // namespace mt::cuda
