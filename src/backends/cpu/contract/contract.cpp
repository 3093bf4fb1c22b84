// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/contract.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/contract/filtering/filtered_weight.h"
#include "backends/cpu/contract/matrix_unit/strip_product.h"
#include "backends/cpu/contract/matrix_unit/tiled_product.h"
#include "backends/cpu/contract/run_tiles.h"

namespace mt::cpu {

PreparedContraction::PreparedContraction(const Contraction& contraction, int threads,
                                         const Surroundings& around)
    : schedule_(contraction, threads, around),
      a_(schedule_.transposed ? operand_b(contraction) : operand_a(contraction)),
      b_(schedule_.transposed ? operand_a(contraction) : operand_b(contraction)),
      small_(schedule_, a_, b_, contraction.out),
      makes_entries_(around.made != nullptr),
      out_(contraction.out) {
  if (around.made == nullptr && StripProduct::serves(contraction)) {
    strips_ = std::make_unique<const StripProduct>(contraction, schedule_.threads);
  } else if (around.made == nullptr && TiledProduct::serves(contraction)) {
    tiled_ = std::make_unique<const TiledProduct>(contraction, schedule_.threads);
  }
  if (FilteredWeight::serves(contraction)) {
    filtered_ = std::make_unique<const FilteredWeight>(contraction, threads);
  }
  alone_ = is_small() && !strips_ && !tiled_ && !filtered_ && schedule_.batch == 1;
}

PreparedContraction::~PreparedContraction() = default;

int64_t PreparedContraction::bytes() const {
  return static_cast<int64_t>(sizeof *this) + schedule_.abreast.bytes() + schedule_.same.bytes();
}

TurnedTiles PreparedContraction::turned_tiles() const {
  const Schedule& s = schedule_;
  if (s.m == 0 || s.n == 0 || s.k == 0 || is_small() || strips_ || tiled_ || filtered_) return {};
  if (s.way == Way::abreast && !s.transposed) {
    // Entries with one row each are finished where they lie, many at a time.
    if (s.abreast.own_weights && s.m == 1) return {};
    return {TurnedTiles::rows, s.m, s.abreast.columns()};
  }
  const bool turns = s.transposed && s.way == Way::blocked && s.rounded && s.sum == out_;
  if (!turns || s.n % s.columns != 0) return {};
  return {TurnedTiles::transposed, s.m, s.columns};
}

size_t PreparedContraction::scratch() const {
  if (strips_) return strips_->scratch();
  const size_t own =
      is_small() ? static_cast<size_t>(schedule_.threads) * small_.scratch() : schedule_.scratch();
  if (filtered_) return std::max(filtered_->scratch(), filtered_->flags() + own);
  return own + (tiled_ ? tiled_->scratch() : 0);
}

void PreparedContraction::run(const void* a, const void* b, void* out, void* scratch,
                              const Epilogue* epilogue, const EntrySource* b_source) const {
  const Schedule& s = schedule_;
  if (alone_ && b_source == nullptr) {
    if (s.transposed) std::swap(a, b);
    return small_.run(a, b, out, static_cast<char*>(scratch), epilogue, 0);
  }
  if (s.batch == 0 || s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    std::memset(out, 0, static_cast<size_t>(s.batch * s.m * s.n) * size_of(out_));
    if (epilogue != nullptr) epilogue->run(epilogue->context, s.whole_entries(0, s.batch));
    return;
  }
  if (filtered_) return run_filtered(a, b, out, scratch, epilogue, b_source);
  if (strips_) {
    if (b_source != nullptr) b_source->make_all(b_source->context);
    return strips_->run(a, b, out, scratch, epilogue);
  }
  if (!tiled_) return run_strictly(a, b, out, scratch, epilogue, b_source, 0, s.batch);
  if (b_source != nullptr) b_source->make_all(b_source->context);
  char* const rest = static_cast<char*>(scratch) + tiled_->scratch();
  for (int64_t first = 0; first < s.batch; first += tiled_->group()) {
    const int64_t count = std::min(tiled_->group(), s.batch - first);
    tiled_->run(a, b, out, scratch, epilogue, first, count);
    for (int64_t i = 0; i < count; ++i) {
      if (!tiled_->refused(scratch, i)) continue;
      run_strictly(a, b, out, rest, epilogue, nullptr, first + i, 1);
    }
  }
}

void PreparedContraction::run_filtered(const void* a, const void* b, void* out, void* scratch,
                                       const Epilogue* epilogue,
                                       const EntrySource* b_source) const {
  const PaddedImages* const padded =
      b_source != nullptr && b_source->fill == 0 ? b_source->images : nullptr;
  bool made = padded == nullptr;
  if (b_source != nullptr && made) b_source->make_all(b_source->context);
  filtered_->run(a, b, out, scratch, epilogue, padded);
  char* const rest = static_cast<char*>(scratch) + filtered_->flags();
  for (int64_t i = 0; i < schedule_.batch; ++i) {
    if (!filtered_->refused(scratch, i)) continue;
    if (!made) b_source->make_all(b_source->context);
    made = true;
    run_strictly(a, b, out, rest, epilogue, nullptr, i, 1);
  }
}

void PreparedContraction::run_strictly(const void* a, const void* b, void* out, void* scratch,
                                       const Epilogue* epilogue, const EntrySource* b_source,
                                       int64_t first, int64_t count) const {
  const Schedule& s = schedule_;
  if (s.transposed) std::swap(a, b);
  if (small_ && b_source == nullptr) {
    const int64_t bytes = s.m * s.n * static_cast<int64_t>(size_of(out_));
    const int64_t together = epilogue != nullptr ? s.entries_together() : 1;
    const Epilogue* const each = together == 1 ? epilogue : nullptr;
    parallel_items(divide_up(count, together), s.threads, [&](int64_t item, int worker) {
      char* const own =
          static_cast<char*>(scratch) + static_cast<size_t>(worker) * small_.scratch();
      const int64_t begin = first + item * together,
                    end = std::min(begin + together, first + count);
      for (int64_t i = begin; i < end; ++i) {
        small_.run(a_.entry(a, i), b_.entry(b, i), static_cast<char*>(out) + i * bytes, own, each,
                   i);
      }
      if (each != epilogue) epilogue->run(epilogue->context, s.whole_entries(begin, end));
    });
    return;
  }
  run_tiles({s, a_, b_, a, b, out_, out, scratch, epilogue, b_source}, first, first + count);
}

}  // namespace mt::cpu
