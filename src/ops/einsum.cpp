// SPDX-License-Identifier: Apache-2.0
// The Einstein sum. Labels that stand once are summed first; then operands are contracted in pairs,
// in the order with the fewest multiplications.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "ops/contract_axes.h"
#include "ops/einsum_equation.h"
#include "ops/ops.h"

namespace mt {
namespace {

using Sizes = std::array<int64_t, label_count>;

struct Term {
  Tensor value;
  Labels labels;  // of its axes, each once
};

// A label that an operand has twice takes its diagonal, for which nothing stretches.
void check_diagonals(const EinsumEquation& equation, const Term& term) {
  const Shape& shape = term.value.shape();
  for (size_t d = 0; d < term.labels.size(); ++d) {
    const auto first = std::find(term.labels.begin(), term.labels.end(), term.labels[d]);
    if (shape[static_cast<int>(first - term.labels.begin())] == shape[static_cast<int>(d)])
      continue;
    fail(Code::shape, "einsum: \"%s\": label %s stands for two sizes in %s", equation.text(),
         label_name(*first).c_str(), to_string(shape).c_str());
  }
}

// The size of every label; one stretches.
Sizes find_sizes(const EinsumEquation& equation, const std::vector<Term>& terms) {
  Sizes sizes;
  sizes.fill(-1);
  for (size_t i = 0; i < terms.size(); ++i) {
    check_diagonals(equation, terms[i]);
    for (int d = 0; d < terms[i].value.rank(); ++d) {
      int64_t& known = sizes[terms[i].labels[d]];
      int64_t size = terms[i].value.shape()[d];
      if (known == -1 || known == 1) {
        known = size;
      } else if (size != 1 && size != known) {
        fail(Code::shape, "einsum: \"%s\": label %s has size %lld, but %lld in operand %zu %s",
             equation.text(), label_name(terms[i].labels[d]).c_str(), static_cast<long long>(known),
             static_cast<long long>(size), i, to_string(terms[i].value.shape()).c_str());
      }
    }
  }
  return sizes;
}

// Drops the axes that stretch, and takes diagonals.
void simplify(Term* term, const Sizes& sizes) {
  Dims stretched;
  Labels kept;
  for (int d = 0; d < term->value.rank(); ++d) {
    int label = term->labels[d];
    if (term->value.shape()[d] == 1 && sizes[label] != 1) {
      stretched.push_back(d);
    } else {
      kept.push_back(label);
    }
  }
  if (!stretched.empty()) term->value = squeeze(term->value, stretched);
  term->labels = kept;
  for (size_t b = 0; b < term->labels.size(); ++b) {
    auto first = std::find(term->labels.begin(), term->labels.end(), term->labels[b]);
    size_t a = static_cast<size_t>(first - term->labels.begin());
    if (a == b) continue;
    term->value = diagonal(term->value, static_cast<int>(a), static_cast<int>(b));
    term->labels.erase(term->labels.begin() + static_cast<int64_t>(b));
    --b;
  }
}

void sum_unwanted(Term* term, const std::vector<bool>& wanted) {
  Dims summed;
  Labels kept;
  for (size_t d = 0; d < term->labels.size(); ++d) {
    if (wanted[term->labels[d]])
      kept.push_back(term->labels[d]);
    else
      summed.push_back(static_cast<int64_t>(d));
  }
  if (!summed.empty()) {
    Dtype dtype = term->value.dtype();
    term->value = cast(sum(term->value, summed), dtype);
  }
  term->labels = kept;
}

// The term's axes in the given order; labels it lacks become axes of size one.
Tensor arranged(const Term& term, const Labels& order) {
  Dims axes;
  Shape shape;
  for (int label : order) {
    auto found = std::find(term.labels.begin(), term.labels.end(), label);
    if (found == term.labels.end()) {
      shape.push_back(1);
      continue;
    }
    axes.push_back(found - term.labels.begin());
    shape.push_back(term.value.shape()[static_cast<int>(axes.back())]);
  }
  const bool in_order = std::is_sorted(axes.begin(), axes.end());
  return reshape(in_order ? term.value : permute(term.value, axes), shape);
}

// One term from two, with the labels that are still wanted: those of both, of a, of b.
Term contract_pair(const Term& a, const Term& b, const std::vector<bool>& wanted) {
  Labels all = a.labels;
  Dims summed;
  for (int label : b.labels) {
    if (!contains(a.labels, label)) all.push_back(label);
  }
  auto in_both = [&](int label) { return contains(a.labels, label) && contains(b.labels, label); };
  for (size_t i = 0; i < all.size(); ++i) {
    if (in_both(all[i]) && !wanted[all[i]]) summed.push_back(static_cast<int64_t>(i));
  }
  if (summed.empty()) {  // a product, element by element
    std::stable_partition(all.begin(), all.end(), in_both);
    return {mul(arranged(a, all), arranged(b, all)), all};
  }
  auto numbered = [&](const Term& term) {
    Numbered result{term.value, {}};
    for (int label : term.labels) {
      result.axes.push_back(std::find(all.begin(), all.end(), label) - all.begin());
    }
    return result;
  };
  const Numbered product = contract_parts(numbered(a), numbered(b), summed);
  Term result{product.value, {}};
  for (int64_t number : product.axes) result.labels.push_back(all[number]);
  return result;
}

// Which labels stand in the output or in a term outside of `set`, the terms' numbers as bits.
std::vector<bool> wanted_outside(const std::vector<Term>& terms, const Labels& output,
                                 unsigned set) {
  std::vector<bool> wanted(label_count, false);
  for (int label : output) wanted[label] = true;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i < 32 && (set >> i & 1)) continue;
    for (int label : terms[i].labels) wanted[label] = true;
  }
  return wanted;
}

