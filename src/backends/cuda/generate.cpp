// SPDX-License-Identifier: Apache-2.0
// An element-wise group becomes one loop over elements. A row group becomes for each row, which a
// warp takes, one loop over its columns for each reduction, and a last one for what is stored. Each
// loop computes all it needs from memory once more: arithmetic costs less than registers for whole
// rows would, and nothing is stored before the last reduction has read what it may overwrite. What
// follows a product within its tiles takes some elements at a time, instruction by instruction, so
// that one need not wait for another's numbers.
#include "backends/cuda/generate.h"

#include <map>
#include <vector>

namespace mt::cuda {
namespace {

const char* const names[] = {
#define UNARY(name, domain, result, value, gradient) #name,
#define BINARY(name, domain, result, value, gradient_a, gradient_b) #name,
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};

const char* type_name(Compute type) {
  static const char* const types[] = {"float", "double", "int32_t", "int64_t", "uint64_t"};
  return types[static_cast<int>(type)];
}
std::string dtype_text(Dtype dtype) {
  return "Dtype(" + std::to_string(static_cast<int>(dtype)) + ")";
}
std::string number(int64_t n) { return std::to_string(n); }

class Generator {
 public:
  Generator(const Program& program, const Segment& segment, GroupKind kind)
      : program_(program), segment_(segment), kind_(kind) {
    find_sources();
  }

  std::string run() {
    includes();
    text_ += "extern \"C\" __global__ void __launch_bounds__(" + number(generated_threads) + ") " +
             generated_name + "(const ProgramView* group) {\n" +
             "  const ProgramView& program = view(group);\n";
    kind_ == GroupKind::row ? rows() : elements();
    return text_ + "}\n";
  }

  std::string run_within(const HopperTileText& tile) {
    text_ = "#include \"backends/cuda/hopper_product.h\"\n";
    includes();
    text_ += "namespace {\nstruct Follow {\n";
    line(1, "static constexpr int together = " + number(together) + ";");
    line(1, "const ProgramView* group;");
    line(1, "__device__ void operator()(const int64_t (&at)[together], int count) const {");
    line(1, "const SegmentView& segment = view(view(group).segments);");
    memory_and_constants();
    for (size_t k = static_cast<size_t>(program_.once); k < code().size(); ++k) {
      const bool defines = code()[k].code != Opcode::store;
      if (defines) line(1, std::string(type_name(code()[k].type)) + " " + name(k) + "[together];");
      line(1, "MT_UNROLL for (int i = 0; i < together; ++i) {");
      line(2, "if (i >= count) continue;");
      if (defines) line(2, value(static_cast<int>(k)) + " = " + expression(k) + ";");
      if (stores(code()[k])) put(2, k);
      line(1, "}");
    }
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
  static constexpr int together = 4;
  void includes() {
    text_ +=
        "#include \"backends/cuda/operators.h\"\n"
        "#include \"backends/cuda/positions.h\"\n"
        "#include \"ops/philox.h\"\n\n"
        "using namespace mt;\nusing namespace mt::cuda;\n\n";
  }

  // What an input is: the value of an earlier instruction, or, as ~m, memory m as it is.
  struct Sources {
    int in[3] = {0, 0, 0};
  };

  const std::vector<Instruction>& code() const { return program_.instructions; }
  bool stores(const Instruction& i) const {
    return i.code == Opcode::store || (i.out != no_place && i.out < 0);
  }
  int memory_of(const Instruction& i) const { return i.code == Opcode::store ? i.index : ~i.out; }

  void find_sources() {
    std::map<int16_t, int> made;  // by place
    for (size_t k = 0; k < code().size(); ++k) {
      Sources sources;
      for (int j = 0; j < 3; ++j) {
        int16_t place = code()[k].in[j];
        if (place == no_place) continue;
        auto found = made.find(place);
        sources.in[j] = found == made.end() ? static_cast<int>(place) : found->second;
      }
      sources_.push_back(sources);
      if (code()[k].out != no_place) made[code()[k].out] = static_cast<int>(k);
    }
  }

  void line(int depth, const std::string& what) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + what + "\n";
  }
  static std::string name(size_t k) { return "v" + number(static_cast<int64_t>(k)); }
  // Within a tile there are several of what is not the same for all elements.
  std::string value(int k) const {
    bool several = kind_ == GroupKind::contract && k >= program_.once;
    return name(static_cast<size_t>(k)) + (several ? "[i]" : "");
  }
  static std::string memory(int m) { return "m" + number(m); }

