// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own: what each cell of a grid computes, as CUDA C, as a function, or both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ops/naive.h"

namespace mt {

struct Launch;

class Kernel {
 public:
  Kernel(std::string name, std::string cuda, bool has_function, bool serial)
      : name(std::move(name)), cuda(std::move(cuda)), has_function(has_function), serial(serial) {}
  virtual ~Kernel() = default;

  const std::string name;
  const std::string cuda;   // its text; empty: none
  const bool has_function;  // for the host
  const bool serial;        // which runs on one thread

  // Calls the function for every cell of one block, in order. Throws when one fails.
  virtual void run_block(const Launch& launch, const int64_t block[3], const void* const* inputs,
                         void* const* results) const = 0;
};

// One call of a kernel, its tensors apart. It is what the last input of the call's node holds in
// place of elements, and lives as long.
struct Launch {
  struct Result {
    Shape shape;
    Dtype dtype;
    int64_t byte = 0;  // where it begins in the value of the call
  };

  std::shared_ptr<const Kernel> kernel;
  int64_t grid[3], block[3], shared_bytes;
  std::vector<double> numbers;
  std::vector<Result> results;
  uint64_t id = 0;                       // no other has it
  std::shared_ptr<const void> prepared;  // by the backend

  int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
};

// What every GPU that is served can run; the same for all devices, so that a call that works on one
// works on another.
constexpr int64_t most_blocks[3] = {0x7fffffff, 65535, 65535};
constexpr int64_t most_block_sizes[3] = {1024, 1024, 64}, most_block_threads = 1024;

// The operator of calls of kernels with that name, whose inputs are those given, then the launch.
// With one result it is that; with several it is their bytes, which kernel_part picks from:
// attributes: the first byte.
const Op& kernel_op(const std::string& name);
extern const Op kernel_part_op;
// Addresses of operators differ between libmtorch and its backends; this code does not.
constexpr uint8_t kernel_code = 1;
inline bool is_kernel(const Op& op) { return op.kind == OpKind::call && op.code == kernel_code; }

// A call of a kernel, taken apart.
struct KernelCall {
  const Launch& launch;
  std::vector<const void*> inputs;
  std::vector<void*> results;

  explicit KernelCall(const NaiveCall& call);
  void run_block(int64_t index) const;  // of launch.blocks()
};

}  // namespace mt
