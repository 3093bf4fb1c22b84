// SPDX-License-Identifier: Apache-2.0
// What is reduced in panels (ops/order.h): the first stage, which gives each panel's result; the
// second is reduce.cu's, launch_combine().
//
// A reduction is one loop over a panel's elements: of a row, which a warp takes, or of a column,
// which a thread takes. What makes totals of rows beside what the rows are for is two loops.
#include <algorithm>

#include "backends/cuda/generate/generate.h"
#include "backends/cuda/generate/generator.h"

namespace mt::cuda {
namespace {

class PanelGenerator : Generator {
 public:
  using Generator::Generator;

  std::string of_reduction(bool in_lanes) {
    includes();
    begin(generated_threads);
    line(1, "const PanelsView& panels = view(program.panels);");
    line(1, "const SegmentView& segment = view(program.segments);");
    line(1, "int64_t task = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;");
    if (in_lanes) {
      line(1, "int64_t lane = task % 32, column = 0;");
      line(1, "task /= 32;");
    } else {
      line(1, "int64_t lane = 0, column = task % panels.inner;");
    }
    line(1, "if (task >= panels.outer * panels.count * panels.inner) return;");
    memory_and_constants();
    line(1, "int64_t begin = task / panels.inner % panels.count * panels.panel;");
    line(1, "int64_t end = begin + panels.panel;");
    line(1, "if (end > panels.reduced) end = panels.reduced;");
    line(1, "int64_t before = task / panels.inner / panels.count * panels.reduced;");
    const size_t last = code().size() - 1;  // the reduction
    const Instruction& i = code()[last];
    const std::string type = type_name(i.type);
    line(1, type + " result = identity_of<" + type + ">(" + how(i) + ");");
    // Several elements are on their way from memory at once.
    line(1, "#pragma unroll 8");
    line(1, std::string("for (int64_t j = begin + lane; j < end; j += ") + (in_lanes ? "32" : "1") +
                ") {");
    line(2, "[[maybe_unused]] int64_t at = (before + j) * panels.inner + column;");
    for (size_t k = once(); k < last; ++k) {
      if (code()[k].code != Opcode::store) define(2, k);
      if (stores(code()[k])) put(2, k);
    }
    line(2, "result = combine(" + how(i) + ", result, " + input(last, 0, i.type) + ");");
    line(1, "}");
    if (in_lanes) line(1, "result = combine_lanes(" + how(i) + ", result);");
    line(1, std::string(in_lanes ? "if (lane == 0) " : "") +
                "store(panels.partials, task, pack(result));");
    return text_ + "}\n";
  }

  // Two phases for a panel of rows, with a barrier in between: a warp finds the values of each row,
  // which are left in shared memory; then a thread goes down each column, stores what is to be
  // stored and adds to its totals. What a row's values were made of is read before it may be
  // overwritten.
  std::string of_totals() {
    includes();
    begin(most_total_threads);
    line(1, "const PanelsView& panels = view(program.panels);");
    line(1, "const SegmentView& segment = view(program.segments);");
    // Blocks that have a panel between them, each some of its columns.
    line(1, "int64_t across = gridDim.x / panels.count, panel = blockIdx.x / across;");
    line(1, "int64_t first = panel * panels.panel, end = first + panels.panel;");
    line(1, "if (end > panels.reduced) end = panels.reduced;");
    memory_and_constants();
    find_kept();
    if (!kept_.empty()) {
      line(1, "auto kept = shared<Value>();");
      line(1, "int64_t lane = threadIdx.x % 32, warps = blockDim.x / 32;");
      line(1, "for (int64_t row = first + threadIdx.x / 32; row < end; row += warps) {");
      row_values();
      line(2, "if (lane != 0) continue;");
      for (size_t k : kept_) line(2, kept(k) + " = pack(" + value(k) + ");");
      line(1, "}");
      line(1, "__syncthreads();");
    }
    columns();
    if (stores_rows()) {
      line(1, "__syncthreads();");
      line(1, "for (int64_t row = first + threadIdx.x; row < end; row += blockDim.x) {");
      take_kept(2);
      for (size_t k = once(); k < code().size(); ++k) {
        if (code()[k].row && stores(code()[k])) put(2, k);
      }
      line(1, "}");
    }
    return text_ + "}\n";
  }

 private:
  static bool is_total(const Instruction& i) { return i.code == Opcode::total; }

