// SPDX-License-Identifier: Apache-2.0
// An element-wise group becomes one loop over elements, some at a time, instruction by instruction,
// so that memory is asked for all of them at once; so does what follows a product within its tiles.
// A row group becomes for each row, which a warp takes, one loop over its columns for each
// reduction, and a last one for what is stored. Each loop computes all it needs from memory once
// more: arithmetic costs less than registers for whole rows would, and nothing is stored before the
// last reduction has read what it may overwrite.
#include "backends/cuda/generate.h"

#include "backends/cuda/generator.h"
#include "backends/cuda/kernels.h"

namespace mt::cuda {
namespace {

class LoopGenerator : Generator {
 public:
  using Generator::Generator;

  std::string of_elements() {
    begin(generated_threads);
    elements();
    return text_ + "}\n";
  }
  std::string of_rows() {
    begin(generated_threads);
    rows();
    return text_ + "}\n";
  }

  std::string within(const HopperTileText& tile) {
    text_ = "#include \"backends/cuda/hopper_product.h\"\n";
    includes();
    text_ += "namespace {\nstruct Follow {\n";
    line(1, "static constexpr int together = " + number(together) + ";");
    line(1, "const ProgramView* group;");
    line(1, "__device__ void operator()(const int64_t (&at)[together], int count) const {");
    line(1, "const SegmentView& segment = view(view(group).segments);");
    memory_and_constants();
    some_elements(1, "i >= count");
    auto word = [](bool is) { return is ? "true" : "false"; };
    text_ += std::string("  }\n};\n}\n\n") +
             "extern \"C\" __global__ void __launch_bounds__(block_threads, 1) " + generated_name +
             "(const ContractionView* call,\n    const __grid_constant__ TensorMap a, const "
             "__grid_constant__ TensorMap b) {\n  make_hopper_tiles<HopperTile<Factor(" +
             number(static_cast<int>(tile.factor)) + "), " + word(tile.a_along_k) + ", " +
             word(tile.b_along_k) + ", " + number(tile.columns) +
             ">>(\n      call, a, b, Follow{view(call).epilogue});\n}\n";
    return text_;
  }

 private:
  // Elements at a time, of programs that have no more values at once: of more the registers would
  // not suffice.
  static constexpr int together = 4, most_together = 32;

  // Those at at[0] .. at[together - 1], but for what is `beyond`.
  void some_elements(int depth, const std::string& beyond) {
    for (size_t k = once(); k < code().size(); ++k) {
      const bool defines = code()[k].code != Opcode::store;
      const std::string type = type_name(code()[k].type);
      if (defines) line(depth, type + " " + name(k) + "[together];");
      line(depth, "MT_UNROLL for (int i = 0; i < together; ++i) {");
      line(depth + 1, "if (" + beyond + ") continue;");
      if (defines) line(depth + 1, value(k) + " = " + expression(k) + ";");
      if (stores(code()[k])) put(depth + 1, k);
      line(depth, "}");
    }
  }

  void elements() {
    const bool many = program_.registers > most_together;
    line(1, "int low = 0, high = program.segment_count - 1;");
    line(1, "while (low < high) {");
    line(2, "int middle = (low + high + 1) / 2;");
    line(2, "bool before = view(program.segments, middle).first_tile <= int64_t{blockIdx.x};");
    line(2, "(before ? low : high) = before ? middle : middle - 1;");
    line(1, "}");
    line(1, "const SegmentView& segment = view(program.segments, low);");
    line(1, "int64_t count = segment.rows * segment.columns;");
    line(1, "int64_t first = (int64_t{blockIdx.x} - segment.first_tile) * " + tile_ + ";");
    line(1, "int64_t end = first + " + tile_ + " < count ? first + " + tile_ + " : count;");
    line(1, "if (first + threadIdx.x >= end) return;");
    memory_and_constants();
    line(1, "constexpr int together = " + number(many ? 1 : together) + ";");
    line(1,
         "for (int64_t next = first + threadIdx.x; next < end; next += together * blockDim.x) {");
    line(2, "int64_t at[together];");
    line(2, "MT_UNROLL for (int i = 0; i < together; ++i) at[i] = next + i * blockDim.x;");
    some_elements(2, "at[i] >= end");
    line(1, "}");
  }

  void rows() {
    line(1, "const SegmentView& segment = view(program.segments);");
    memory_and_constants();
    line(1, "int64_t lane = threadIdx.x % 32, warps = int64_t{gridDim.x} * (blockDim.x / 32);");
    line(1, "int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;");
    line(1, "for (int64_t row = first; row < segment.rows; row += warps) {");
    row_values();
    std::vector<bool> needed = needed_by_stores();
    begin_columns();
    for (size_t k = once(); k < code().size(); ++k) {
      const Instruction& i = code()[k];
      if (i.row) continue;
      if (needed[k]) define(3, k);
      if (stores(i)) put(3, k);
    }
    line(2, "}");
    for (size_t k = once(); k < code().size(); ++k) {
      if (!code()[k].row || !stores(code()[k])) continue;
      line(2, "if (lane == 0)");
      put(3, k);
    }
    line(1, "}");
  }

  const std::string tile_ = number(map_tile);
};

}  // namespace

std::string generate_elements(const Program& program, const Segment& segment) {
  return LoopGenerator(program, segment, true).of_elements();
}

std::string generate_rows(const Program& program, const Segment& segment) {
  return LoopGenerator(program, segment).of_rows();
}

std::string generate_within(const Program& program, const Segment& segment,
                            const HopperTileText& tile) {
  return LoopGenerator(program, segment, true, true).within(tile);
}

}  // namespace mt::cuda
