// SPDX-License-Identifier: Apache-2.0
// The positions that sort each row. A key and a position make one number, so no two are equal and
// every correct way of sorting gives the same result: numbers are sorted in vectors; and if few are
// wanted, most elements are skipped.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/sort/sort_key.h"
#include "backends/cpu/sort/sorting.h"

namespace mt::cpu {
namespace {

uint64_t pair_of(uint32_t key, int64_t position) {
  return uint64_t{key} << 32 | static_cast<uint32_t>(position);
}
hwy::uint128_t pair_of(uint64_t key, int64_t position) {
  return {static_cast<uint64_t>(position), key};
}
uint32_t key_of(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
uint64_t key_of(hwy::uint128_t pair) { return pair.hi; }
int64_t position_of(uint64_t pair) { return static_cast<uint32_t>(pair); }
int64_t position_of(hwy::uint128_t pair) { return static_cast<int64_t>(pair.lo); }

constexpr int64_t most_panels = 16;

// Whether one element of a row comes before another.
struct Before {
  const void* row;
  uint64_t (*key)(const void* row, int64_t i);
  bool descending;

  bool operator()(int64_t i, int64_t j) const {
    uint64_t a = key(row, i), b = key(row, j);
    if (a == b) return i < j;
    return descending ? a > b : a < b;
  }
};
// Without working memory: sorts positions in place if all are wanted, else searches for the next
// best again and again.
void sort_in_place(const Before& before, int64_t length, int64_t* out, int64_t kept) {
  if (kept == length) {
    std::iota(out, out + length, int64_t{0});
    std::sort(out, out + length, before);
    return;
  }
  for (int64_t k = 0; k < kept; ++k) {
    int64_t best = -1;
    for (int64_t i = 0; i < length; ++i) {
      if ((k == 0 || before(out[k - 1], i)) && (best < 0 || before(i, best))) best = i;
    }
    out[k] = best;
  }
}

template <class Element>
struct Rows {
  using Memory = typename Element::Memory;
  using Key = typename Element::Key;
  using Pair = decltype(pair_of(Key(), 0));
  const Memory* x;
  int64_t* y;
  int64_t length, kept;
  bool descending;

  Key key(int64_t row, int64_t i) const {
    Key key = Element::key(x[row * length + i]);
    return descending ? static_cast<Key>(~key) : key;
  }

  void fill(Pair* pairs, int64_t row, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) pairs[i] = pair_of(key(row, i), i);
  }
  void store(const Pair* pairs, int64_t row, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) y[row * kept + i] = position_of(pairs[i]);
  }

  bool few() const { return kept < length / 8; }
  // Pairs of working memory to select the few of a row, or of a panel of one.
  int64_t needed() const { return 2 * kept + 2 * block; }
  // Bytes of working memory for a row.
  int64_t bytes() const {
    return few() ? needed() * int64_t{sizeof(Pair)} : length * int64_t{sizeof(uint64_t)};
  }
  // Whether positions fit in 32 bits, or have 64: if few are wanted, beside 64-bit keys.
  bool fits() const { return length <= longest_of_32_bits || (few() && sizeof(Key) == 8); }

  // The keys of a whole block.
  void fill_keys(Key* keys, const Memory* from) const {
    const Key turn = descending ? static_cast<Key>(~Key(0)) : Key(0);
    if constexpr (sizeof(Memory) < sizeof(Key)) {
      for (int64_t i = 0; i < block; ++i) keys[i] = Element::key(from[i]) ^ turn;
    } else {
      KeyForm<Key> form{.turned = turn};
      if constexpr (requires { Element::infinite; }) {
        form.floating = true;
        form.infinity = Element::infinite;
      } else {
        form.turned ^= Element::key(0);
      }
      block_keys(keys, reinterpret_cast<const Key*>(from), form);
    }
  }

  // A key that at least `kept` of the elements, a block or more, do not exceed: `kept` of the least
  // of 64 groups do not. The highest key if no bound can be found so cheaply.
  Key bound(const Memory* from, int64_t count) const {
    constexpr int64_t most = 64 * block;
    Key least[block], keys[block];
    std::fill_n(least, block, static_cast<Key>(~Key(0)));
    if (4 * kept > block) return least[0];
    for (int64_t i = 0; i + block <= std::min(count, most); i += block) {
      fill_keys(keys, from + i);
      keep_lesser(least, keys);
    }
    std::nth_element(least, least + kept - 1, least + block);
    return least[kept - 1];
  }

