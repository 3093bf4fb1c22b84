// SPDX-License-Identifier: Apache-2.0
// Which kernel makes which product, as lines of text: the built-in table is one, and so is a file
// that measurements were saved to. After a first line "mtorch products 1" they are
//
//   NVIDIA H100 PCIe: numbers=bfloat16 m=512 n>=256 -> hopper_128x128 (41.2 us)
//   any GPU: n<=16 m>=512 -> tile_256x16   # a comment
//
// The first line decides that is for any GPU or for this one, of which all conditions hold, and
// whose kernel can make the product. The time, if there is one, is for who reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mt::cuda {

// What a product is like: a number, or a word.
struct Fact {
  const char* name;
  int64_t number;
  std::string word;  // empty: the number
};
using Facts = std::vector<Fact>;

class KernelTable {
 public:
  // Of the text of a table; fails with `source`, the line and what is wrong with it.
  KernelTable(const std::string& text, const std::string& source);

  // The kernel, one of `kernels`, that the first line with these facts names; empty: none does.
  std::string find(const std::string& device, const Facts& facts,
                   const std::vector<std::string>& kernels) const;
  // Whether some line does.
  bool names(const std::string& kernel) const;

 private:
  enum class Comparison : uint8_t { equal, at_least, at_most };
  struct Condition {
    std::string name;
    Comparison comparison;
    int64_t number;
    std::string word;

    bool holds(const Facts& facts) const;
  };
  struct Line {
    std::string device, kernel;
    std::vector<Condition> conditions;
  };
  static Condition parse_condition(const std::string& text);
  static Line parse_line(const std::string& text);

  std::vector<Line> lines_;
};

constexpr char table_heading[] = "mtorch products 1";
constexpr char any_device[] = "any GPU";
// One that all of these facts are conditions of.
std::string table_line(const std::string& device, const Facts& facts, const std::string& kernel,
                       double microseconds);

}  // namespace mt::cuda
