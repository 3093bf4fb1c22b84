// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/program/prepare_vectors.h"

#include <algorithm>

#include "backends/cuda/device/vector_bytes.h"

namespace mt::cuda {
namespace {

constexpr int warp = 32;
// Elements that a thread takes at once, of programs with so few values: of more the registers would
// not suffice.
constexpr int usual_together = 4, most_values = 128;

int values_of(const Program& program, const Segment& segment) {
  return std::max(program.registers, static_cast<int>(segment.memory.size()));
}

Access access_of(const Memory& memory, int adjacent) {
  const Layout& layout = memory.layout;
  const int last = layout.shape.rank() - 1;
  bool begins = layout.offset % adjacent == 0;
  if (memory.contiguous) return begins ? Access::adjacent : Access::apart;
  // Vectors are not to go from one line to the next.
  if (last > 0 && layout.shape[last] % adjacent != 0) return Access::apart;
  for (int d = 0; d < last; ++d) begins = begins && layout.strides[d] % adjacent == 0;
  if (last >= 0 && layout.strides[last] == 0) return Access::same;
  return last >= 0 && layout.strides[last] == 1 && begins ? Access::adjacent : Access::apart;
}

// What is read element by element, or stored so: not numbers that are loaded once, nor those of
// rows.
std::vector<bool> of_elements(const Program& program, const Segment& segment) {
  std::vector<bool> result;
  for (const Memory& memory : segment.memory) {
    result.push_back(memory.buffer >= 0 && !(memory.row && segment.columns > 1));
  }
  for (size_t k = 0; k < static_cast<size_t>(program.once); ++k) {
    const Instruction& i = program.instructions[k];
    if (i.code == Opcode::load) result[static_cast<size_t>(i.index)] = false;
  }
  return result;
}

}  // namespace

Vectors one_by_one(const Program& program, const Segment& segment) {
  const bool few = values_of(program, segment) * usual_together <= most_values;
  return {1, few ? usual_together : 1, {}};
}

Vectors vectors_of(const Program& program, const std::vector<Segment>& segments) {
  const Vectors by_itself = one_by_one(program, segments[0]);
  if (by_itself.together == 1) return by_itself;
  const std::vector<Memory>& first = segments[0].memory;
  const std::vector<bool> in_elements = of_elements(program, segments[0]);
  int widest = 1;  // of what vectors may move
  for (size_t m = 0; m < first.size(); ++m) {
    if (!in_elements[m] || access_of(first[m], 1) != Access::adjacent) continue;
    widest = std::max(widest, static_cast<int>(size_of(first[m].dtype)));
  }
  Vectors vectors;
  vectors.adjacent = vector_bytes / widest;
  while (vectors.adjacent * values_of(program, segments[0]) > most_values) vectors.adjacent /= 2;
  // Rows have whole vectors, enough for a warp.
  const int64_t columns = segments[0].columns;
  auto suits = [&] {
    return columns % vectors.adjacent == 0 && columns >= warp * vectors.adjacent;
  };
  while (columns > 1 && vectors.adjacent > 1 && !suits()) vectors.adjacent /= 2;
  if (columns > 1 && vectors.adjacent == 1) return by_itself;
  vectors.together = std::max(vectors.adjacent, usual_together);
  for (size_t m = 0; m < first.size(); ++m) {
    Access access = access_of(first[m], vectors.adjacent);
    for (const Segment& segment : segments) {
      if (access_of(segment.memory[m], vectors.adjacent) != access) access = Access::apart;
    }
    if (!in_elements[m]) access = Access::apart;
    vectors.memory.push_back(access);
    if (in_elements[m] && access != Access::adjacent && is_stored_to(program, m)) return by_itself;
  }
  return vectors;
}

VectorKernels::VectorKernels(const FusedProgram& fused, int device, MakeText make_text)
    : fused_(&fused), device_(device), make_text_(make_text) {
  if (!generates()) return;
  by_vectors_ = request(vectors_of(fused.program, fused.segments));
  const std::vector<Access>& memory = by_vectors_.vectors.memory;
  for (size_t m = 0; m < memory.size(); ++m) {
    if (memory[m] != Access::adjacent) continue;
    for (const Segment& segment : fused.segments) {
      if (segment.memory[m].buffer >= 0) buffers_.push_back(segment.memory[m].buffer);
    }
  }
  std::sort(buffers_.begin(), buffers_.end());
  buffers_.erase(std::unique(buffers_.begin(), buffers_.end()), buffers_.end());
}

VectorKernels::Way VectorKernels::request(const Vectors& vectors) const {
  return {vectors,
          &request_kernel(device_, make_text_(fused_->program, fused_->segments[0], vectors))};
}

const VectorKernels::Way& VectorKernels::way(const Run& run) const {
  const bool aligned = std::all_of(buffers_.begin(), buffers_.end(),
                                   [&](int buffer) { return run.buffers.aligned(buffer); });
  if (aligned) return by_vectors_;
  if (!one_by_one_.generated) {
    one_by_one_ = request(one_by_one(fused_->program, fused_->segments[0]));
  }
  return one_by_one_;
}

}  // namespace mt::cuda
