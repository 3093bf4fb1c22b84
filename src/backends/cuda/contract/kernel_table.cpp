// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/contract/kernel_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "backends/cuda/contract/contract_kernels.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

constexpr char blanks[] = " \t\r";

std::string trimmed(const std::string& text) {
  size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// Of digits alone, and no more than fit.
bool to_number(const std::string& text, int64_t* number) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// "(41.2 us)", or nothing.
bool is_time(const std::string& text) {
  if (text.empty()) return true;
  int64_t whole = 0, part = 0;
  size_t point = text.find('.'), end = text.find(" us)");
  return text[0] == '(' && point != text.npos && end != text.npos && end + 4 == text.size() &&
         point < end && to_number(text.substr(1, point - 1), &whole) &&
         to_number(text.substr(point + 1, end - point - 1), &part);
}

[[noreturn]] void refuse(const std::string& what) { fail(Code::io, "%s", what.c_str()); }

}  // namespace

bool KernelTable::Condition::holds(const Facts& facts) const {
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    if (name != fact.name || word != fact.word) return false;
    if (comparison == Comparison::equal) return number == fact.number;
    return comparison == Comparison::at_least ? fact.number >= number : fact.number <= number;
  });
}

KernelTable::Condition KernelTable::parse_condition(const std::string& text) {
  size_t at = text.find_first_of("<>=");
  if (at == text.npos) refuse("\"" + text + "\" is no condition");
  Condition condition{text.substr(0, at), Comparison::equal, 0, ""};
  std::string value = text.substr(at + 1);
  if (text[at] != '=') {
    if (value.empty() || value[0] != '=') refuse("\"" + text + "\": compare with =, >= or <=");
    condition.comparison = text[at] == '>' ? Comparison::at_least : Comparison::at_most;
    value.erase(0, 1);
  }
  const std::vector<std::string>* words = fact_words(condition.name);
  if (!words) refuse("there is no fact \"" + condition.name + "\"");
  if (words->empty()) {
    if (!to_number(value, &condition.number)) refuse("\"" + text + "\" needs a number");
  } else if (condition.comparison != Comparison::equal ||
             std::find(words->begin(), words->end(), value) == words->end()) {
    refuse("\"" + text + "\" cannot be");
  } else {
    condition.word = value;
  }
  return condition;
}

KernelTable::Line KernelTable::parse_line(const std::string& text) {
  size_t colon = text.find(':'), arrow = text.rfind("->");
  if (colon == text.npos || arrow == text.npos || arrow < colon) {
    refuse("\"" + text + "\" is not \"DEVICE: CONDITIONS -> KERNEL\"");
  }
  Line line{trimmed(text.substr(0, colon)), "", {}};
  if (line.device.empty()) refuse("it says for no device");
  std::istringstream conditions(text.substr(colon + 1, arrow - colon - 1));
  for (std::string one; conditions >> one;) line.conditions.push_back(parse_condition(one));
  std::string end = trimmed(text.substr(arrow + 2));
  line.kernel = end.substr(0, end.find_first_of(blanks));
  if (!is_contract_kernel(line.kernel)) refuse("there is no kernel \"" + line.kernel + "\"");
  std::string time = trimmed(end.substr(line.kernel.size()));
  if (!is_time(time)) refuse("\"" + time + "\" is not a time as in \"(41.2 us)\"");
  return line;
}

KernelTable::KernelTable(const std::string& text, const std::string& source) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  if (trimmed(line) != table_heading) {
    fail(Code::io, "%s: it does not begin with \"%s\"", source.c_str(), table_heading);
  }
  for (int number = 2; std::getline(in, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    try {
      lines_.push_back(parse_line(line));
    } catch (const Error& error) {
      fail(error.code(), "%s: line %d: %s", source.c_str(), number, error.what());
    }
  }
}

std::string KernelTable::find(const std::string& device, const Facts& facts,
                              const std::vector<std::string>& kernels) const {
  for (const Line& line : lines_) {
    if (line.device != any_device && line.device != device) continue;
    if (std::find(kernels.begin(), kernels.end(), line.kernel) == kernels.end()) continue;
    if (std::all_of(line.conditions.begin(), line.conditions.end(),
                    [&](const Condition& condition) { return condition.holds(facts); })) {
      return line.kernel;
    }
  }
  return "";
}

bool KernelTable::names(const std::string& kernel) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const Line& line) { return line.kernel == kernel; });
}

std::string table_line(const std::string& device, const Facts& facts, const std::string& kernel,
                       double microseconds) {
  std::string line = device + ":";
  for (const Fact& fact : facts) {
    line += std::string(" ") + fact.name + "=" +
            (fact.word.empty() ? std::to_string(fact.number) : fact.word);
  }
  int64_t tenths = std::llround(microseconds * 10);  // whatever the locale's decimal point is
  return line + " -> " + kernel + " (" + std::to_string(tenths / 10) + "." +
         std::to_string(tenths % 10) + " us)";
}

}  // namespace mt::cuda
