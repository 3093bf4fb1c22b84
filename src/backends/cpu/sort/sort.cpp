// SPDX-License-Identifier: Apache-2.0
// Sorts each row, without positions: keys are sorted and become elements again. Zeros of both signs
// stay in their order, and so do NaNs, which share one key: these are taken from the row again.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/sort/sort_key.h"
#include "backends/cpu/sort/sorting.h"

namespace mt::cpu {
namespace {

constexpr int64_t few = 8;  // elements: worth neither a network nor restoring

template <class Element>
struct Row {
  using Memory = typename Element::Memory;
  using Bits = std::make_unsigned_t<Memory>;  // as wide as an element, so that keys fit in y
  const Memory* x;
  Memory* y;
  int64_t length;
  bool descending;
  bool floating;

  Bits* keys() const { return reinterpret_cast<Bits*>(y); }
  Bits key(Memory element) const { return static_cast<Bits>(Element::exact_key(element)) ^ turn(); }
  Bits turn() const { return descending ? static_cast<Bits>(~Bits(0)) : Bits(0); }

  void fill(int64_t begin, int64_t end) const {
    const Bits turn = this->turn();
    each(x + begin, keys() + begin, end - begin,
         [=](Memory e) { return static_cast<Bits>(Element::exact_key(e)) ^ turn; });
  }
  void store(const Bits* sorted, int64_t begin, int64_t end) const {
    const Bits turn = this->turn();
    each(sorted + begin, y + begin, end - begin,
         [=](Bits key) { return Element::from_key(static_cast<Bits>(key ^ turn)); });
  }
  // Whole blocks at a time, which compilers vectorize; in place or elsewhere.
  template <class From, class To, class F>
  static void each(const From* from, To* to, int64_t count, F&& f) {
    constexpr int64_t block = 64 / sizeof(To);
    int64_t i = 0;
    for (; i + block <= count; i += block) {
      To made[block];
      for (int64_t k = 0; k < block; ++k) made[k] = static_cast<To>(f(from[i + k]));
      std::copy(made, made + block, to + i);
    }
    for (; i < count; ++i) to[i] = static_cast<To>(f(from[i]));
  }

  // Where elements with that key begin in the sorted row; the length if there are none.
  int64_t run_of(Bits wanted) const {
    const Memory* first = std::lower_bound(
        y, y + length, wanted, [&](Memory element, Bits bits) { return key(element) < bits; });
    return first != y + length && key(*first) == wanted ? first - y : length;
  }
  // Restores the original order of elements that keys do not tell apart, or order wrongly.
  void restore() const {
    if (!floating) return;
    const Bits zeros[2] = {key(0), key(Memory(Memory(1) << (8 * sizeof(Memory) - 1)))};
    const Bits nan = static_cast<Bits>(~Bits(0)) ^ turn();
    const int64_t runs[2] = {run_of(zeros[0]), run_of(zeros[1])};
    const bool both = std::max(runs[0], runs[1]) < length;
    int64_t zero = std::min(runs[0], runs[1]), nans = run_of(nan);
    if (!both && nans == length) return;
    for (int64_t i = 0; i < length; ++i) {
      const Bits own = key(x[i]);
      if (own == zeros[0] || own == zeros[1]) y[zero++] = x[i];
      if (own == nan) y[nans++] = x[i];
    }
  }

  // Each element goes after all that are less, or equal and earlier; no branch depends on that.
  void sort_few() const {
    Bits keys[few];
    int places[few];
    for (int i = 0; i < length; ++i) {
      const Bits key = static_cast<Bits>(Element::key(x[i])) ^ turn();
      int place = 0;
      for (int before = 0; before < i; ++before) {
        const bool greater = keys[before] > key;
        places[before] += greater;
        place += !greater;
      }
      keys[i] = key;
      places[i] = place;
    }
    for (int i = 0; i < length; ++i) y[places[i]] = x[i];
  }
  void sort() const {
    if (length <= few) return sort_few();
    fill(0, length);
    sort_numbers(keys(), length);
    store(keys(), 0, length);
    restore();
  }
  // On all threads: keys are made as they are distributed.
  void sort_alone() const {
    KeyForm<Bits> form{floating, {}, turn()};
    if constexpr (requires { Element::infinite; }) form.infinity = Element::infinite;
    if (!floating) form.turned ^= static_cast<Bits>(Element::exact_key(0));
    sort_in_pieces(
        reinterpret_cast<const Bits*>(x), form, keys(), length,
        [&](int64_t i) { return key(x[i]); },
        [&](const Bits* sorted, int64_t begin, int64_t end) { store(sorted, begin, end); });
    restore();
  }
};

template <class Element>
void sort(const NaiveCall& call) {
  using Memory = typename Element::Memory;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  int64_t length = y.layout.shape.back(), count = y.size() / length;
  auto row = [&](int64_t i) {
    return Row<Element>{reinterpret_cast<const Memory*>(first_element(x)) + i * length,
                        reinterpret_cast<Memory*>(first_element(y)) + i * length, length,
                        call.attributes[0] != 0, is_floating(y.dtype)};
  };
  if constexpr (sizeof(Memory) > 1) {
    const bool shared = count == 1 && length >= 4 * shortest_piece && thread_count() > 1;
    if (shared) return row(0).sort_alone();
  }
  parallel_for(count, grain_of(8 * length), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(i).sort();
  });
}

}  // namespace

void sort_kernel(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  with_element(call.output.dtype, [&](auto element) { sort<decltype(element)>(call); });
}

}  // namespace mt::cpu