  // Selects the first `kept` of a row's elements [begin, end), unordered; returns how many.
  int64_t select(Pair* pairs, int64_t row, int64_t begin, int64_t end) const {
    const Memory* from = x + row * length;
    int64_t found = 0;
    Key last = bound(from + begin, end - begin);  // elements not below it are skipped
    bool full = last != static_cast<Key>(~Key(0));
    if (full) ++last;
    auto drop = [&] {
      if (found <= kept) return;
      std::nth_element(pairs, pairs + kept - 1, pairs + found);
      found = kept;
      full = true;
      last = key_of(pairs[kept - 1]);
    };
    for (int64_t i = begin; i < end; i += block) {
      int64_t stop = std::min(i + block, end);
      if (full && stop - i == block) {
        Key keys[block];
        fill_keys(keys, from + i);
        for (uint64_t which = which_below(keys, last); which != 0; which &= which - 1) {
          const int bit = __builtin_ctzll(which);
          pairs[found++] = pair_of(keys[bit], i + bit);
        }
      } else {
        for (int64_t j = i; j < stop; ++j) {
          Key own = key(row, j);
          pairs[found] = pair_of(own, j);  // without a branch, which would be unpredictable
          found += !full || own < last;
        }
      }
      if (found > needed() - block) drop();
    }
    drop();
    return found;
  }

  // For 64-bit keys: as many of their upper bits as fit beside a position, less the least key, are
  // sorted with it; then keys that agree in these by their other bits. As a rule, none agree.
  struct Packing {
    Key least;
    int unpacked, position_bits;

    uint64_t lower(Key key) const { return (key - least) & ((uint64_t{1} << unpacked) - 1); }
    uint64_t pack(uint64_t bits, int64_t position) const {
      return bits << position_bits | static_cast<uint64_t>(position);
    }
    int64_t position(uint64_t packed) const {
      return static_cast<int64_t>(packed & ((uint64_t{1} << position_bits) - 1));
    }
    bool agree(uint64_t a, uint64_t b) const { return (a ^ b) >> position_bits == 0; }
  };
  Packing fill_packed(uint64_t* packed, int64_t row) const {
    Key least[most_parts], most[most_parts];
    const int64_t parts = std::clamp<int64_t>(length / piece, 1, most_parts);
    parallel_items(parts, thread_count(), [&](int64_t part, int) {
      Key low = static_cast<Key>(~Key(0)), high = 0;
      for (int64_t i = length * part / parts; i < length * (part + 1) / parts; ++i) {
        const Key own = key(row, i);
        low = std::min(low, own);
        high = std::max(high, own);
      }
      least[part] = low;
      most[part] = high;
    });
    Packing packing{*std::min_element(least, least + parts), 0,
                    std::max<int>(1, std::bit_width(static_cast<uint64_t>(length - 1)))};
    const int spread = std::bit_width(*std::max_element(most, most + parts) - packing.least);
    packing.unpacked = std::max(0, spread + packing.position_bits - 64);
    parallel_for(length, piece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        packed[i] = packing.pack((key(row, i) - packing.least) >> packing.unpacked, i);
      }
    });
    return packing;
  }
  void settle(const Packing& packing, uint64_t* packed, int64_t row) const {
    for (int64_t begin = 0, end = 1; packing.unpacked > 0 && begin < length; begin = end++) {
      while (end < length && packing.agree(packed[begin], packed[end])) ++end;
      if (end - begin == 1) continue;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t position = packing.position(packed[i]);
        packed[i] = packing.pack(packing.lower(key(row, position)), position);
      }
      sort_numbers(packed + begin, end - begin);
    }
  }
  void sort_packed(uint64_t* packed, int64_t row) const {
    const Packing packing = fill_packed(packed, row);
    sort_numbers(packed, length);
    settle(packing, packed, row);
    for (int64_t i = 0; i < kept; ++i) y[row * kept + i] = packing.position(packed[i]);
  }
  void sort_packed_alone(uint64_t* packed) const {
    const Packing packing = fill_packed(packed, 0);
    uint64_t* const sorted = packed + length;
    sort_in_pieces(
        packed, KeyForm<uint64_t>(), sorted, length, [&](int64_t i) { return packed[i]; },
        [](const uint64_t*, int64_t, int64_t) {});
    settle(packing, sorted, 0);
    parallel_for(kept, piece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = packing.position(sorted[i]);
    });
  }

  // Whether keys have so few bits that elements are distributed by them, byte by byte (radix sort).
  bool counts() const {
    constexpr int64_t repaid = sizeof(Memory) == 1 ? few_narrow : 4096;
    return sizeof(Memory) <= 2 && !few() && length > repaid;
  }
  void deal_out(uint64_t* dealt, int64_t row) const {
    ByteKinds lower, upper;
    for (int64_t i = 0; i < length; ++i) {
      const auto own = static_cast<uint32_t>(key(row, i));
      ++lower[own];
      ++upper[own >> 8];
    }
    lower.begin();
    upper.begin();
    int64_t* const to = y + row * kept;
    if (sizeof(Memory) == 1) {
      for (int64_t i = 0; i < length; ++i) {
        const int64_t at = lower[static_cast<uint32_t>(key(row, i))]++;
        if (at < kept) to[at] = i;
      }
      return;
    }
    for (int64_t i = 0; i < length; ++i) {
      const auto own = static_cast<uint32_t>(key(row, i));
      dealt[lower[own]++] = pair_of(own, i);
    }
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = upper[key_of(dealt[i]) >> 8]++;
      if (at < kept) to[at] = position_of(dealt[i]);
    }
  }

  void sort_row(void* memory, int64_t row) const {
    Pair* const pairs = static_cast<Pair*>(memory);
    if (counts()) {
      deal_out(static_cast<uint64_t*>(memory), row);
    } else if (few()) {
      select(pairs, row, 0, length);
      sort_numbers(pairs, kept);
      store(pairs, row, 0, kept);
    } else if constexpr (sizeof(Key) == 8) {
      sort_packed(static_cast<uint64_t*>(memory), row);
    } else {
      fill(pairs, row, 0, length);
      sort_numbers(pairs, length);
      store(pairs, row, 0, kept);
    }
  }

  // One long row on all threads, with memory for two of them.
  void sort_alone(uint64_t* numbers) const {
    if constexpr (sizeof(Key) == 8) {
      sort_packed_alone(numbers);
    } else {
      parallel_for(length, piece,
                   [&](int64_t begin, int64_t end) { fill(numbers, 0, begin, end); });
      sort_in_pieces(
          numbers, KeyForm<Pair>(), numbers + length, length, [&](int64_t i) { return numbers[i]; },
          [&](const Pair* sorted, int64_t begin, int64_t end) {
            store(sorted, 0, begin, std::min(end, kept));
          });
    }
  }
  // How many panels to select from, each of which offers its first ones.
  int64_t panels() const {
    const int64_t wanted = std::min<int64_t>(most_panels, 2 * thread_count());
    return std::min(wanted, length / std::max(piece, 16 * kept));
  }
  void select_alone(Pair* pairs) const {
    int64_t count = panels(), found[most_panels], total = 0;
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        found[p] = select(pairs + p * needed(), 0, length / count * p,
                          p + 1 == count ? length : length / count * (p + 1));
      }
    });
    for (int64_t p = 0; p < count; ++p) {
      std::copy(pairs + p * needed(), pairs + p * needed() + found[p], pairs + total);
      total += found[p];
    }
    sort_numbers(pairs, total);
    store(pairs, 0, 0, kept);
  }

  void sort_in_place(int64_t row) const {
    auto key_at = [](const void* elements, int64_t i) {
      return uint64_t{Element::key(static_cast<const Memory*>(elements)[i])};
    };
    mt::cpu::sort_in_place({x + row * length, key_at, descending}, length, y + row * kept, kept);
  }
};

