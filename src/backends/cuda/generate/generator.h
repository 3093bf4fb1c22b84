// SPDX-License-Identifier: Apache-2.0
// A group's program as text, one instruction after another. The loops around it are up to those who
// inherit from this: generate.cpp, generate_panels.cpp.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/generate/generate.h"
#include "plan/plan.h"

namespace mt::cuda {

const char* type_name(Compute type);
std::string dtype_text(Dtype dtype);
std::string number(int64_t n);

class Generator {
 public:
  // `several`: of what is not the same for all elements there are some at a time, by `i`. `near`:
  // 31 bits count them.
  Generator(const Program& program, const Segment& segment, const Vectors& vectors = {},
            bool several = false, bool near = false)
      : program_(program),
        segment_(segment),
        vectors_(vectors),
        several_(several),
        near_(near),
        is_read_(several) {
    find_sources();
  }

 protected:
  // What an input is: the value of an earlier instruction, or, as ~m, memory m as it is.
  struct Sources {
    int in[3] = {0, 0, 0};
  };

  void includes();
  // Begins the kernel, for blocks of at most so many threads.
  void begin(unsigned threads);

  const std::vector<Instruction>& code() const { return program_.instructions; }
  size_t once() const { return static_cast<size_t>(program_.once); }
  static bool stores(const Instruction& i) {
    return i.code == Opcode::store || (i.out != no_place && i.out < 0);
  }
  static int memory_of(const Instruction& i) { return i.code == Opcode::store ? i.index : ~i.out; }

  void line(int depth, const std::string& what) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + what + "\n";
  }
  static std::string name(size_t k) { return "v" + number(static_cast<int64_t>(k)); }
  std::string value(size_t k) const { return name(k) + (several_ && k >= once() ? "[i]" : ""); }
  static std::string memory(int m) { return "m" + number(m); }
  static std::string data(int m) { return "d" + number(m); }
  Dtype dtype_of(int m) const { return segment_.memory[static_cast<size_t>(m)].dtype; }
  // Which part of memory a row or an element value is read at.
  std::string at(bool row) const { return several_ ? "at[i]" : row ? "row" : "at"; }
  // Where in memory m what is read there lies.
  std::string place(int m, const std::string& where) const;
  // The reduction that an instruction makes.
  static std::string how(const Instruction& i) { return "Reduction(" + number(i.detail) + ")"; }

  // Input j of instruction k.
  std::string input(size_t k, int j, Compute type) const;
  // What instruction k gives.
  std::string expression(size_t k) const;
  void define(int depth, size_t k);
  // What instruction k stores, and to do so.
  std::string stored(size_t k) const;
  void put(int depth, size_t k) { put(depth, k, stored(k)); }
  void put(int depth, size_t k, const std::string& what);
  // Everything that is computed before the loops.
  void memory_and_constants();

  // All row values of `row`, by a warp, for whose lanes that is `lane`.
  void row_values();
  void begin_columns();

  // Reads what those instructions need of memory for elements, for `count` of those at places `at`.
  void read_memory(int depth, const std::vector<bool>& made, const std::string& at,
                   const std::string& count);
  // How what instruction k stores of some elements is called, and what it is.
  std::string bits(size_t k) const { return "y" + number(static_cast<int64_t>(k)); }
  std::string bits_type(size_t k) const { return bits_of(memory_of(code()[k])); }
  std::string as_bits(size_t k) const;
  // Which element values the stores of elements need.
  std::vector<bool> needed_by_stores() const;
  // Marks those that instruction k needs.
  void need(int k, std::vector<bool>* needed) const;
  void need_inputs(size_t k, std::vector<bool>* needed) const;

  const Program& program_;
  const Segment& segment_;
  const Vectors vectors_;
  const bool several_, near_;
  bool is_read_;  // what elements need of memory lies in x0[i], x1[i] ...
  std::vector<Sources> sources_;
  std::string text_;

 private:
  void find_sources();
  std::string position(const std::string& of, const std::string& where) const;
  std::string loaded(int m, Compute type, const std::string& where) const;
  std::string element(int m, Compute type, bool row) const;
  std::string bits_of(int m) const {
    return "uint" + number(static_cast<int64_t>(8 * size_of(dtype_of(m)))) + "_t";
  }
  std::string rounded(const Instruction& i, const std::string& x) const;
  void reduction(size_t k);
};

}  // namespace mt::cuda
