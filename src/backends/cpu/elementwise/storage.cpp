// SPDX-License-Identifier: Apache-2.0
// Converts memory of each dtype to its compute type and back.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/elementwise/targets.h"
#include "backends/cpu/strided/strided.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/storage.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/half_floats.h"
#include "backends/cpu/elementwise/vector.h"
#include "base/rounding.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <size_t size>
void copy(void* out, const void* const* inputs, int64_t n) {
  if (out != inputs[0]) copy_bytes(out, inputs[0], static_cast<size_t>(n) * size);
}

template <size_t size>
void stream(void* out, const void* const* inputs, int64_t n) {
  constexpr Tag<uint8_t> d;
  constexpr size_t lanes = lane_count<uint8_t>;
  const uint8_t* x = static_cast<const uint8_t*>(inputs[0]);
  uint8_t* y = static_cast<uint8_t*>(out);
  const size_t count = static_cast<size_t>(n) * size;
  // Whole lines: one written partly past the caches and partly through them takes both paths.
  constexpr size_t line = std::max<size_t>(cache_line, lanes);
  size_t i = std::min(count, -reinterpret_cast<uintptr_t>(out) % line);
  if (i > 0) memcpy(y, x, i);
  for (; i + line <= count; i += line) {
    for (size_t l = i; l < i + line; l += lanes) hn::Stream(hn::LoadU(d, x + l), d, y + l);
  }
  if (i < count) memcpy(y + i, x + i, count - i);
}
Kernel streaming_of(size_t element_size) {
  switch (element_size) {
    case 1: return &stream<1>;
    case 2: return &stream<2>;
    case 4: return &stream<4>;
    default: return &stream<8>;
  }
}

// A dtype's stored form, its compute type, and conversions both ways, of vectors and numbers;
// Float16 and Bfloat16 are such types as well.
template <class T>
struct Narrow {
  using Stored = T;
  using Computed = int32_t;
  static constexpr bool vector = true;
  static int32_t load(T x) { return x; }
  static T store(int32_t x) { return static_cast<T>(x); }
  template <class D, class M, class V>
  static HWY_INLINE auto load(D d, M, V x) {
    return hn::PromoteTo(d, x);
  }
  template <class D, class M, class V>
  static HWY_INLINE auto store(D, M memory, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    constexpr hn::RebindToUnsigned<M> unsigned_memory;
    return hn::BitCast(memory, hn::TruncateTo(unsigned_memory, hn::BitCast(pattern, x)));
  }
  // The value of x after it is stored and loaded again.
  template <class V>
  static HWY_INLINE V round(V x) {
    constexpr int above = 32 - 8 * static_cast<int>(sizeof(T));
    if constexpr (std::is_signed_v<T>) return hn::ShiftRight<above>(hn::ShiftLeft<above>(x));
    return hn::And(x, hn::Set(Tag<int32_t>(), std::numeric_limits<T>::max()));
  }
};
struct Boolean {
  using Stored = uint8_t;
  using Computed = int32_t;
  static constexpr bool vector = true;
  static int32_t load(uint8_t x) { return x != 0; }
  static uint8_t store(int32_t x) { return x != 0; }
  template <class D, class M, class V>
  static HWY_INLINE auto load(D d, M, V x) {
    auto wide = hn::PromoteTo(d, x);
    return hn::IfThenZeroElse(hn::Eq(wide, hn::Zero(d)), hn::Set(d, 1));
  }
  template <class D, class M, class V>
  static HWY_INLINE auto store(D d, M memory, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    auto one = hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), hn::Set(d, 1));
    return hn::TruncateTo(memory, hn::BitCast(pattern, one));
  }
};
struct Uint32 {
  using Stored = uint32_t;
  using Computed = int64_t;
  static constexpr bool vector = true;
  static int64_t load(uint32_t x) { return x; }
  static uint32_t store(int64_t x) { return static_cast<uint32_t>(x); }
  template <class D, class M, class V>
  static HWY_INLINE auto load(D d, M, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    return hn::BitCast(d, hn::PromoteTo(pattern, x));
  }
  template <class D, class M, class V>
  static HWY_INLINE auto store(D, M memory, V x) {
    constexpr hn::RebindToUnsigned<D> pattern;
    return hn::TruncateTo(memory, hn::BitCast(pattern, x));
  }
};

