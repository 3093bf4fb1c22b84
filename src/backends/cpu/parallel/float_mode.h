// SPDX-License-Identifier: Apache-2.0
// The floating-point control register. Host programs change it, audio programs above all to flush
// denormals; kernels run with rounding to nearest and denormals kept, on whichever thread.
#pragma once

#include <cstdint>

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace mt::cpu {

class StandardFloatMode {
 public:
  StandardFloatMode() : previous_(get()) {
    if (previous_ != standard) set(standard);
  }
  ~StandardFloatMode() {
    if (previous_ != standard) set(previous_);
  }
  StandardFloatMode(const StandardFloatMode&) = delete;

 private:
#if defined(__SSE2__)
  using Word = uint32_t;
  static constexpr Word standard = 0x1f80;                  // all exceptions masked, nothing else
  static Word get() { return _mm_getcsr() & ~Word{0x3f}; }  // without the sticky flags
  static void set(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word standard = 0;
  static Word get() {
    Word word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void set(Word word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = int;
  static constexpr Word standard = 0;
  static Word get() { return 0; }
  static void set(Word) {}
#endif
  Word previous_;
};

}  // namespace mt::cpu
