// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cstdarg>
#include <cstdio>

namespace mt {

void fail(Code code, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw Error(code, text);
}

}  // namespace mt
