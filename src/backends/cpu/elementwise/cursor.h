// SPDX-License-Identifier: Apache-2.0
// How kernels walk along their operands. Included once for each instruction set.
#include <cstring>

#include "backends/cpu/cache.h"
#include "backends/cpu/elementwise/first_lanes.h"
#include "backends/cpu/elementwise/kernels.h"

#if defined(MT_CPU_CURSOR_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CPU_CURSOR_H
#undef MT_CPU_CURSOR_H
#else
#define MT_CPU_CURSOR_H
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// A kernel's position in an operand: vectors that follow one another, or the same ones repeated.
template <class T>
struct Cursor {
  const char* row;
  int64_t pitch;
  size_t step;  // bytes from one vector to the next
  HWY_INLINE explicit Cursor(const Input& in)
      : row(static_cast<const char*>(in.data)),
        pitch(in.pitch),
        step(in.repeated ? 0 : lane_count<T> * sizeof(T)) {}
  // Returns where the next row begins; `block` has room for as many elements as are read at once.
  template <size_t count = lane_count<T>>
  HWY_INLINE const char* begin(T* block) {
    const char* at = row;
    row += pitch;
    if (step != 0) return at;
    T value;
    memcpy(&value, at, sizeof(T));
    for (size_t i = 0; i < count; i += lane_count<T>)
      hn::Store(hn::Set(Tag<T>(), value), Tag<T>(), block + i);
    return reinterpret_cast<const char*>(block);
  }
  // Returns where the n elements at `at` begin a whole vector: `block`, unless they are repeated.
  HWY_INLINE const char* first(const char* at, size_t n, T* block) const {
    if (step == 0) return at;
    hn::Store(load_first(Tag<T>(), reinterpret_cast<const T*>(at), n), Tag<T>(), block);
    return reinterpret_cast<const char*>(block);
  }
};
template <class T>
HWY_INLINE Vector<T> load(const char* from) {
  return Vector<T>(hn::LoadU(Tag<T>(), reinterpret_cast<const T*>(from)));
}
template <class T>
HWY_INLINE Vector<T> load(const char* from, size_t n) {
  return Vector<T>(load_first(Tag<T>(), reinterpret_cast<const T*>(from), n));
}

// Prefetches memory `ahead` bytes further.
HWY_INLINE void fetch(const char* from, int64_t ahead) {
  fetch_line(reinterpret_cast<const char*>(reinterpret_cast<intptr_t>(from) + ahead));
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();
#endif
