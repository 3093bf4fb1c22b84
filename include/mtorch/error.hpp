// SPDX-License-Identifier: Apache-2.0
/// @file error.hpp
/// What is thrown when a function of the library fails. See mtorch.hpp.
#ifndef MTORCH_ERROR_HPP_
#define MTORCH_ERROR_HPP_

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "error.h"
#include "tensor.h"

namespace mtorch {

/// What a function threw: the message and the code of the library.
class Error : public std::runtime_error {
 public:
  Error(mt_status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  /// MT_ESHAPE, ...
  mt_status code() const { return code_; }

 private:
  mt_status code_;
};

/// @cond
namespace detail {

// The exception that a callback of this thread threw, on its way through the library.
inline thread_local std::exception_ptr thrown;

[[noreturn]] inline void raise() {
  Error error(mt_error(), mt_error_message());
  mt_clear();
  if (std::exception_ptr inner = std::exchange(thrown, nullptr);
      inner && error.code() == MT_EUSER) {
    std::rethrow_exception(inner);
  }
  throw error;
}

template <class T>
T* required(T* result) {
  if (!result) raise();
  return result;
}

// Text as C has it, where it ends at the first NUL.
inline const char* text(const std::string& given) {
  if (given.find('\0') != std::string::npos) {
    throw Error(MT_EINVAL, std::string("\"") + given.c_str() + "\": the text goes on after a NUL");
  }
  return given.c_str();
}

inline std::string take_string(char* text) {
  std::string result = required(text);
  mt_free_string(text);
  return result;
}

}  // namespace detail
/// @endcond

/// Throws the error of this thread, if there is one: for C functions that have no form here.
inline void check(mt_status status = MT_OK) {
  if (status != MT_OK || mt_error() != MT_OK) detail::raise();
}

}  // namespace mtorch

#endif
