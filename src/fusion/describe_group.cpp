// SPDX-License-Identifier: Apache-2.0
#include "fusion/describe_group.h"

#include <algorithm>

#include "graph/op.h"

namespace mt {
namespace {

constexpr size_t most_names = 6;

const char* name_of(Reduction reduction) {
  static constexpr const char* names[] = {"sum", "prod", "max", "min"};
  return names[static_cast<int>(reduction)];
}

// What an instruction computes; nullptr where it only moves or converts.
const char* name_of(const FusedProgram& fused, const Instruction& instruction) {
  switch (instruction.code) {
    case Opcode::elementwise: return info(static_cast<Elementwise>(instruction.detail)).name;
    case Opcode::select: return "where";
    case Opcode::random: return "random";
    case Opcode::reduce: return name_of(static_cast<Reduction>(instruction.detail));
    case Opcode::total: return name_of(fused.totals[instruction.index].reduction);
    default: return nullptr;
  }
}

std::string operators(const FusedProgram& fused) {
  std::vector<const char*> names;
  for (const Instruction& instruction : fused.program.instructions) {
    if (const char* name = name_of(fused, instruction)) names.push_back(name);
  }
  if (names.empty()) names.push_back("copy");
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most_names); ++i) {
    text += std::string(i ? ", " : "") + names[i];
  }
  if (names.size() > most_names) {
    text += " and " + std::to_string(names.size() - most_names) + " more";
  }
  return text;
}

std::string times(std::initializer_list<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

// Elements or rows of all segments, with how many segments there are.
std::string extent(const FusedProgram& fused) {
  int64_t rows = 0;
  for (const Segment& segment : fused.segments) rows += segment.rows;
  const int64_t columns = fused.segments[0].columns;
  std::string text = columns > 1 ? times({rows, columns}) : std::to_string(rows);
  const size_t count = fused.segments.size();
  return count > 1 ? text + " in " + std::to_string(count) + " tensors" : text;
}

Dtype result_type(const FusedProgram& fused) {
  for (const Instruction& i : fused.program.instructions) {
    if (i.code == Opcode::store) return i.dtype;
  }
  // Values placed directly in memory have no store instruction.
  const std::vector<Memory>& memory = fused.segments[0].memory;
  for (size_t m = 0; m < memory.size(); ++m) {
    if (is_stored_to(fused.program, m)) return memory[m].dtype;
  }
  return Dtype::float32;
}

// Empty for float32, the usual type.
std::string in_type(Dtype type) {
  return type == Dtype::float32 ? "" : std::string(" ") + mt::name_of(type);
}

std::string describe_program(const char* kind, const FusedProgram& fused) {
  return kind + extent(fused) + in_type(result_type(fused)) + ": " + operators(fused);
}

struct Description {
  std::string operator()(const MapGroup& group) const {
    return describe_program("element-wise ", group);
  }
  std::string operator()(const RowGroup& group) const { return describe_program("rows ", group); }
  std::string operator()(const ReduceGroup& group) const {
    return "reduction " + times({group.outer, group.reduced, group.inner}) +
           in_type(group.output.dtype) + ": " + operators(group);
  }
  std::string operator()(const ContractGroup& group) const {
    const Contraction& z = group.contraction;
    std::string text = "contraction ";
    const int64_t batch = size_of_group(z.batch);
    if (batch > 1) text += std::to_string(batch) + " of ";
    text += times({size_of_group(z.m), size_of_group(z.n), size_of_group(z.k)});
    text += in_type(group.output.dtype);
    return group.epilogue ? text + ", then " + operators(*group.epilogue) : text;
  }
  std::string operator()(const CallGroup& group) const {
    return std::string(group.op->name) + " " + to_string(group.output.layout.shape) +
           in_type(group.output.dtype);
  }
};

}  // namespace

std::string describe(const Group& group) { return std::visit(Description(), group.work); }

int64_t bytes_used(const Plan& plan, const Group& group) {
  std::vector<int> buffers;
  buffers_read(group, &buffers);
  buffers_written(group, &buffers);
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  int64_t bytes = 0;
  for (int buffer : buffers) bytes += plan.buffers[buffer].bytes;
  return bytes;
}

double contraction_operations(const Group& group) {
  auto* contract = std::get_if<ContractGroup>(&group.work);
  if (!contract) return 0;
  double operations = 2;
  const Contraction& z = contract->contraction;
  for (const auto* dims : {&z.batch, &z.m, &z.n, &z.k}) {
    operations *= static_cast<double>(size_of_group(*dims));
  }
  return operations;
}

}  // namespace mt
