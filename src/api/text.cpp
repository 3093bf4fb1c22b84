// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tensor.h that write tensors as text.
// A tensor as text, laid out as NumPy prints arrays.
#include <algorithm>

#include "api/guard.h"
#include "api/number_text.h"
#include "api/strings.h"
#include "backends/host_array.h"

using namespace mt;
using namespace mt::api;

namespace {

constexpr int64_t most_elements = 1000;  // beyond this, only the ends of each axis are shown
constexpr int64_t shown_at_an_end = 3;
constexpr size_t line_width = 75;

class Printer {
 public:
  Printer(const NaiveArray& array, std::string separator)
      : array_(array),
        shape_(array.layout.shape),
        separator_(std::move(separator)),
        shortened_(array.size() > most_elements) {
    line_end_ = separator_.substr(0, separator_.find_last_not_of(' ') + 1);
  }

  std::string print(size_t indent = 0, size_t width = line_width) {
    if (array_.size() == 0) return "[]";
    if (shape_.rank() == 0) return alone();
    visit(0, 0, [this](int64_t element) { elements_.push_back(element); });
    texts_ = element_texts();
    return nested(0, std::string(indent + 1, ' '), width);
  }

 private:
  bool leaves_out(int axis) const { return shortened_ && shape_[axis] > 2 * shown_at_an_end; }

  // Calls f for each position along an axis that is shown.
  template <class F>
  void for_shown(int axis, F&& f) {
    int64_t size = shape_[axis];
    for (int64_t i = 0; i < size; ++i) {
      if (leaves_out(axis) && i == shown_at_an_end) i = size - shown_at_an_end;
      f(i);
    }
  }

  template <class F>
  void visit(int axis, int64_t element, F&& f) {
    if (axis == shape_.rank()) return f(element);
    for_shown(axis, [&](int64_t i) { visit(axis + 1, element * shape_[axis] + i, f); });
  }

  std::string integer_text(int64_t element) const {
    int64_t value = array_.integer(element);
    if (array_.dtype == Dtype::boolean) return value ? "True" : "False";
    return array_.dtype == Dtype::uint64 ? std::to_string(static_cast<uint64_t>(value))
                                         : std::to_string(value);
  }

  std::string alone() const {
    return is_floating(array_.dtype) ? number_text(array_.number(0), array_.dtype)
                                     : integer_text(0);
  }

  std::vector<std::string> element_texts() const {
    if (is_floating(array_.dtype)) {
      std::vector<double> values;
      for (int64_t element : elements_) values.push_back(array_.number(element));
      return column_text(values, array_.dtype);
    }
    std::vector<std::string> texts;
    size_t width = array_.dtype == Dtype::boolean ? 5 : 0;
    for (int64_t element : elements_) {
      texts.push_back(integer_text(element));
      width = std::max(width, texts.back().size());
    }
    for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
    return texts;
  }

  // The part of the array from the next element on, as axes `axis`, ... ; lines after the first
  // begin with `indent`.
  std::string nested(int axis, const std::string& indent, size_t width) {
    return "[" +
           (axis == shape_.rank() - 1 ? row(axis, indent, width) : blocks(axis, indent, width)) +
           "]";
  }

  std::string row(int axis, const std::string& indent, size_t width) {
    std::string done, line = indent;
    auto add = [&](const std::string& word) {
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        while (line.back() == ' ') line.pop_back();
        done += line + "\n";
        line = indent;
      }
      line += word;
    };
    for_shown(axis, [&](int64_t i) {
      if (i > 0) line += separator_;
      if (leaves_out(axis) && i == shape_[axis] - shown_at_an_end) {
        add("...");
        line += separator_;
      }
      add(texts_[next_++]);
    });
    return (done + line).substr(indent.size());
  }

  std::string blocks(int axis, const std::string& indent, size_t width) {
    std::string gap = line_end_ + std::string(static_cast<size_t>(shape_.rank() - axis - 1), '\n');
    std::string text;
    for_shown(axis, [&](int64_t i) {
      if (i > 0) text += gap + indent;
      if (leaves_out(axis) && i == shape_[axis] - shown_at_an_end) text += "..." + gap + indent;
      text += nested(axis + 1, indent + " ", width - 1);
    });
    return text;
  }

  const NaiveArray& array_;
  const Shape& shape_;
  std::string separator_, line_end_;  // between elements; without spaces at its end
  bool shortened_;
  std::vector<int64_t> elements_;   // those shown, in order
  std::vector<std::string> texts_;  // theirs
  size_t next_ = 0;
};

}  // namespace

char* mt_to_string(mt_tensor* tensor) {
  return read<char*>("to_string", nullptr, [&] {
    HostArray host = host_array(value(tensor));
    return give_text(Printer(host.array, " ").print());
  });
}

char* mt_to_text(mt_tensor* tensor, const char* separator, size_t indent, size_t width) {
  return read<char*>("to_text", nullptr, [&] {
    HostArray host = host_array(value(tensor));
    indent = std::min(indent, line_width);
    return give_text(
        Printer(host.array, required(separator, "the separator")).print(indent, width));
  });
}
