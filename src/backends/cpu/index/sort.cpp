// SPDX-License-Identifier: Apache-2.0
// Each row in order, without positions: keys are sorted and become elements again. Keys do not tell
// the two zeros, nor NaNs, from each other; those are taken from the row anew, in their order.
#include <algorithm>
#include <cstdlib>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/index/sort_key.h"
#include "backends/cpu/index/sorting.h"

namespace mt::cpu {
namespace {

template <class Element>
struct Row {
  using Memory = typename Element::Memory;
  using Bits = std::make_unsigned_t<Memory>;  // as wide as an element, so keys lie where those will
  const Memory* x;
  Memory* y;
  int64_t length;
  bool descending;
  bool floating;

  Bits* keys() const { return reinterpret_cast<Bits*>(y); }
  Bits turned(Bits key) const { return descending ? static_cast<Bits>(~key) : key; }
  Bits key(Memory element) const { return turned(static_cast<Bits>(Element::key(element))); }

  void fill(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) keys()[i] = key(x[i]);
  }
  void store(const Bits* sorted, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) y[i] = Element::from_key(turned(sorted[i]));
  }

  // Where the run of elements that share that key begins; the length if there are none.
  int64_t run_of(const Bits* sorted, Bits key) const {
    const Bits* first = std::lower_bound(sorted, sorted + length, key);
    return first != sorted + length && *first == key ? first - sorted : length;
  }
  // Turns sorted keys into elements; `each_part` calls for parts of the row.
  template <class Parts>
  void finish(const Bits* sorted, Parts&& each_part) const {
    Bits zero = key(0), nan = turned(static_cast<Bits>(~Bits(0)));
    int64_t zeros = floating ? run_of(sorted, zero) : length;
    int64_t nans = floating ? run_of(sorted, nan) : length;
    each_part([&](int64_t begin, int64_t end) { store(sorted, begin, end); });
    if (zeros == length && nans == length) return;
    for (int64_t i = 0; i < length; ++i) {
      Bits own = key(x[i]);
      if (own == zero) y[zeros++] = x[i];
      if (own == nan) y[nans++] = x[i];
    }
  }

  void sort() const {
    fill(0, length);
    sort_numbers(keys(), length);
    finish(keys(), [&](auto&& part) { part(0, length); });
  }
  // With all threads, and working memory of a row.
  void sort_alone(Bits* spare) const {
    auto shared = [&](auto&& part) { parallel_for(length, piece, part); };
    shared([&](int64_t begin, int64_t end) { fill(begin, end); });
    finish(sort_in_pieces(keys(), spare, length), shared);
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
    bool shared = count == 1 && length >= 2 * piece && thread_count() > 1;
    size_t bytes = static_cast<size_t>(length) * sizeof(Memory);
    if (void* spare = shared ? std::malloc(bytes) : nullptr) {
      row(0).sort_alone(static_cast<typename Row<Element>::Bits*>(spare));
      return std::free(spare);
    }
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
