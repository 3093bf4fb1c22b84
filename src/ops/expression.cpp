// SPDX-License-Identifier: Apache-2.0
// Element-wise operators written as text. A recursive descent, one function for each level of the
// grammar in mtorch/ops.h, records ordinary nodes; arithmetic on numbers alone is done at once.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>

#include "base/error.h"
#include "ops/naive_math.h"
#include "ops/ops.h"

namespace mt {
namespace {

constexpr int deepest = 200;  // nesting, so that no text can exhaust the stack

struct Function {
  const char* name;
  int arity;
  Elementwise code;
  Tensor (*unary)(const Tensor&);
  Tensor (*binary)(const Tensor&, const Tensor&);
};
constexpr Function functions[] = {
#define SLOPE(name, domain, result, value, gradient)
#define UNARY(name, domain, result, value, gradient) \
  {#name, 1, Elementwise::name, static_cast<Tensor (*)(const Tensor&)>(name), nullptr},
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  {#name, 2, Elementwise::name, nullptr,                            \
   static_cast<Tensor (*)(const Tensor&, const Tensor&)>(name)},
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};

// A tensor, or a number that is not one yet.
struct Value {
  Tensor tensor;
  double number = 0;
  bool whole = false;
};

class Parser {
 public:
  Parser(const char* text, const std::vector<Tensor>& tensors, Device& device)
      : text_(text), at_(text), device_(device) {
    name_tensors(tensors);
  }

  Tensor run() {
    Value value = choice();
    skip();
    if (*at_) fault("expected an operator or the end");
    return tensor_of(value);
  }

 private:
  // Tensors are named by a list before "->", or a, b, c, ...
  void name_tensors(const std::vector<Tensor>& tensors) {
    const char* arrow = std::strstr(text_, "->");
    if (!arrow) {
      if (tensors.size() > 26) {
        fail(Code::invalid, "expression: more than 26 tensors need a list of names before \"->\"");
      }
      for (size_t i = 0; i < tensors.size(); ++i) {
        names_.push_back({std::string(1, static_cast<char>('a' + i)), tensors[i]});
      }
      return;
    }
    skip();
    while (at_ != arrow) {
      std::string name = identifier();
      if (name.empty()) fault("expected a name");
      for (const Named& known : names_) {
        if (known.name == name) fault("the name stands twice");
      }
      if (names_.size() == tensors.size()) fault("there are more names than tensors");
      names_.push_back({name, tensors[names_.size()]});
      skip();
      if (at_ == arrow) break;
      if (!take(",")) fault("expected ',' or \"->\"");
      skip();
      if (at_ == arrow) fault("expected a name");
    }
    if (names_.size() != tensors.size()) {
      fault("there are " + std::to_string(names_.size()) + " names for " +
            std::to_string(tensors.size()) + " tensors");
    }
    at_ = arrow + 2;
  }

  // Of a long text, what lies about the fault.
  [[noreturn]] void fault(const std::string& what) const {
    constexpr size_t most = 200, about = most / 2;
    const size_t length = std::strlen(text_), at = static_cast<size_t>(at_ - text_);
    size_t begin = 0, end = length;
    if (length > most) {
      begin = at > about ? at - about : 0;
      end = std::min(length, begin + most);
    }
    fail(Code::invalid, "expression: \"%s%s%s\": at %zu: %s", begin ? "..." : "",
         std::string(text_ + begin, end - begin).c_str(), end < length ? "..." : "", at,
         what.size() > most ? (what.substr(0, most) + "...").c_str() : what.c_str());
  }

  void skip() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r') ++at_;
  }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  std::string identifier() {
    const char* begin = at_;
    if (is_letter(*at_)) {
      while (is_letter(*at_) || is_digit(*at_)) ++at_;
    }
    return {begin, at_};
  }
  // Takes an operator if it is next and not the beginning of a longer one.
  bool take(const char* token, const char* not_before = "") {
    skip();
    size_t length = std::strlen(token);
    if (std::strncmp(at_, token, length) != 0) return false;
    char next = at_[length];
    if (next && std::strchr(not_before, next)) return false;
    at_ += length;
    return true;
  }
  void expect(const char* token) {
    if (!take(token)) fault(std::string("expected '") + token + "'");
  }

  Tensor tensor_of(const Value& value) {
    if (value.tensor) return value.tensor;
    return value.whole ? integer_number(static_cast<int64_t>(value.number), device_)
                       : number(value.number, device_);
  }
  Value unary(const Function& f, const Value& x) {
    const ElementwiseInfo& row = info(f.code);
    bool numeric = row.domain == Domain::real || row.domain == Domain::number;
    if (x.tensor || !numeric || row.boolean_result) return {f.unary(tensor_of(x))};
    double result = naive_elementwise(static_cast<uint8_t>(f.code), x.number, 0.0, Dtype::float64);
    return {nullptr, result, x.whole && row.domain == Domain::number};
  }
  Value binary(const Function& f, const Value& a, const Value& b) {
    const ElementwiseInfo& row = info(f.code);
    bool numeric = row.domain == Domain::real || row.domain == Domain::number;
    if (a.tensor || b.tensor || !numeric || row.boolean_result) {
      return {f.binary(tensor_of(a), tensor_of(b))};
    }
    double result =
        naive_elementwise(static_cast<uint8_t>(f.code), a.number, b.number, Dtype::float64);
    bool whole = a.whole && b.whole && row.domain == Domain::number && result == std::trunc(result);
    return {nullptr, result, whole && std::fabs(result) < 0x1p53};
  }
  static const Function& function(Elementwise code) {
    return *std::find_if(std::begin(functions), std::end(functions),
                         [&](const Function& f) { return f.code == code; });
  }

  // c ? p : q
  Value choice() {
    if (++depth_ > deepest) fault("nested too deeply");
    Value condition = bits_or();
    if (take("?")) {
      Value yes = choice();
      expect(":");
      Value no = choice();
      condition = choose(condition, yes, no);
    }
    --depth_;
    return condition;
  }
  Value choose(const Value& condition, const Value& yes, const Value& no) {
    return {where(tensor_of(condition), tensor_of(yes), tensor_of(no))};
  }

  using Level = Value (Parser::*)();
  Value left_to_right(Level next, std::initializer_list<std::pair<const char*, Elementwise>> tokens,
                      const char* not_before = "") {
    Value value = (this->*next)();
    for (bool found = true; found;) {
      found = false;
      for (auto [token, code] : tokens) {
        if (!take(token, not_before)) continue;
        value = binary(function(code), value, (this->*next)());
        found = true;
        break;
      }
    }
    return value;
  }
  Value bits_or() { return left_to_right(&Parser::bits_xor, {{"|", Elementwise::bitwise_or}}); }
  Value bits_xor() { return left_to_right(&Parser::bits_and, {{"^", Elementwise::bitwise_xor}}); }
  Value bits_and() { return left_to_right(&Parser::comparison, {{"&", Elementwise::bitwise_and}}); }

  bool comparison_operator(Elementwise* code) {
    constexpr std::pair<const char*, Elementwise> tokens[] = {
        {"==", Elementwise::equal},      {"!=", Elementwise::not_equal},
        {"<=", Elementwise::less_equal}, {">=", Elementwise::greater_equal},
        {"<", Elementwise::less},        {">", Elementwise::greater}};
    for (auto [token, found] : tokens) {
      if (take(token)) {
        *code = found;
        return true;
      }
    }
    return false;
  }
  Value comparison() {
    Value value = total();
    Elementwise code;
    if (!comparison_operator(&code)) return value;
    value = binary(function(code), value, total());
    if (comparison_operator(&code)) fault("comparisons do not chain; join them by '&'");
    return value;
  }

  Value total() {
    return left_to_right(&Parser::term, {{"+", Elementwise::add}, {"-", Elementwise::sub}});
  }
  Value term() {
    return left_to_right(
        &Parser::prefix,
        {{"*", Elementwise::mul}, {"/", Elementwise::div}, {"%", Elementwise::remainder}}, "*");
  }
  Value prefix() {
    if (++depth_ > deepest) fault("nested too deeply");
    Value value;
    if (take("-")) {
      value = unary(function(Elementwise::neg), prefix());
    } else if (take("!", "=")) {
      value = unary(function(Elementwise::logical_not), prefix());
    } else if (take("~")) {
      value = unary(function(Elementwise::bitwise_invert), prefix());
    } else {
      value = power();
    }
    --depth_;
    return value;
  }
  // Binds closer than a sign before it, and looser than one after it: -a ** -b is -(a ** (-b)).
  Value power() {
    Value base = primary();
    if (!take("**")) return base;
    return binary(function(Elementwise::pow), base, prefix());
  }

  Value primary() {
    skip();
    if (take("(")) {
      Value value = choice();
      expect(")");
      return value;
    }
    if (is_digit(*at_) || *at_ == '.') return literal();
    const char* begin = at_;
    std::string name = identifier();
    if (name.empty()) fault(*at_ ? "expected a value" : "expected a value, found the end");
    skip();
    if (*at_ == '(') return call(name, begin);
    for (const Named& known : names_) {
      if (known.name == name) return {known.tensor};
    }
    at_ = begin;
    fault("there is no tensor '" + name + "'");
  }

  Value literal() {
    const char* begin = at_;
    while (is_digit(*at_)) ++at_;
    bool whole = true;
    if (*at_ == '.') {
      whole = false;
      ++at_;
      while (is_digit(*at_)) ++at_;
    }
    if (at_ - begin == 1 && *begin == '.') fault("expected a digit");
    if (*at_ == 'e' || *at_ == 'E') {
      const char* exponent = at_ + 1;
      if (*exponent == '+' || *exponent == '-') ++exponent;
      if (!is_digit(*exponent)) fault("expected an exponent");
      whole = false;
      while (is_digit(*exponent)) ++exponent;
      at_ = exponent;
    }
    double value = 0;
    if (std::from_chars(begin, at_, value).ec != std::errc()) fault("the number is out of range");
    if (whole && value >= 0x1p53) whole = false;
    if (is_letter(*at_)) fault("expected an operator");
    return {nullptr, value, whole};
  }

  Value call(const std::string& name, const char* begin) {
    expect("(");
    std::vector<Value> values;
    if (!take(")")) {
      do values.push_back(choice());
      while (take(","));
      expect(")");
    }
    auto check = [&](size_t wanted) {
      if (values.size() == wanted) return;
      at_ = begin;
      fault(name + " takes " + std::to_string(wanted) + " values, not " +
            std::to_string(values.size()));
    };
    for (const Function& f : functions) {
      if (name != f.name) continue;
      check(static_cast<size_t>(f.arity));
      return f.arity == 1 ? unary(f, values[0]) : binary(f, values[0], values[1]);
    }
    if (name == "where") {
      check(3);
      return choose(values[0], values[1], values[2]);
    }
    if (name == "clip") {
      check(3);
      return {clip(tensor_of(values[0]), tensor_of(values[1]), tensor_of(values[2]))};
    }
    at_ = begin;
    fault("there is no function '" + name + "'");
  }

  struct Named {
    std::string name;
    Tensor tensor;
  };
  const char* text_;
  const char* at_;
  Device& device_;
  std::vector<Named> names_;
  int depth_ = 0;
};

}  // namespace

Tensor expression(const char* text, const std::vector<Tensor>& tensors, Device& device) {
  if (!text) fail(Code::null, "expression: the text is NULL");
  return Parser(text, tensors, device).run();
}

}  // namespace mt
