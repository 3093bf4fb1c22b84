// SPDX-License-Identifier: Apache-2.0
// The one exception type. Inside the library every fault is thrown as an Error; the C boundary
// turns it into a code and a message.
#pragma once

#include <stdexcept>
#include <string>

namespace mt {

enum class Code : int {
  ok = 0,
  invalid = -1,       // a value, axis, name or state that cannot be
  shape = -2,         // shapes that do not fit
  dtype = -3,         // element types that do not fit
  memory = -4,        // out of memory
  device = -5,        // no such device, or devices that differ
  user = -6,          // a user's callback failed
  null = -7,          // a required pointer was NULL
  no_gradient = -8,   // asked for a gradient that does not exist
  io = -9,            // a file that cannot be read, written or understood
  index = -10,        // an index out of range
  trace = -11,        // not possible inside a trace
  unsupported = -12,  // valid, but this build or device cannot do it
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

// printf-style, so that this header needs no formatting library. Messages begin with the
// operator's name and show what is wrong: "matmul: [64,3] x [2,1]: inner sizes 3 and 2 differ".
[[noreturn]] void fail(Code code, const char* format, ...)
    __attribute__((format(printf, 2, 3), cold));

}  // namespace mt