  void find_kept() {
    for (size_t k = once(); k < code().size(); ++k) {
      if (code()[k].row && code()[k].code != Opcode::store) kept_.push_back(k);
    }
  }
  std::string kept(size_t k) const {
    auto place = std::find(kept_.begin(), kept_.end(), k) - kept_.begin();
    return "kept[(row - first) * " + number(static_cast<int64_t>(kept_.size())) + " + " +
           number(place) + "]";
  }
  void take_kept(int depth) {
    for (size_t k : kept_) {
      std::string type = type_name(code()[k].type);
      line(depth, "[[maybe_unused]] " + type + " " + value(k) + " = unpack<" + type + ">(" +
                      kept(k) + ");");
    }
  }
  bool stores_rows() const {
    for (size_t k = once(); k < code().size(); ++k) {
      if (code()[k].row && stores(code()[k])) return true;
    }
    return false;
  }

  // What is stored of an element, or added to a total, by instruction k.
  std::string result_type(size_t k) const { return type_name(code()[k].type); }
  std::string result(size_t k) const { return "r" + number(static_cast<int64_t>(k)) + "[i]"; }
  std::string total(size_t k) const { return "t" + number(code()[k].index); }

  // A few rows at a time, all of which is read before anything is stored, so that what is read is
  // on its way together.
  void columns() {
    const std::string rows = "4";
    std::vector<bool> needed = needed_by_stores();
    std::vector<size_t> results;
    for (size_t k = once(); k < code().size(); ++k) {
      const Instruction& i = code()[k];
      if (i.row) continue;
      if (is_total(i)) need_inputs(k, &needed);
      if (is_total(i) || stores(i)) results.push_back(k);
    }
    line(1, "for (int64_t column = blockIdx.x % across * blockDim.x + threadIdx.x;");
    line(1, "     column < segment.columns; column += across * blockDim.x) {");
    for (size_t k : results) {
      if (!is_total(code()[k])) continue;
      std::string type = result_type(k);
      line(2, type + " " + total(k) + " = identity_of<" + type + ">(" + how(code()[k]) + ");");
    }
    line(2, "for (int64_t next = first; next < end; next += " + rows + ") {");
    for (size_t k : results) {
      line(3, result_type(k) + " r" + number(static_cast<int64_t>(k)) + "[" + rows + "];");
    }
    auto each_row = [&] {
      line(3, "MT_UNROLL for (int i = 0; i < " + rows + "; ++i) {");
      line(4, "int64_t row = next + i;");
      line(4, "if (row >= end) break;");
      line(4, "[[maybe_unused]] int64_t at = row * segment.columns + column;");
    };
    each_row();
    take_kept(4);
    for (size_t k = once(); k < code().size(); ++k) {
      const Instruction& i = code()[k];
      if (i.row) continue;
      if (needed[k]) define(4, k);
      if (is_total(i)) line(4, result(k) + " = " + input(k, 0, i.type) + ";");
      if (stores(i)) line(4, result(k) + " = " + stored(k) + ";");
    }
    line(3, "}");
    each_row();
    for (size_t k : results) {
      const Instruction& i = code()[k];
      if (is_total(i)) {
        line(4, total(k) + " = combine(" + how(i) + ", " + total(k) + ", " + result(k) + ");");
      } else {
        put(4, k, result(k));
      }
    }
    line(3, "}");
    line(2, "}");
    for (size_t k : results) {
      if (!is_total(code()[k])) continue;
      line(2, "store(panels.partials, (" + number(code()[k].index) +
                  " * panels.count + panel) * segment.columns + column, pack(" + total(k) + "));");
    }
    line(1, "}");
  }

  std::vector<size_t> kept_;  // the row values
};

}  // namespace

std::string generate_reduction(const Program& program, const Segment& segment, bool in_lanes) {
  return PanelGenerator(program, segment).of_reduction(in_lanes);
}

std::string generate_totals(const Program& program, const Segment& segment) {
  return PanelGenerator(program, segment).of_totals();
}

int row_values(const Program& program) {
  int count = 0;
  for (size_t k = static_cast<size_t>(program.once); k < program.instructions.size(); ++k) {
    const Instruction& i = program.instructions[k];
    if (i.row && i.code != Opcode::store) ++count;
  }
  return count;
}

}  // namespace mt::cuda
