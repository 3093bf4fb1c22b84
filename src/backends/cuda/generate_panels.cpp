// SPDX-License-Identifier: Apache-2.0
// What is reduced in panels (ops/order.h): the first stage, which gives each panel's result; the
// second is reduce.cu's, launch_combine().
//
// A reduction is one loop over a panel's elements: of a row, which a warp takes, or of a column,
// which a thread takes.
#include "backends/cuda/generate.h"
#include "backends/cuda/generator.h"

namespace mt::cuda {
namespace {

class PanelGenerator : Generator {
 public:
  using Generator::Generator;

  std::string of_reduction(bool in_lanes) {
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
};

}  // namespace

std::string generate_reduction(const Program& program, const Segment& segment, bool in_lanes) {
  return PanelGenerator(program, segment).of_reduction(in_lanes);
}

}  // namespace mt::cuda
