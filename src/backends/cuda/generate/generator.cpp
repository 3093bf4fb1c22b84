// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/generate/generator.h"

#include <algorithm>
#include <map>

#include "ops/saturates.h"

namespace mt::cuda {
namespace {

const char* const names[] = {
#define UNARY(name, domain, result, value, gradient) #name,
#define BINARY(name, domain, result, value, gradient_a, gradient_b) #name,
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};

}  // namespace

const char* type_name(Compute type) {
  static const char* const types[] = {"float", "double", "int32_t", "int64_t", "uint64_t"};
  return types[static_cast<int>(type)];
}
std::string dtype_text(Dtype dtype) {
  return "Dtype(" + std::to_string(static_cast<int>(dtype)) + ")";
}
std::string number(int64_t n) { return std::to_string(n); }

void Generator::includes() {
  text_ +=
      "#include \"backends/cuda/device/operators.h\"\n"
      "#include \"backends/cuda/device/positions.h\"\n"
      "#include \"backends/cuda/device/vectors.h\"\n"
      "#include \"ops/philox.h\"\n\n"
      "using namespace mt;\nusing namespace mt::cuda;\n\n";
}

void Generator::begin(unsigned threads) {
  text_ += "extern \"C\" __global__ void __launch_bounds__(" + number(threads) + ") " +
           generated_name + "(const ProgramView* group) {\n" +
           "  const ProgramView& program = view(group);\n";
}

void Generator::find_sources() {
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

std::string Generator::position(const std::string& of, const std::string& where) const {
  return (near_ ? "near_position(" : "position(") + of + ".layout, " + where + ")";
}

std::string Generator::place(int m, const std::string& where) const {
  if (segment_.memory[static_cast<size_t>(m)].contiguous) return where;
  return position(memory(m), where);
}

std::string Generator::loaded(int m, Compute type, const std::string& where) const {
  return std::string("unpack<") + type_name(type) + ">(load_number(" + data(m) + ", " +
         dtype_text(dtype_of(m)) + ", " + where + "))";
}

std::string Generator::element(int m, Compute type, bool row) const {
  if (!is_read_ || (row && !several_)) return loaded(m, type, place(m, at(row)));
  return std::string("unpack<") + type_name(type) + ">(from_bits(" + dtype_text(dtype_of(m)) +
         ", x" + number(m) + "[i]))";
}

void Generator::read_memory(int depth, const std::vector<bool>& made, const std::string& at,
                            const std::string& count) {
  std::vector<int> known;
  auto read = [&](int m) {
    if (std::find(known.begin(), known.end(), m) != known.end()) return;
    known.push_back(m);
    const Access access =
        vectors_.memory.empty() ? Access::apart : vectors_.memory[static_cast<size_t>(m)];
    const std::string how = access == Access::adjacent ? "read_numbers<adjacent>"
                            : access == Access::same   ? "repeat_numbers<adjacent>"
                                                       : "read_numbers<1>";
    line(depth, bits_of(m) + " x" + number(m) + "[" + (several_ ? "together" : "adjacent") + "];");
    line(depth, how + "(" + data(m) + ", " + at + ", " + count + ", x" + number(m) +
                    ", [&](int64_t element) { return " + place(m, "element") + "; });");
  };
  for (size_t k = once(); k < code().size(); ++k) {
    if (!made[k]) continue;
    if (code()[k].code == Opcode::load) read(code()[k].index);
    for (int j = 0; j < 3; ++j) {
      const bool of_row = code()[k].row_input && !several_;
      if (code()[k].in[j] != no_place && sources_[k].in[j] < 0 && !of_row) {
        read(~sources_[k].in[j]);
      }
    }
  }
}

std::string Generator::as_bits(size_t k) const {
  return "static_cast<" + bits_type(k) + ">(to_bits(" + dtype_text(dtype_of(memory_of(code()[k]))) +
         ", pack(" + stored(k) + ")))";
}

std::string Generator::input(size_t k, int j, Compute type) const {
  int source = sources_[k].in[j];
  if (source >= 0) return value(static_cast<size_t>(source));
  return element(~source, type, code()[k].row_input);
}

std::string Generator::rounded(const Instruction& i, const std::string& x) const {
  if (!needs_rounding(i.dtype)) return x;
  return std::string("unpack<") + type_name(i.type) + ">(round_number(" + dtype_text(i.dtype) +
         ", pack(" + x + ")))";
}

std::string Generator::expression(size_t k) const {
  const Instruction& i = code()[k];
  std::string type = type_name(i.type), index = number(i.index);
  auto as_mathematical = [&](int j) {
    return std::string("Mathematical<") + type_name(i.from) + ">(" + input(k, j, i.from) + ")";
  };
  switch (i.code) {
    case Opcode::load: return element(i.index, i.type, i.row);
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
    case Opcode::cast: {
      std::string converted = "convert<" + type + ">(" + input(k, 0, i.from) + ")";
      if (!saturates(i.from, i.dtype)) return converted;
      return "within_range(" + dtype_text(i.dtype) + ", " + converted + ")";
    }
    case Opcode::to_boolean: return input(k, 0, i.from) + " != 0";
    case Opcode::round: return rounded(i, input(k, 0, i.type));
    default:  // store, expand
      return input(k, 0, i.type);
  }
}

void Generator::define(int depth, size_t k) {
  line(depth,
       std::string(type_name(code()[k].type)) + " " + value(k) + " = " + expression(k) + ";");
}
std::string Generator::stored(size_t k) const {
  const Instruction& i = code()[k];
  return i.code == Opcode::store ? input(k, 0, i.type) : value(k);
}
void Generator::put(int depth, size_t k, const std::string& what) {
  const Instruction& i = code()[k];
  const int m = memory_of(i);
  line(depth, "store_number(" + data(m) + ", " + dtype_text(dtype_of(m)) + ", " + at(i.row) +
                  ", pack(" + what + "));");
}

void Generator::memory_and_constants() {
  for (size_t m = 0; m < segment_.memory.size(); ++m) {
    const int index = static_cast<int>(m);
    line(1, "[[maybe_unused]] const MemoryView& " + memory(index) + " = view(segment.memory, " +
                number(index) + ");");
    // Not to be read again after each store, which might have been to it.
    line(1, "[[maybe_unused]] char* const " + data(index) + " = " + memory(index) + ".data;");
  }
  for (size_t k = 0; k < static_cast<size_t>(program_.once); ++k) {
    const Instruction& i = code()[k];
    std::string x = expression(k);
    if (i.code == Opcode::load) x = loaded(i.index, i.type, "0");
    line(1, std::string(type_name(i.type)) + " " + value(k) + " = " + x + ";");
  }
}

void Generator::need(int k, std::vector<bool>* needed) const {
  if (k < program_.once || code()[static_cast<size_t>(k)].row) return;
  if ((*needed)[static_cast<size_t>(k)]) return;
  (*needed)[static_cast<size_t>(k)] = true;
  need_inputs(static_cast<size_t>(k), needed);
}
void Generator::need_inputs(size_t k, std::vector<bool>* needed) const {
  for (int j = 0; j < 3; ++j) {
    if (code()[k].in[j] != no_place && sources_[k].in[j] >= 0) need(sources_[k].in[j], needed);
  }
}

void Generator::begin_columns() {
  line(2, "for (int64_t column = lane; column < segment.columns; column += 32) {");
  line(3, "[[maybe_unused]] int64_t at = row * segment.columns + column;");
}

void Generator::reduction(size_t k) {
  const Instruction& i = code()[k];
  std::string type = type_name(i.type), own = value(k);
  line(2, type + " " + own + " = identity_of<" + type + ">(" + how(i) + ");");
  begin_columns();
  std::vector<bool> needed(code().size(), false);
  need_inputs(k, &needed);
  for (size_t other = 0; other < k; ++other) {
    if (needed[other]) define(3, other);
  }
  line(3, own + " = combine(" + how(i) + ", " + own + ", " + input(k, 0, i.type) + ");");
  line(2, "}");
  line(2, own + " = __shfl_sync(0xffffffff, combine_lanes(" + how(i) + ", " + own + "), 0);");
}

void Generator::row_values() {
  for (size_t k = once(); k < code().size(); ++k) {
    const Instruction& i = code()[k];
    if (!i.row) continue;
    if (i.code == Opcode::reduce)
      reduction(k);
    else if (i.code != Opcode::store)
      define(2, k);
  }
}

std::vector<bool> Generator::needed_by_stores() const {
  std::vector<bool> needed(code().size(), false);
  for (size_t k = once(); k < code().size(); ++k) {
    if (code()[k].row || !stores(code()[k])) continue;
    if (code()[k].code == Opcode::store)
      need_inputs(k, &needed);
    else
      need(static_cast<int>(k), &needed);
  }
  return needed;
}

}  // namespace mt::cuda