// Multiplications when both sets of labels meet.
double cost_of(const Labels& a, const Labels& b, const Sizes& sizes) {
  double cost = 1;
  for (int label : a) cost *= static_cast<double>(sizes[label]);
  for (int label : b) {
    if (!contains(a, label)) cost *= static_cast<double>(sizes[label]);
  }
  return cost;
}

// The best order for up to six terms: the cheapest way to make every subset from two parts.
class BestOrder {
 public:
  BestOrder(const std::vector<Term>& terms, const Labels& output, const Sizes& sizes)
      : terms_(terms), output_(output), entries_(size_t{1} << terms.size()) {
    unsigned all = (1u << terms.size()) - 1;
    for (unsigned set = 1; set <= all; ++set) {
      Entry& entry = entries_[set];
      std::vector<bool> wanted = wanted_outside(terms, output, set);
      for (size_t i = 0; i < terms.size(); ++i) {
        if (!(set >> i & 1)) continue;
        for (int label : terms[i].labels) {
          bool whole = set == 1u << i;
          if ((whole || wanted[label]) && !contains(entry.labels, label)) {
            entry.labels.push_back(label);
          }
        }
      }
      for (unsigned part = (set - 1) & set; part > 0; part = (part - 1) & set) {
        unsigned rest = set ^ part;
        if (part < rest) continue;  // the other half has been seen
        double cost = entries_[part].cost + entries_[rest].cost +
                      cost_of(entries_[part].labels, entries_[rest].labels, sizes);
        if (entry.part == 0 || cost < entry.cost) {
          entry.cost = cost;
          entry.part = rest;
        }
      }
    }
  }

  Term run(unsigned set) const {
    const Entry& entry = entries_[set];
    if (entry.part == 0) return terms_[__builtin_ctz(set)];
    return contract_pair(run(entry.part), run(set ^ entry.part),
                         wanted_outside(terms_, output_, set));
  }

 private:
  struct Entry {
    double cost = 0;
    unsigned part = 0;  // one of the two parts that make the set; 0 for single terms
    Labels labels;
  };
  const std::vector<Term>& terms_;
  const Labels& output_;
  std::vector<Entry> entries_;
};

constexpr size_t most_searched = 6;

// Beyond that, always the cheapest pair.
void contract_cheapest_pair(std::vector<Term>* terms, const Labels& output, const Sizes& sizes) {
  size_t best_a = 0, best_b = 1;
  double best = -1;
  for (size_t b = 1; b < terms->size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      double cost = cost_of((*terms)[a].labels, (*terms)[b].labels, sizes);
      if (best < 0 || cost < best) {
        best = cost;
        best_a = a;
        best_b = b;
      }
    }
  }
  Term a = std::move((*terms)[best_a]), b = std::move((*terms)[best_b]);
  terms->erase(terms->begin() + static_cast<int64_t>(best_b));
  terms->erase(terms->begin() + static_cast<int64_t>(best_a));
  Term joined = contract_pair(a, b, wanted_outside(*terms, output, 0));
  terms->push_back(std::move(joined));
}

}  // namespace

Tensor einsum(const char* text, const std::vector<Tensor>& operands) {
  EinsumEquation equation(text);
  if (operands.size() != equation.operand_count()) {
    fail(Code::invalid, "einsum: \"%s\": the equation has %zu operands, but %zu tensors were given",
         text, equation.operand_count(), operands.size());
  }
  Dtype dtype = operands[0].dtype();
  for (const Tensor& operand : operands) dtype = promote(dtype, operand.dtype(), "einsum");
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back({operands[i], equation.labels(i, operands[i])});
  }
  Labels output = equation.output();
  Sizes sizes = find_sizes(equation, terms);
  for (Term& term : terms) simplify(&term, sizes);
  for (size_t i = 0; i < terms.size(); ++i) {
    std::vector<bool> wanted(label_count, false);
    for (int label : output) wanted[label] = true;
    for (size_t j = 0; j < terms.size(); ++j) {
      if (j == i) continue;
      for (int label : terms[j].labels) wanted[label] = true;
    }
    sum_unwanted(&terms[i], wanted);
    terms[i].value = cast(terms[i].value, dtype);
  }
  while (terms.size() > most_searched) contract_cheapest_pair(&terms, output, sizes);
  Term result = BestOrder(terms, output, sizes).run((1u << terms.size()) - 1);
  // A label whose axes were all stretched away by another operand's is still there in that one; so
  // the result has every label of the output.
  return arranged(result, output);
}

}  // namespace mt
