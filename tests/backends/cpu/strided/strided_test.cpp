// SPDX-License-Identifier: Apache-2.0
// Elements gathered through any strides, against one by one, from any element on.
#include "backends/cpu/strided/strided.h"

#include <vector>

#include "backends/cpu/elementwise/instruction_sets.h"

namespace mt::cpu {
namespace {

std::vector<int64_t> positions_of(const Layout& layout) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < element_count(layout.shape); ++i) {
    int64_t left = i, position = 0;
    for (int d = layout.shape.rank() - 1; d >= 0; --d) {
      position += left % layout.shape[d] * layout.strides[d];
      left /= layout.shape[d];
    }
    result.push_back(position);
  }
  return result;
}

template <class T>
void check(const Layout& layout) {
  const Extent touched = extent(layout);
  // No more than what is touched, so that a tool can see reads beyond it.
  std::vector<T> memory(static_cast<size_t>(touched.end - touched.begin));
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<T>(i * 7 + 3);
  const T* base = memory.data() - touched.begin;
  const std::vector<int64_t> positions = positions_of(layout);
  const int64_t count = static_cast<int64_t>(positions.size());
  for (int64_t first : {int64_t{0}, int64_t{1}, count / 3, count / 2}) {
    for (int64_t some : {int64_t{1}, count / 5, count - first}) {
      if (some < 1 || first + some > count) continue;
      constexpr T untouched = 99;
      std::vector<T> out(static_cast<size_t>(some) + 1, untouched), expected;
      for (int64_t i = 0; i < some; ++i) {
        expected.push_back(base[positions[static_cast<size_t>(first + i)]]);
      }
      expected.push_back(untouched);
      gather_strided(out.data(), base, sizeof(T), layout, first, some);
      ASSERT_EQ(out, expected) << to_string(layout.shape) << to_string(layout.strides) << first;
    }
  }
}

TEST(Strided, GathersWhatAnyLayoutSays) {
  const Layout layouts[] = {
      {{}, {}, 0},
      {{50}, {1}, 0},
      {{50}, {2}, 0},
      {{33}, {3}, 0},
      {{40}, {-2}, 0},
      {{19}, {0}, 0},
      {{7, 14}, {56, 2}, 0},  // a column of the windows of pooling
      {{5, 16}, {64, 2}, 0},
      {{5, 17}, {64, 2}, 0},
      {{3, 32}, {70, 2}, 0},
      {{4, 1, 10, 10}, {100, 100, 1, 10}, 0},
      {{4, 1, 12, 7}, {100, 100, 8, 1}, 0},
      {{3, 5, 2, 8, 2}, {200, 32, 16, 1, 8}, 0},  // phases of images
      {{3, 5, 2, 13, 2}, {300, 52, 26, 1, 13}, 0},
      {{6, 2, 14, 2}, {14, 0, 1, 0}, 0},  // what pooling found, for each window
      {{6, 2, 5, 2}, {5, 0, 1, 0}, 0},
      {{3, 2, 20, 2}, {20, 0, 1, 0}, 0},
      {{4, 3, 6, 3}, {6, 0, 1, 0}, 0},
      {{3, 4, 2, 14, 2}, {70, 15, 0, 1, 0}, 0},
      {{5, 3, 4}, {13, 0, 1}, 0},
      {{2, 5, 3, 4}, {99, 13, 4, 1}, 0},
      {{4, 6, 30}, {0, 1, 0}, 0},  // a bias
      {{2, 3, 4, 5}, {1, 2, 6, 24}, 0},
      {{3, 4, 5}, {-20, 5, -1}, 0},
      {{9, 70}, {80, 1}, 0},
      {{3, 150}, {-160, -1}, 0},
      {{2, 70, 2}, {150, 1, 75}, 0},  // channels put last
      {{2, 70, 3}, {225, 1, 75}, 0},
      {{2, 70, 4}, {300, 1, -75}, 0},
      {{2, 2, 70}, {140, 1, 2}, 0},  // and first
      {{2, 3, 70}, {210, 1, 3}, 0},
      {{2, 4, 70}, {280, 1, 4}, 0},
      {{2, 3, 70}, {300, 1, 4}, 0},
      {{2, 21, 35}, {900, 1, 24}, 0},  // turned
  };
  for_each_instruction_set([&] {
    for (const Layout& layout : layouts) {
      check<uint8_t>(layout);
      check<uint16_t>(layout);
      check<uint32_t>(layout);
      check<uint64_t>(layout);
    }
  });
}

TEST(Strided, CountsPositions) {
  const Layout layout{{3, 2, 4, 2}, {4, 0, 1, 0}, 5};
  const std::vector<int64_t> positions = positions_of(layout);
  std::vector<int64_t> wide(positions.size() - 3);
  std::vector<int32_t> narrow(wide.size());
  strided_positions(wide.data(), 8, layout, 3, static_cast<int64_t>(wide.size()));
  strided_positions(narrow.data(), 4, layout, 3, static_cast<int64_t>(narrow.size()));
  for (size_t i = 0; i < wide.size(); ++i) {
    EXPECT_EQ(wide[i], positions[i + 3] + 5);
    EXPECT_EQ(narrow[i], wide[i]);
  }
}

}  // namespace
}  // namespace mt::cpu
