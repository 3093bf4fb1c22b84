// SPDX-License-Identifier: Apache-2.0
// Choices by an element's position in its row, in programs over rows, choose what they say.
#include <algorithm>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// With many rows, those of few columns are transposed in registers, and so are columns that lie
// apart in memory.
struct Form {
  int64_t rows, columns;
  bool apart;
};
std::vector<Form> forms() {
  std::vector<Form> all;
  for (int64_t columns : {2, 3, 8, 10, 15, 16, 17, 25, 33, 64, 100, 1025}) {
    for (int64_t rows : {6, 200}) {
      for (bool apart : {false, true}) all.push_back({rows, columns, apart});
    }
  }
  return all;
}
std::ostream& operator<<(std::ostream& out, const Form& form) {
  return out << form.rows << " x " << form.columns << (form.apart ? ", columns apart" : "");
}

Tensor noise_of(const Form& form, Dtype dtype = Dtype::float32) {
  if (!form.apart) return noise({form.rows, form.columns}, 1, dtype);
  return transpose(noise({form.columns, form.rows}, 1, dtype));
}

// The number sought in each row: two of six lie in none.
std::vector<double> sought(const Form& form) {
  const double last = static_cast<double>(form.columns - 1);
  const double numbers[] = {-1, 0, last, last + 1, 1, last - 1};
  std::vector<double> all;
  for (int64_t r = 0; r < form.rows; ++r) all.push_back(numbers[r % 6]);
  return all;
}

Tensor positions(const Form& form) {
  return reshape(iota({form.columns}, Dtype::int64, cpu()), {form.columns});
}

// chosen[r, c] = yes where c is the number of row r, else no.
template <class Yes, class No>
std::vector<double> expected(const Form& form, Yes&& yes, No&& no) {
  const std::vector<double> numbers = sought(form);
  std::vector<double> chosen;
  for (int64_t i = 0; i < form.rows * form.columns; ++i) {
    const bool found =
        numbers[static_cast<size_t>(i / form.columns)] == static_cast<double>(i % form.columns);
    chosen.push_back(found ? yes(static_cast<size_t>(i)) : no(static_cast<size_t>(i)));
  }
  return chosen;
}

TEST(JoinPositions, ChoosesOneElementOfEachRow) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const Form& form : forms()) {
      Tensor x = noise_of(form, dtype);
      std::vector<double> numbers = read(x), largest;
      for (int64_t r = 0; r < form.rows; ++r) {
        auto row = numbers.begin() + r * form.columns;
        largest.push_back(*std::max_element(row, row + form.columns));
      }
      Tensor target = make({form.rows}, sought(form), Dtype::int64);
      Tensor is_it = equal(unsqueeze(target, -1), positions(form));
      Tensor top = max(x, {-1}, true);
      auto top_of = [&](size_t i) { return largest[i / static_cast<size_t>(form.columns)]; };
      auto minus = [&](size_t i) { return -numbers[i]; };
      auto itself = [&](size_t i) { return numbers[i]; };
      auto zero = [](size_t) { return 0.0; };
      Tensor nothing = number(0, cpu());
      EXPECT_EQ(read(where(is_it, -x, nothing)), expected(form, minus, zero)) << form;
      EXPECT_EQ(read(where(is_it, top, x)), expected(form, top_of, itself)) << form;
      EXPECT_EQ(read(where(is_it, -x, top)), expected(form, minus, top_of)) << form;
      EXPECT_EQ(read(where(is_it, top, -x)), expected(form, top_of, minus)) << form;
    }
  }
}

// Sums of what is chosen are as those of what a stored comparison chooses.
TEST(JoinPositions, SumsOneElementOfEachRow) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const Form& form : forms()) {
      Tensor x = noise_of(form, dtype);
      Tensor target = make({form.rows}, sought(form), Dtype::int64);
      Tensor is_it = equal(unsqueeze(target, -1), positions(form)), known = copy(is_it);
      Tensor top = max(x, {-1}, true);
      evaluate({known});
      for (const Tensor& other : {number(0, cpu()), number(0.1, cpu()), top}) {
        Tensor chosen = sum(where(is_it, x - top, other), {-1});
        EXPECT_EQ(read(chosen), read(sum(where(known, x - top, other), {-1}))) << form;
      }
    }
  }
}

// The comparison is read twice, so that it is made after all.
TEST(JoinPositions, KeepsAComparisonThatOthersRead) {
  for (const Form& form : forms()) {
    Tensor x = noise_of(form);
    Tensor target = make({form.rows}, sought(form), Dtype::int64);
    Tensor is_it = equal(positions(form), unsqueeze(target, -1));
    Tensor count = sum(cast(is_it, Dtype::float64), {-1}, true);
    Tensor y = where(is_it, count, x) + max(x, {-1}, true) * 0.0;
    std::vector<double> numbers = read(x);
    const std::vector<double> all = expected(
        form, [](size_t) { return 1.0; }, [&](size_t i) { return numbers[i]; });
    EXPECT_EQ(read(y), all) << form;
  }
}

TEST(JoinPositions, EveryWayGivesTheSameBits) {
  check_devices(
      [](const std::vector<Tensor>& t) {
        Tensor target = reshape(iota({7}, Dtype::int64, t[0].device()), {7});
        return cross_entropy(t[0], target, 1, LossReduction::none);
      },
      {{7, 131}});
  for (int64_t classes : {2, 4, 10, 21, 25}) {  // of positions that lie apart
    check_devices(
        [&](const std::vector<Tensor>& t) {
          Tensor target = remainder(iota({3, 8, 9}, Dtype::int64, t[0].device()),
                                    integer_number(classes, t[0].device()));
          return cross_entropy(t[0], target, 1, LossReduction::none);
        },
        {{3, classes, 8, 9}});
  }
}

}  // namespace
}  // namespace mt::testing
