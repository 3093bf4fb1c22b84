// SPDX-License-Identifier: Apache-2.0
// One long row sorted by all threads, piece by piece.
#include "backends/cpu/sort/sorting.h"

namespace mt::cpu {
namespace {

// Chooses keys of a row that split it about evenly into `pieces`.
template <class T>
void choose_pivots(int64_t count, int pieces, const KeyAt<T>& key_at, T* pivots) {
  constexpr int64_t some = 511;
  T taken[some];
  for (int64_t i = 0; i < some; ++i) taken[i] = key_at(count * i / some);
  std::sort(taken, taken + some);
  for (int p = 1; p < pieces; ++p) pivots[p - 1] = taken[some * p / pieces];
}

}  // namespace

template <class T>
void sort_in_pieces(const T* from, const KeyForm<T>& form, T* keys, int64_t count,
                    const std::type_identity_t<KeyAt<T>>& key_at,
                    const std::type_identity_t<Finish<T>>& finish) {
  // Twice as many pieces as threads: a slow one leaves some to the others.
  const int threads = thread_count();
  const int64_t wanted = std::max<int64_t>(4, std::min(2 * threads, most_pieces));
  const int pieces = static_cast<int>(std::min(wanted, count / shortest_piece + 1));
  const int parts = std::min(8 * threads, most_parts);
  T pivots[most_pieces];
  choose_pivots(count, pieces, key_at, pivots);
  const Kinds<T> kinds{pivots, pieces};
  int64_t counts[most_parts][most_pieces], ends[most_pieces + 1] = {};
  T* to[most_parts][most_pieces];
  auto each_part = [&](auto&& body) {
    parallel_items(parts, threads, [&](int64_t part, int) {
      const int64_t begin = count * part / parts;
      body(part, from + begin, count * (part + 1) / parts - begin);
    });
  };
  each_part([&](int64_t part, const T* own, int64_t many) {
    count_kinds(own, many, form, kinds, counts[part]);
  });
  int64_t at = 0;
  for (int p = 0; p < pieces; ++p) {
    for (int part = 0; part < parts; ++part) {
      to[part][p] = keys + at;
      at += counts[part][p];
    }
    ends[p + 1] = at;
  }
  each_part([&](int64_t part, const T* own, int64_t many) {
    deal_kinds(own, many, form, kinds, counts[part], to[part]);
  });
  parallel_items(pieces, threads, [&](int64_t p, int) {
    if (ends[p] == ends[p + 1]) return;
    sort_numbers(keys + ends[p], ends[p + 1] - ends[p]);
    finish(keys, ends[p], ends[p + 1]);
  });
}
template void sort_in_pieces(const uint16_t*, const KeyForm<uint16_t>&, uint16_t*, int64_t,
                             const KeyAt<uint16_t>&, const Finish<uint16_t>&);
template void sort_in_pieces(const uint32_t*, const KeyForm<uint32_t>&, uint32_t*, int64_t,
                             const KeyAt<uint32_t>&, const Finish<uint32_t>&);
template void sort_in_pieces(const uint64_t*, const KeyForm<uint64_t>&, uint64_t*, int64_t,
                             const KeyAt<uint64_t>&, const Finish<uint64_t>&);

}  // namespace mt::cpu