template <class F>
void load_elements(void* out, const void* const* inputs, int64_t n) {
  using Computed = typename F::Computed;
  const auto* x = static_cast<const typename F::Stored*>(inputs[0]);
  Computed* y = static_cast<Computed*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  if constexpr (F::vector) {
    constexpr Tag<Computed> d;
    constexpr hn::Rebind<typename F::Stored, Tag<Computed>> memory;
    i = by_vectors<lane_count<Computed>>(count, [&](size_t at) HWY_ATTR {
      hn::StoreU(F::load(d, memory, hn::LoadU(memory, x + at)), d, y + at);
    });
  }
  for (; i < count; ++i) y[i] = F::load(x[i]);
}
// The same, then converted to float, which holds all such narrow numbers exactly.
template <class F>
void load_floats(void* out, const void* const* inputs, int64_t n) {
  constexpr Tag<int32_t> d;
  constexpr hn::Rebind<typename F::Stored, Tag<int32_t>> memory;
  const auto* x = static_cast<const typename F::Stored*>(inputs[0]);
  float* y = static_cast<float*>(out);
  const size_t count = static_cast<size_t>(n);
  size_t i = by_vectors<lane_count<int32_t>>(count, [&](size_t at) HWY_ATTR {
    const auto integers = F::load(d, memory, hn::LoadU(memory, x + at));
    hn::StoreU(hn::ConvertTo(Tag<float>(), integers), Tag<float>(), y + at);
  });
  for (; i < count; ++i) y[i] = static_cast<float>(F::load(x[i]));
}
template <class F>
void store_elements(void* out, const void* const* inputs, int64_t n) {
  using Stored = typename F::Stored;
  using Computed = typename F::Computed;
  const Computed* x = static_cast<const Computed*>(inputs[0]);
  Stored* y = static_cast<Stored*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  if constexpr (F::vector) {
    constexpr Tag<Computed> d;
    constexpr hn::Rebind<Stored, Tag<Computed>> memory;
    constexpr size_t lanes = lane_count<Computed>;
    const auto load_at = [&](size_t at) HWY_ATTR { return hn::LoadU(d, x + at); };
    if constexpr (requires { F::store_both(d, load_at(0), load_at(0)); }) {
      i = by_vectors<2 * lanes>(count, [&](size_t at) HWY_ATTR {
        const auto both = F::store_both(d, load_at(at), load_at(at + lanes));
        hn::StoreU(both, Tag<Stored>(), y + at);
      });
      if (i + lanes <= count) {
        hn::StoreU(F::store(d, memory, load_at(i)), memory, y + i);
        i += lanes;
      }
    } else {
      i = by_vectors<lanes>(count, [&](size_t at) HWY_ATTR {
        hn::StoreU(F::store(d, memory, load_at(at)), memory, y + at);
      });
    }
  }
  for (; i < count; ++i) y[i] = F::store(x[i]);
}
template <class F>
void round_elements(void* out, const void* const* inputs, int64_t n) {
  using Computed = typename F::Computed;
  const Computed* x = static_cast<const Computed*>(inputs[0]);
  Computed* y = static_cast<Computed*>(out);
  size_t i = 0, count = static_cast<size_t>(n);
  if constexpr (F::vector) {
    constexpr Tag<Computed> d;
    constexpr hn::Rebind<typename F::Stored, Tag<Computed>> memory;
    i = by_vectors<lane_count<Computed>>(count, [&](size_t at) HWY_ATTR {
      const auto value = hn::LoadU(d, x + at);
      if constexpr (requires { F::round(value); }) {
        hn::StoreU(F::round(value), d, y + at);
      } else {
        hn::StoreU(F::load(d, memory, F::store(d, memory, value)), d, y + at);
      }
    });
  }
  for (; i < count; ++i) y[i] = F::load(F::store(x[i]));
}

enum class Direction { load, store, round };

template <class F>
Kernel kernel_of(Direction direction) {
  switch (direction) {
    case Direction::load: return &load_elements<F>;
    case Direction::store: return &store_elements<F>;
    case Direction::round: return &round_elements<F>;
  }
  return nullptr;
}
Kernel storage_of(Direction direction, Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean: return kernel_of<Boolean>(direction);
    case Dtype::uint8: return kernel_of<Narrow<uint8_t>>(direction);
    case Dtype::uint16: return kernel_of<Narrow<uint16_t>>(direction);
    case Dtype::int8: return kernel_of<Narrow<int8_t>>(direction);
    case Dtype::int16: return kernel_of<Narrow<int16_t>>(direction);
    case Dtype::uint32: return kernel_of<Uint32>(direction);
    case Dtype::float16: return kernel_of<Float16>(direction);
    case Dtype::bfloat16: return kernel_of<Bfloat16>(direction);
    case Dtype::int32:
    case Dtype::float32: return &copy<4>;
    case Dtype::int64:
    case Dtype::uint64:
    case Dtype::float64: return &copy<8>;
  }
  return nullptr;
}

Kernel load_floats_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean: return &load_floats<Boolean>;
    case Dtype::uint8: return &load_floats<Narrow<uint8_t>>;
    case Dtype::uint16: return &load_floats<Narrow<uint16_t>>;
    case Dtype::int8: return &load_floats<Narrow<int8_t>>;
    case Dtype::int16: return &load_floats<Narrow<int16_t>>;
    default: return nullptr;
  }
}
Kernel load_of(Dtype dtype) { return storage_of(Direction::load, dtype); }
Kernel store_of(Dtype dtype) { return storage_of(Direction::store, dtype); }
Kernel round_of(Dtype dtype) { return storage_of(Direction::round, dtype); }

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(load_floats_of);
HWY_EXPORT(load_of);
HWY_EXPORT(store_of);
HWY_EXPORT(round_of);
HWY_EXPORT(streaming_of);
Kernel streaming_kernel(size_t element_size) {
  return HWY_DYNAMIC_DISPATCH(streaming_of)(element_size);
}
void finish_streaming() { hwy::FlushStream(); }
Kernel load_floats_kernel(Dtype dtype) { return HWY_DYNAMIC_DISPATCH(load_floats_of)(dtype); }
Kernel load_kernel(Dtype dtype) { return HWY_DYNAMIC_DISPATCH(load_of)(dtype); }
Kernel store_kernel(Dtype dtype) { return HWY_DYNAMIC_DISPATCH(store_of)(dtype); }
Kernel round_kernel(Dtype dtype) { return HWY_DYNAMIC_DISPATCH(round_of)(dtype); }
}  // namespace mt::cpu
#endif
