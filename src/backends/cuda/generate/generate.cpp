// SPDX-License-Identifier: Apache-2.0
// An element-wise group becomes one loop over elements, some at a time, instruction by instruction,
// so that memory is asked for all of them at once, in vectors where they lie next to each other; so
// does what follows a product within its tiles, one by one.
// A row group becomes for each row, which a warp takes, one loop over its columns for each
// reduction, and a last one for what is stored. Each loop computes all it needs from memory once
// more: arithmetic costs less than registers for whole rows would, and nothing is stored before the
// last reduction has read what it may overwrite. The order of sums gives a lane every 32nd column;
// what is stored may go by vectors.
#include "backends/cuda/generate/generate.h"

#include <algorithm>

#include "backends/cuda/generate/generator.h"
#include "backends/cuda/kernels.h"

namespace mt::cuda {
namespace {

class LoopGenerator : Generator {
 public:
  using Generator::Generator;

  std::string of_elements() {
    includes();
    work();
    begin(threads_of(vectors_));
    elements();
    return text_ + "}\n";
  }
  std::string of_rows() {
    includes();
    begin(generated_threads);
    rows();
    return text_ + "}\n";
  }

  std::string within(const HopperTileText& tile) {
    text_ = "#include \"backends/cuda/contract/hopper_product.h\"\n";
    includes();
    work();
    text_ += "namespace {\nstruct Follow {\n";
    line(1, "static constexpr int together = " + number(vectors_.together) + ";");
    line(1, "const ProgramView* group;");
    line(1, "__device__ void operator()(const int64_t (&at)[together], int count) const {");
    line(2, "work<1>(view(view(group).segments), at, count);");
    line(1, "}");
    auto word = [](bool is) { return is ? "true" : "false"; };
    text_ += std::string("};\n}  // namespace\n\n") +
             "extern \"C\" __global__ void __launch_bounds__(block_threads, 1) " + generated_name +
             "(const ContractionView* call,\n    const __grid_constant__ TensorMap a, const "
             "__grid_constant__ TensorMap b) {\n  make_hopper_tiles<HopperTile<Factor(" +
             number(static_cast<int>(tile.factor)) + "), " + word(tile.a_along_k) + ", " +
             word(tile.b_along_k) + ", " + number(tile.columns) +
             ">>(\n      call, a, b, Follow{view(call).epilogue});\n}\n";
    return text_;
  }

 private:
  // A function for elements at[0] .. at[together - 1], of which `count` are there. All that it
  // needs from memory is asked for first.
  void work() {
    text_ +=
        "namespace {\ntemplate <int adjacent, int together>\n"
        "__device__ MT_INLINE void work(const SegmentView& segment,\n"
        "                               const int64_t (&at)[together], int count) {\n";
    memory_and_constants();
    read_memory(1, std::vector<bool>(code().size(), true), "at", "count");
    for (size_t k = once(); k < code().size(); ++k) {
      const bool defines = code()[k].code != Opcode::store, keeps = stores(code()[k]);
      if (defines) line(1, type_name(code()[k].type) + (" " + name(k)) + "[together];");
      if (keeps) line(1, bits_type(k) + " " + bits(k) + "[together];");
      line(1, "MT_UNROLL for (int i = 0; i < together; ++i) {");
      line(2, "if (i >= count) continue;");
      if (defines) line(2, value(k) + " = " + expression(k) + ";");
      if (keeps) line(2, bits(k) + "[i] = " + as_bits(k) + ";");
      line(1, "}");
      if (keeps) write(1, k, "at", "count");
    }
    text_ += "}\n}  // namespace\n\n";
  }
  void write(int depth, size_t k, const std::string& at, const std::string& count) {
    line(depth, "write_numbers<adjacent>(" + data(memory_of(code()[k])) + ", " + at + ", " + count +
                    ", " + bits(k) + ");");
  }

  void elements() {
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
    line(1, "constexpr int adjacent = " + number(vectors_.adjacent) +
                ", together = " + number(vectors_.together) + ";");
    line(1, "int64_t whole = first + (end - first) / adjacent * adjacent;");
    line(1, "int64_t next = first + threadIdx.x * adjacent;");
    line(1, "for (; next < whole; next += blockDim.x * together) {");
    line(2, "int64_t at[together];");
    line(2, "int there = adjacent;");
    line(2, "MT_UNROLL for (int i = 0; i < together; ++i) {");
    line(3, "at[i] = next + i / adjacent * adjacent * blockDim.x + i % adjacent;");
    line(3, "if (i >= adjacent) there += at[i / adjacent * adjacent] < whole;");
    line(2, "}");
    line(2, "work<adjacent>(segment, at, there);");
    line(1, "}");
    if (vectors_.adjacent == 1) return;
    line(1, "int64_t rest[] = {whole + threadIdx.x};");
    line(1, "if (rest[0] < end) work<1>(segment, rest, 1);");
  }

  void rows() {
    line(1, "const SegmentView& segment = view(program.segments);");
    memory_and_constants();
    line(1, "int64_t lane = threadIdx.x % 32, warps = int64_t{gridDim.x} * (blockDim.x / 32);");
    line(1, "int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;");
    line(1, "for (int64_t row = first; row < segment.rows; row += warps) {");
    row_values();
    line(2, "__syncwarp();");  // what a lane has read for these may be another's to store
    std::vector<bool> made = needed_by_stores();
    for (size_t k = once(); k < code().size(); ++k) {
      if (!code()[k].row && stores(code()[k])) made[k] = true;
    }
    line(2, "constexpr int adjacent = " + number(vectors_.adjacent) + ";");
    line(2, "int64_t column = lane * adjacent;");
    line(2, "for (; column < segment.columns; column += 32 * adjacent) {");
    line(3, "int64_t places[adjacent];");
    line(3, "MT_UNROLL for (int i = 0; i < adjacent; ++i) {");
    line(4, "places[i] = row * segment.columns + column + i;");
    line(3, "}");
    is_read_ = true;
    read_memory(3, made, "places", "adjacent");
    for (size_t k = once(); k < code().size(); ++k) {
      if (made[k] && stores(code()[k])) line(3, bits_type(k) + " " + bits(k) + "[adjacent];");
    }
    line(3, "MT_UNROLL for (int i = 0; i < adjacent; ++i) {");
    line(4, "[[maybe_unused]] int64_t at = places[i];");
    for (size_t k = once(); k < code().size(); ++k) {
      if (!made[k]) continue;
      if (code()[k].code != Opcode::store) define(4, k);
      if (stores(code()[k])) line(4, bits(k) + "[i] = " + as_bits(k) + ";");
    }
    line(3, "}");
    for (size_t k = once(); k < code().size(); ++k) {
      if (made[k] && stores(code()[k])) write(3, k, "places", "adjacent");
    }
    is_read_ = false;
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

unsigned threads_of(const Vectors& vectors) {
  return std::min<unsigned>(generated_threads, map_tile / vectors.together);
}

std::string generate_elements(const Program& program, const Segment& segment,
                              const Vectors& vectors) {
  return LoopGenerator(program, segment, vectors, true).of_elements();
}

std::string generate_rows(const Program& program, const Segment& segment, const Vectors& vectors) {
  return LoopGenerator(program, segment, vectors).of_rows();
}

std::string generate_within(const Program& program, const Segment& segment, const Vectors& vectors,
                            const HopperTileText& tile) {
  return LoopGenerator(program, segment, vectors, true, true).within(tile);
}

}  // namespace mt::cuda
