// SPDX-License-Identifier: Apache-2.0
// The terms that each result of a padded convolution needs, those that read more than padding, as
// bits: how many of them a few neighbours need together decides how lines are cut.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "backends/cpu/contract/windows/abreast.h"
#include "base/rounding.h"

namespace mt::cpu {

class NeededTerms {
 public:
  using Words = std::vector<uint64_t>;

  // `filled` marks the elements of an entry of b that are not padding. Of a line of terms all are
  // needed if one is.
  NeededTerms(const MatrixOperand& b, const Abreast& how, const std::vector<bool>& filled)
      : words_(static_cast<size_t>(divide_up(b.k.size, 64))) {
    const auto terms = static_cast<size_t>(b.k.size);
    for (int64_t row = 0; row < b.rows.size; ++row) {
      const int64_t at = b.rows.offset(row);
      bits_.resize(bits_.size() + words_);
      uint64_t* const bits = &bits_[bits_.size() - words_];
      const auto line = static_cast<size_t>(std::max<int64_t>(how.line_terms, 1));
      for (size_t i = 0; i < terms; i += line) {
        bool needed = false;
        for (size_t j = i; j < i + line; ++j) {
          needed |= filled[static_cast<size_t>(at + how.terms[j].b / how.entries)];
        }
        for (size_t j = i; j < i + line; ++j) bits[j / 64] |= uint64_t{needed} << j % 64;
      }
    }
  }

  // The terms that any of the results [begin, end) needs.
  Words of(int64_t begin, int64_t end) const {
    Words any(words_);
    for (int64_t row = begin; row < end; ++row) {
      for (size_t w = 0; w < words_; ++w) any[w] |= bits_[static_cast<size_t>(row) * words_ + w];
    }
    return any;
  }
  int64_t count(int64_t begin, int64_t end) const {
    int64_t sum = 0;
    for (size_t w = 0; w < words_; ++w) {
      uint64_t any = 0;
      for (int64_t row = begin; row < end; ++row) {
        any |= bits_[static_cast<size_t>(row) * words_ + w];
      }
      sum += std::popcount(any);
    }
    return sum;
  }

 private:
  size_t words_;
  Words bits_;
};

}  // namespace mt::cpu
