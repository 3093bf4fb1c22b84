// SPDX-License-Identifier: Apache-2.0
// Text that the caller owns and frees with mt_free_string().
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace mt::api {

inline char* give_text(const std::string& text) {
  char* result = static_cast<char*>(std::malloc(text.size() + 1));
  if (!result) throw std::bad_alloc();
  std::memcpy(result, text.c_str(), text.size() + 1);
  return result;
}

}  // namespace mt::api
