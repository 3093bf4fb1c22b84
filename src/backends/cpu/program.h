// SPDX-License-Identifier: Apache-2.0
// Runs a fused program over tiles: a few registers of one tile each, which stay in the first or
// second cache, and one kernel call for each instruction and tile.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "plan/plan.h"

namespace mt::cpu {

// Bytes on the stack for the registers of element-wise programs.
constexpr int64_t stack_registers = 64 << 10;

// A program with its kernels looked up. Shared by all workers.
class ResolvedProgram {
 public:
  explicit ResolvedProgram(const Program& program);

  const Program& program() const { return *program_; }
  const Kernel* kernels() const { return kernels_.data(); }
  // How many elements a register can hold when all of them share `bytes`.
  int64_t tile_elements(int64_t bytes, int64_t most) const;
  int64_t register_bytes(int64_t elements) const;

 private:
  const Program* program_;
  std::vector<Kernel> kernels_;
};

// One worker's run over one segment.
class ProgramRun {
 public:
  // `registers` has room for program().registers registers of `tile_rows` rows each, and one more.
  ProgramRun(const ResolvedProgram& resolved, const Segment& segment, void* const* buffers,
             const Immediates* immediates, char* registers, int64_t tile_rows);
  // Computes rows [first, first + rows), rows at most tile_rows.
  void run(int64_t first, int64_t rows);
  // Where a value lies after run().
  char* address(int16_t place) const;
  int64_t tile_rows() const { return tile_rows_; }

 private:
  void execute(const Instruction& instruction, Kernel kernel, int64_t first, int64_t rows);
  void fill(const Instruction& instruction);
  void load(const Instruction& instruction, int64_t first, int64_t count);

  const ResolvedProgram& resolved_;
  const Segment& segment_;
  const Immediates* immediates_;
  char* registers_;
  int64_t tile_rows_;
  int64_t register_bytes_;
  int64_t first_ = 0;  // of the current tile
  // For each memory: its first element.
  std::vector<char*> bases_;
};

// Runs a whole element-wise or row group in parallel. `scratch` as program_scratch() says.
void run_program(const Program& program, const std::vector<Segment>& segments,
                 void* const* buffers, const Immediates* immediates, char* scratch);
int64_t program_scratch(const Program& program, const std::vector<Segment>& segments);

}  // namespace mt::cpu
