// SPDX-License-Identifier: Apache-2.0
// One or more cases for every operator of the C interface: sample inputs, and the call. The
// committed test vectors, which all languages run, are made from the same.
#pragma once

#include "every_operator/call.h"

namespace every_operator {

enum class Kind { floating, integer, boolean };

// Numbers drawn from [low, high], fixed by the case's name.
struct Input {
  std::vector<int64_t> dims;
  double low = -2, high = 2;
  Kind kind = Kind::floating;
};

struct Case {
  std::string name;     // the function's, without mt_
  std::string variant;  // what is special about this case
  std::vector<Input> inputs;
  Function function;
  Json arguments;
  // To which order the gradient is compared with differences; 0: not differentiable.
  int order = 2;
  // How far float32 on the CPU may be from the reference, relative to the largest element.
  double tolerance = 2e-6;
  // Too long to run under the checks of random access; or not the same on a trace (it reads
  // values).
  bool traced = true;
  int part = 0;                                 // which of the results, if there are several
  std::optional<uint64_t> seed = std::nullopt;  // that the thread's generator is given first
  bool narrow = true;                           // takes floats of 16 bits

  mt_tensor* call(mt_tensor* const* in) const {
    if (seed) mt_seed(*seed);
    Arguments values(arguments, in, inputs.size(), part);
    return function(values);
  }
  // The inputs' values, in a type that holds them all; made within the caller's scope.
  std::vector<mt_tensor*> make_inputs(mt_dtype floating, const char* device) const;
};

const std::vector<Case>& cases();
// More, which the test vectors alone have.
const std::vector<Case>& vectors_alone();

// What the tables are written with: an operator and what it is called with, and usual operands.
#define CALL(name, arguments) from_arguments<mt_##name>, Json::parse(arguments)
inline const Input matrix = {{4, 5}}, cube = {{2, 3, 4}};

// The tables that have a file of their own.
void add_linear(std::vector<Case>* all);
void add_linalg(std::vector<Case>* all);
void add_nn(std::vector<Case>* all);
void add_parts(std::vector<Case>* all);
void add_creation(std::vector<Case>* all);

}  // namespace every_operator
