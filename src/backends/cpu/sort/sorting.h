// SPDX-License-Identifier: Apache-2.0
// Sorts numbers in place, and long rows of them on all threads: distributed between pivots to
// pieces that are sorted separately. Equal numbers are the same, so every way of sorting gives the
// same result.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <type_traits>
#include <utility>

#include "backends/cpu/parallel/parallel.h"
#include "hwy/base.h"

namespace mt::cpu {

void sort_numbers(uint8_t* numbers, int64_t count);
void sort_numbers(uint16_t* numbers, int64_t count);
void sort_numbers(hwy::uint128_t* numbers, int64_t count);
// If `splits` nested splits are not enough, the pivots have been chosen badly, and numbers are
// sorted in another way.
void sort_numbers(uint32_t* numbers, int64_t count, int splits);
void sort_numbers(uint64_t* numbers, int64_t count, int splits);
template <class T>
void sort_numbers(T* numbers, int64_t count) {
  sort_numbers(numbers, count, 2 * std::bit_width(static_cast<uint64_t>(count)));
}

// Up to this many narrow numbers are sorted as 32-bit ones, by a network: counting does not pay.
constexpr int64_t few_narrow = 256;

// How many numbers have each byte; after begin(), where the next one with it goes.
class ByteKinds {
 public:
  int64_t& operator[](uint32_t number) { return places_[number & 0xff]; }
  void begin() {
    int64_t before = 0;
    for (int64_t& place : places_) before += std::exchange(place, before);
  }

 private:
  int64_t places_[256] = {};
};

// The longest row whose positions fit in 32 bits. Tests set less.
inline int64_t longest_of_32_bits = int64_t{1} << 32;

constexpr int64_t piece = 64 << 10;  // the shortest part of a row that is searched separately

constexpr int64_t block = 64;  // numbers that are compared together

// Which of a block are below the pivot, as bits.
uint64_t which_below(const uint32_t* from, uint32_t pivot);
uint64_t which_below(const uint64_t* from, uint64_t pivot);
// Keeps the lesser of each two numbers of two blocks.
void keep_lesser(uint32_t* least, const uint32_t* from);
void keep_lesser(uint64_t* least, const uint64_t* from);

// How a key is made of an element's bits: as an integer, or as a float with this infinity; then the
// bits in `turned` are flipped.
template <class T>
struct KeyForm {
  bool floating = false;
  T infinity = {}, turned = {};
};
// The keys of a block of elements, in which zeros of both signs are equal.
void block_keys(uint32_t* keys, const uint32_t* from, const KeyForm<uint32_t>& form);
void block_keys(uint64_t* keys, const uint64_t* from, const KeyForm<uint64_t>& form);

// Kinds of numbers: those below the first of `kinds - 1` ascending pivots, those below the next
// one, and so on. count_kinds() counts the elements' keys of each kind; deal_kinds() writes the
// keys, in order, to where their kind belongs.
template <class T>
struct Kinds {
  const T* pivots;
  int kinds;
};
void count_kinds(const uint16_t* from, int64_t count, const KeyForm<uint16_t>& form,
                 const Kinds<uint16_t>& kinds, int64_t* counts);
void count_kinds(const uint32_t* from, int64_t count, const KeyForm<uint32_t>& form,
                 const Kinds<uint32_t>& kinds, int64_t* counts);
void count_kinds(const uint64_t* from, int64_t count, const KeyForm<uint64_t>& form,
                 const Kinds<uint64_t>& kinds, int64_t* counts);
void deal_kinds(const uint16_t* from, int64_t count, const KeyForm<uint16_t>& form,
                const Kinds<uint16_t>& kinds, const int64_t* counts, uint16_t** to);
void deal_kinds(const uint32_t* from, int64_t count, const KeyForm<uint32_t>& form,
                const Kinds<uint32_t>& kinds, const int64_t* counts, uint32_t** to);
void deal_kinds(const uint64_t* from, int64_t count, const KeyForm<uint64_t>& form,
                const Kinds<uint64_t>& kinds, const int64_t* counts, uint64_t** to);

constexpr int64_t shortest_piece = 16 << 10;  // of a row whose pieces are sorted separately
constexpr int most_pieces = 64;
constexpr int most_parts = 64;  // of a row that are distributed separately

// Sorts the keys of one long row into `keys`; calls finish(sorted, begin, end) for each stretch of
// them. key_at(i) is the key of element i.
template <class T>
using KeyAt = std::function<T(int64_t i)>;
template <class T>
using Finish = std::function<void(const T* sorted, int64_t begin, int64_t end)>;
template <class T>
void sort_in_pieces(const T* from, const KeyForm<T>& form, T* keys, int64_t count,
                    const std::type_identity_t<KeyAt<T>>& key_at,
                    const std::type_identity_t<Finish<T>>& finish);

}  // namespace mt::cpu
