// SPDX-License-Identifier: Apache-2.0
// Stacks that are jumped between. The address sanitizer has to be told of every jump, before and
// after, or it takes a fiber's frames for overflows of the thread's stack.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace grid {

struct Stack {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* aside = nullptr;  // where the sanitizer keeps its variables
};

#ifdef __SANITIZE_ADDRESS__

// A stack that nothing has run on, or whose fiber was given up where it stood.
inline void clear(Stack& stack) {
  stack.aside = nullptr;
  ASAN_UNPOISON_MEMORY_REGION(stack.bottom, stack.bytes);
}
// `from` will be jumped to again.
inline void leave(Stack& from, const Stack& to) {
  __sanitizer_start_switch_fiber(&from.aside, to.bottom, to.bytes);
}
inline void leave_forever(const Stack& to) {
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
}
inline void arrive(const Stack& here) {
  __sanitizer_finish_switch_fiber(here.aside, nullptr, nullptr);
}
// Says where the one that was left lies.
inline void arrive(const Stack& here, Stack& from) {
  __sanitizer_finish_switch_fiber(here.aside, &from.bottom, &from.bytes);
}

#else

inline void clear(Stack&) {}
inline void leave(Stack&, const Stack&) {}
inline void leave_forever(const Stack&) {}
inline void arrive(const Stack&) {}
inline void arrive(const Stack&, Stack&) {}

#endif

}  // namespace grid