  // Which part of memory a row or an element value is read at.
  std::string at(bool row) const {
    if (kind_ == GroupKind::contract) return "at[i]";
    return row ? "row" : "at";
  }
  std::string position(const std::string& of, const std::string& where) const {
    const char* function = kind_ == GroupKind::contract ? "near_position(" : "position(";
    return function + of + ".layout, " + where + ")";
  }

  std::string loaded(int m, Compute type, const std::string& where) const {
    Dtype dtype = segment_.memory[static_cast<size_t>(m)].dtype;
    return std::string("unpack<") + type_name(type) + ">(load_number(" + memory(m) + ".data, " +
           dtype_text(dtype) + ", " + where + "))";
  }

  std::string input(size_t k, int j, Compute type) const {
    int source = sources_[k].in[j];
    if (source >= 0) return value(source);
    return loaded(~source, type, at(code()[k].row_input));
  }

  std::string rounded(const Instruction& i, const std::string& x) const {
    if (!needs_rounding(i.dtype)) return x;
    return std::string("unpack<") + type_name(i.type) + ">(round_number(" + dtype_text(i.dtype) +
           ", pack(" + x + ")))";
  }

  std::string expression(size_t k) const {
    const Instruction& i = code()[k];
    std::string type = type_name(i.type), index = number(i.index);
    auto as_mathematical = [&](int j) {
      return std::string("Mathematical<") + type_name(i.from) + ">(" + input(k, j, i.from) + ")";
    };
    switch (i.code) {
      case Opcode::load: {
        const Memory& from = segment_.memory[static_cast<size_t>(i.index)];
        std::string where = at(i.row);
        if (!from.contiguous) where = position(memory(i.index), where);
        return loaded(i.index, i.type, where);
      }
      case Opcode::constant: {
        std::string bits = "view(segment.constants, " + index + ").value[0]";
        bool floating = i.type == Compute::f32 || i.type == Compute::f64;
        if (floating) bits = "unpack<double>(" + bits + ")";
        return rounded(i, "static_cast<" + type + ">(" + bits + ")");
      }
      case Opcode::iota: {
        std::string m = memory(i.index);
        return rounded(
            i, "static_cast<" + type + ">(" + m + ".offset + " + position(m, at(i.row)) + ")");
      }
      case Opcode::random: {
        std::string c = "view(segment.constants, " + index + ").value";
        const char* f = i.type == Compute::f32   ? "philox_uniform32"
                        : i.type == Compute::f64 ? "philox_uniform64"
                                                 : "philox_bits";
        return "static_cast<" + type + ">(" + f + "(" + c + "[0], " + c +
               "[1], static_cast<uint64_t>(" + at(i.row) + ")))";
      }
      case Opcode::elementwise: {
        std::string call = std::string("table::") + names[i.detail] + "_of(" + as_mathematical(0);
        if (i.in[1] != no_place) call += ", " + as_mathematical(1);
        return "unpack<" + type + ">(pack(" + call + ")))";
      }
      case Opcode::select:
        return input(k, 0, Compute::i32) + " != 0 ? " + input(k, 1, i.type) + " : " +
               input(k, 2, i.type);
      case Opcode::cast:
        return "cpu::convert<" + type + ">(" + input(k, 0, i.from) + ")";
      case Opcode::to_boolean:
        return input(k, 0, i.from) + " != 0";
      case Opcode::round:
        return rounded(i, input(k, 0, i.type));
      default:  // store, expand
        return input(k, 0, i.type);
    }
  }

  void define(int depth, size_t k) {
    line(depth, std::string(type_name(code()[k].type)) + " " + value(static_cast<int>(k)) + " = " +
                    expression(k) + ";");
  }
  void put(int depth, size_t k) {
    const Instruction& i = code()[k];
    Dtype dtype = segment_.memory[static_cast<size_t>(memory_of(i))].dtype;
    std::string stored = i.code == Opcode::store ? input(k, 0, i.type) : value(static_cast<int>(k));
    line(depth, "store_number(" + memory(memory_of(i)) + ".data, " + dtype_text(dtype) + ", " +
                    at(i.row) + ", pack(" + stored + "));");
  }