template <class Element>
void argsort(const NaiveCall& call) {
  using Pair = typename Rows<Element>::Pair;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  Rows<Element> rows{reinterpret_cast<const typename Element::Memory*>(first_element(x)),
                     reinterpret_cast<int64_t*>(first_element(y)), x.layout.shape.back(),
                     y.layout.shape.back(), call.attributes[0] != 0};
  int64_t count = y.size() / rows.kept, length = rows.length;
  auto allocate = [&](int64_t bytes) {
    return rows.fits() ? std::malloc(static_cast<size_t>(bytes)) : nullptr;
  };
  if (count == 1 && length >= 2 * piece && !rows.counts()) {
    bool select = rows.few() && rows.panels() > 1;
    void* memory = nullptr;
    if (select) memory = allocate(rows.panels() * rows.bytes());
    if (!rows.few() && thread_count() > 1) memory = allocate(2 * rows.bytes());
    if (memory) {
      select ? rows.select_alone(static_cast<Pair*>(memory))
             : rows.sort_alone(static_cast<uint64_t*>(memory));
      return std::free(memory);
    }
  }
  parallel_for(count, grain_of(8 * length), [&](int64_t begin, int64_t end) {
    void* memory = allocate(rows.bytes());
    for (int64_t row = begin; row < end; ++row) {
      memory ? rows.sort_row(memory, row) : rows.sort_in_place(row);
    }
    std::free(memory);
  });
}

}  // namespace

void argsort_kernel(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  with_element(call.inputs[0].dtype, [&](auto element) { argsort<decltype(element)>(call); });
}

}  // namespace mt::cpu