  // Everything that is computed before the loops.
  void memory_and_constants() {
    for (size_t m = 0; m < segment_.memory.size(); ++m) {
      line(1, "[[maybe_unused]] const MemoryView& " + memory(static_cast<int>(m)) +
                  " = view(segment.memory, " + number(static_cast<int64_t>(m)) + ");");
    }
    for (size_t k = 0; k < static_cast<size_t>(program_.once); ++k) {
      const Instruction& i = code()[k];
      std::string x = expression(k);
      if (i.code == Opcode::load) x = loaded(i.index, i.type, "0");
      line(1, std::string(type_name(i.type)) + " " + value(static_cast<int>(k)) + " = " + x + ";");
    }
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
    line(1, "if (first + threadIdx.x >= end) return;");
    memory_and_constants();
    line(1, "for (int64_t at = first + threadIdx.x; at < end; at += blockDim.x) {");
    for (size_t k = static_cast<size_t>(program_.once); k < code().size(); ++k) {
      if (code()[k].code != Opcode::store) define(2, k);
      if (stores(code()[k])) put(2, k);
    }
    line(1, "}");
  }

  // The element values that instruction k needs, in order.
  void need(int k, std::vector<bool>* needed) const {
    if (k < program_.once || code()[static_cast<size_t>(k)].row) return;
    if ((*needed)[static_cast<size_t>(k)]) return;
    (*needed)[static_cast<size_t>(k)] = true;
    need_inputs(static_cast<size_t>(k), needed);
  }
  void need_inputs(size_t k, std::vector<bool>* needed) const {
    for (int j = 0; j < 3; ++j) {
      if (code()[k].in[j] != no_place && sources_[k].in[j] >= 0) need(sources_[k].in[j], needed);
    }
  }

  void begin_columns() {
    line(2, "for (int64_t column = lane; column < segment.columns; column += 32) {");
    line(3, "[[maybe_unused]] int64_t at = row * segment.columns + column;");
  }

  void reduction(size_t k) {
    const Instruction& i = code()[k];
    std::string type = type_name(i.type), own = value(static_cast<int>(k));
    std::string how = "Reduction(" + number(i.detail) + ")";
    line(2, type + " " + own + " = identity_of<" + type + ">(" + how + ");");
    begin_columns();
    std::vector<bool> needed(code().size(), false);
    need_inputs(k, &needed);
    for (size_t other = 0; other < k; ++other) {
      if (needed[other]) define(3, other);
    }
    line(3, own + " = combine(" + how + ", " + own + ", " + input(k, 0, i.type) + ");");
    line(2, "}");
    line(2, own + " = __shfl_sync(0xffffffff, combine_lanes(" + how + ", " + own + "), 0);");
  }

  void rows() {
    line(1, "const SegmentView& segment = view(program.segments);");
    memory_and_constants();
    line(1, "int64_t lane = threadIdx.x % 32, warps = int64_t{gridDim.x} * (blockDim.x / 32);");
    line(1, "int64_t first = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;");
    line(1, "for (int64_t row = first; row < segment.rows; row += warps) {");
    for (size_t k = static_cast<size_t>(program_.once); k < code().size(); ++k) {
      const Instruction& i = code()[k];
      if (!i.row) continue;
      if (i.code == Opcode::reduce)
        reduction(k);
      else if (i.code != Opcode::store)
        define(2, k);
    }
    std::vector<bool> needed(code().size(), false);
    for (size_t k = static_cast<size_t>(program_.once); k < code().size(); ++k) {
      if (code()[k].row || !stores(code()[k])) continue;
      if (code()[k].code == Opcode::store)
        need_inputs(k, &needed);
      else
        need(static_cast<int>(k), &needed);
    }
    begin_columns();
    for (size_t k = static_cast<size_t>(program_.once); k < code().size(); ++k) {
      const Instruction& i = code()[k];
      if (i.row) continue;
      if (needed[k]) define(3, k);
      if (stores(i)) put(3, k);
    }
    line(2, "}");
    for (size_t k = static_cast<size_t>(program_.once); k < code().size(); ++k) {
      if (!code()[k].row || !stores(code()[k])) continue;
      line(2, "if (lane == 0)");
      put(3, k);
    }
    line(1, "}");
  }

  const Program& program_;
  const Segment& segment_;
  const GroupKind kind_;
  const std::string tile_ = number(1024);
  std::vector<Sources> sources_;
  std::string text_;
};

}  // namespace

std::string generate(const Program& program, const Segment& segment, GroupKind kind) {
  return Generator(program, segment, kind).run();
}
std::string generate_within(const Program& program, const Segment& segment,
                            const HopperTileText& tile) {
  return Generator(program, segment, GroupKind::contract).run_within(tile);
}

}  // namespace mt::cuda
