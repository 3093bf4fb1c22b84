// SPDX-License-Identifier: Apache-2.0
// How good greedy grouping is: the bytes its groups move against the fewest that any valid
// partition into groups moves, found by looking at all of them.
//
//   plan_quality [RESULT.json]
//
// Graphs have element-wise operators with broadcasting, sums over rows, columns and everything,
// transposed views and matrix products. All graphs of up to 5 operators on one square matrix are
// looked at, and random ones of 5 to 8 operators on a matrix, a row and a column; what nothing
// reads is stored.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/explain.h"
#include "fusion/grouping/traffic.h"
#include "fusion/select.h"
#include "graph/window.h"
#include "ops/ops.h"

namespace {

using namespace mt;
using Clock = std::chrono::steady_clock;

enum Operator { map_one, sum_rows, sum_columns, sum_all, transposed, map_two, product, operators };
constexpr bool takes_two(int op) { return op >= map_two; }

struct Step {
  int op, a, b;  // operands: earlier values
  auto operator<=>(const Step&) const = default;
};
using Program = std::vector<Step>;

// The value of a step, or null where its operator does not fit.
Tensor value_of(const Step& step, const std::vector<Tensor>& values) {
  const Tensor &x = values[static_cast<size_t>(step.a)], &y = values[static_cast<size_t>(step.b)];
  switch (step.op) {
    case map_one: return exp(x);
    case sum_rows: return x.rank() == 2 && x.shape()[1] > 1 ? sum(x, {1}, true) : nullptr;
    case sum_columns: return x.rank() == 2 && x.shape()[0] > 1 ? sum(x, {0}, true) : nullptr;
    case sum_all: return x.size() > 1 ? sum(x) : nullptr;
    case transposed: return x.rank() == 2 && x.size() > 1 ? transpose(x) : nullptr;
    case map_two: {
      for (int i = 1; i <= std::min(x.rank(), y.rank()); ++i) {
        int64_t m = x.shape()[x.rank() - i], n = y.shape()[y.rank() - i];
        if (m != n && m != 1 && n != 1) return nullptr;
      }
      return x + y;
    }
    case product:
      return x.rank() == 2 && y.rank() == 2 && x.shape()[1] == y.shape()[0] ? matmul(x, y)
                                                                            : nullptr;
  }
  return nullptr;
}

// Records the program; empty when one of its steps does not fit. Results: what nothing reads.
std::vector<Tensor> record(const Program& program, const std::vector<Tensor>& leaves) {
  std::vector<Tensor> values = leaves, results;
  std::vector<bool> read(leaves.size() + program.size(), false);
  for (const Step& step : program) {
    values.push_back(value_of(step, values));
    if (!values.back()) return {};
    read[static_cast<size_t>(step.a)] = true;
    if (takes_two(step.op)) read[static_cast<size_t>(step.b)] = true;
  }
  for (size_t v = leaves.size(); v < values.size(); ++v) {
    if (!read[v]) results.push_back(values[v]);
  }
  return results;
}

// The partition of a region's items into groups that moves the fewest bytes.
class Search {
 public:
  explicit Search(const Region& region) : region_(region), readers_(region) {
    for (size_t i = 0; i < region.items.size(); ++i) {
      if (!is_inlined(region, readers_, static_cast<int>(i))) items_.push_back(static_cast<int>(i));
    }
    sets_.resize(size_t{1} << items_.size());
    for (size_t set = 1; set < sets_.size(); ++set) {
      std::vector<int> chosen = items_of(set);
      // Putting items together that share nothing saves nothing.
      if (chosen.size() > 1 && (!shares(chosen) || !may_be_group(region, chosen))) continue;
      sets_[set].bytes = bytes_moved(region, readers_, chosen);
    }
  }

  int64_t run() {
    extend(sets_.size() - 1, 0);
    return fewest_;
  }
  Grouping best() const {
    std::vector<int> part_of(region_.items.size(), -1);
    for (size_t p = 0; p < best_.size(); ++p) {
      for (int i : items_of(best_[p])) part_of[static_cast<size_t>(i)] = static_cast<int>(p);
    }
    return *group_as_given(region_, part_of);
  }

 private:
  struct Set {
    int64_t bytes = -1;  // it may be no group
  };

  std::vector<int> items_of(size_t set) const {
    std::vector<int> chosen;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (set >> i & 1) chosen.push_back(items_[i]);
    }
    return chosen;
  }

  // Whether the items hang together by values that one makes or several read.
  bool shares(const std::vector<int>& chosen) const {
    std::vector<std::set<int>> touched;
    for (int i : chosen) {
      std::set<int> values{i};
      const Item& item = region_.items[static_cast<size_t>(i)];
      for (const Edge& edge : region_.edges_of(item)) values.insert(edge.value);
      touched.push_back(values);
    }
    std::set<int> reached = touched[0];
    std::vector<bool> in(chosen.size(), false);
    in[0] = true;
    for (bool grew = true; grew;) {
      grew = false;
      for (size_t c = 0; c < chosen.size(); ++c) {
        bool meets = std::any_of(touched[c].begin(), touched[c].end(),
                                 [&](int value) { return reached.count(value) > 0; });
        if (in[c] || !meets) continue;
        reached.insert(touched[c].begin(), touched[c].end());
        in[c] = grew = true;
      }
    }
    return std::find(in.begin(), in.end(), false) == in.end();
  }

  bool runs(const std::vector<size_t>& parts) const {
    std::vector<int> part_of(region_.items.size(), -1);
    for (size_t p = 0; p < parts.size(); ++p) {
      for (int i : items_of(parts[p])) part_of[static_cast<size_t>(i)] = static_cast<int>(p);
    }
    return group_as_given(region_, part_of).has_value();
  }

  void extend(size_t rest, int64_t bytes) {
    if (bytes >= fewest_) return;
    if (rest == 0) {
      if (!runs(parts_)) return;
      fewest_ = bytes;
      best_ = parts_;
      return;
    }
    size_t first = rest & (~rest + 1), others = rest ^ first;
    for (size_t with = others;; with = (with - 1) & others) {
      int64_t cost = sets_[first | with].bytes;
      if (cost >= 0) {
        parts_.push_back(first | with);
        extend(others ^ with, bytes + cost);
        parts_.pop_back();
      }
      if (with == 0) break;
    }
  }

  const Region& region_;
  Readers readers_;
  std::vector<int> items_;
  std::vector<Set> sets_;
  std::vector<size_t> parts_, best_;
  int64_t fewest_ = std::numeric_limits<int64_t>::max();
};

struct Measured {
  double ratio = 1;
  std::string greedy, best;  // explanations, where they differ
};

Measured measure(std::vector<Tensor> results) {
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  Region region;
  select(window, results.data(), results.size());
  build_region(window, results[0].device(), &region);
  Grouping greedy = group_items(region);
  int64_t bytes = bytes_of_groups(region, greedy);
  Search search(region);
  int64_t fewest = search.run();
  Measured measured;
  if (bytes == fewest) return measured;
  measured.ratio = static_cast<double>(bytes) / static_cast<double>(fewest);
  measured.greedy = explain_region(region, as_it_is(region, greedy));
  measured.best = explain_region(region, as_it_is(region, search.best()));
  return measured;
}

// What was found for all graphs of one size.
struct Family {
  explicit Family(std::string given) : name(std::move(given)) {}

  std::string name;
  int64_t count = 0, optimal = 0;
  double sum = 0;
  std::vector<double> ratios;  // those above 1
  Measured worst;

  void add(const Measured& measured) {
    ++count;
    sum += measured.ratio;
    if (measured.ratio <= 1) {
      ++optimal;
      return;
    }
    ratios.push_back(measured.ratio);
    if (measured.ratio > worst.ratio) worst = measured;
  }
  double above(double share) {
    // The ratio that this share of all graphs does not exceed.
    size_t at = static_cast<size_t>(share * static_cast<double>(count));
    if (at < static_cast<size_t>(optimal)) return 1;
    std::sort(ratios.begin(), ratios.end());
    return ratios[std::min(at - static_cast<size_t>(optimal), ratios.size() - 1)];
  }
};

class Progress {
 public:
  void show(const Family& family, double share) {
    Clock::time_point now = Clock::now();
    if (now - shown_ < std::chrono::seconds(2)) return;
    shown_ = now;
    std::fprintf(stderr, "%s: %3.0f %%, %lld graphs, %.2f %% best\n", family.name.c_str(),
                 100 * share, static_cast<long long>(family.count),
                 100.0 * static_cast<double>(family.optimal) / static_cast<double>(family.count));
  }

 private:
  Clock::time_point shown_ = Clock::now();
};

Tensor leaf(const Shape& shape) {
  size_t bytes = static_cast<size_t>(element_count(shape)) * sizeof(float);
  return make_leaf(Storage::allocate(find_device("cpu"), bytes), Dtype::float32,
                   contiguous_layout(shape));
}

// The same graph whatever the order of its steps: each value named by how it is made.
std::string name_of_graph(const Program& program, int leaves) {
  std::vector<std::string> names;
  for (int l = 0; l < leaves; ++l) names.push_back(std::string(1, static_cast<char>('x' + l)));
  for (const Step& step : program) {
    std::string a = names[static_cast<size_t>(step.a)];
    if (takes_two(step.op)) {
      std::string b = names[static_cast<size_t>(step.b)];
      if (step.op == map_two && b < a) std::swap(a, b);
      a += "," + b;
    }
    names.push_back(std::to_string(step.op) + "(" + a + ")");
  }
  std::sort(names.begin(), names.end());
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i] == names[i - 1]) return "";  // one value twice is a smaller graph
  }
  std::string name;
  for (const std::string& part : names) name += part + ";";
  return name;
}

Family every_graph(int size, Progress* progress) {
  Family family("all of " + std::to_string(size) + " operators on one matrix");
  std::vector<Tensor> leaves{leaf({32, 32})};
  std::set<std::string> seen;
  Program program;
  double done = 0;
  std::function<void(int, double)> grow = [&](int left, double share) {
    if (left == 0) {
      done += share;
      std::string name = name_of_graph(program, 1);
      if (name.empty() || !seen.insert(name).second) return;
      std::vector<Tensor> results = record(program, leaves);
      if (results.empty() || !results[0]->window.load()) return;
      family.add(measure(std::move(results)));
      progress->show(family, done);
      return;
    }
    int values = 1 + static_cast<int>(program.size());
    std::vector<Step> steps;
    for (int op = 0; op < operators; ++op) {
      for (int a = 0; a < values; ++a) {
        int last = !takes_two(op) ? 0 : op == map_two ? a : values - 1;
        for (int b = 0; b <= last; ++b) steps.push_back({op, a, b});
      }
    }
    for (const Step& step : steps) {
      program.push_back(step);
      grow(left - 1, share / static_cast<double>(steps.size()));
      program.pop_back();
    }
  };
  grow(size, 1);
  return family;
}

Family random_graphs(int size, int64_t count, Progress* progress) {
  Family family(std::to_string(size) + " operators at random");
  std::vector<Tensor> leaves{leaf({48, 32}), leaf({1, 32}), leaf({48, 1})};
  std::mt19937_64 random(static_cast<uint64_t>(size));
  while (family.count < count) {
    Program program;
    std::vector<Tensor> values = leaves;
    while (static_cast<int>(program.size()) < size) {
      auto operand = [&] { return static_cast<int>(random() % values.size()); };
      // Half of all operators are element-wise, as in most programs.
      int op = random() % 2 ? (random() % 2 ? map_one : map_two)
                            : static_cast<int>(random() % operators);
      Step step{op, operand(), operand()};
      Tensor value = value_of(step, values);
      if (!value) continue;
      values.push_back(value);
      program.push_back(step);
    }
    values.clear();
    std::vector<Tensor> results = record(program, leaves);
    bool pending = std::any_of(results.begin(), results.end(),
                               [](const Tensor& t) { return t->window.load() != nullptr; });
    if (!pending) continue;
    family.add(measure(std::move(results)));
    progress->show(family, static_cast<double>(family.count) / static_cast<double>(count));
  }
  return family;
}

}  // namespace

int main(int argc, char** argv) {
  install_fusing_evaluator();
  Progress progress;
  std::vector<Family> families;
  for (int size = 1; size <= 5; ++size) families.push_back(every_graph(size, &progress));
  for (int size = 5; size <= 8; ++size) families.push_back(random_graphs(size, 10000, &progress));

  nlohmann::json result = nlohmann::json::array();
  std::printf("%-34s %8s %8s %8s %8s %8s\n", "graphs", "count", "best", "mean", "99 %", "worst");
  for (Family& family : families) {
    double best = static_cast<double>(family.optimal) / static_cast<double>(family.count);
    double mean = family.sum / static_cast<double>(family.count);
    std::printf("%-34s %8lld %7.2f%% %8.4f %8.3f %8.3f\n", family.name.c_str(),
                static_cast<long long>(family.count), 100 * best, mean, family.above(0.99),
                family.worst.ratio);
    result.push_back({{"graphs", family.name},
                      {"count", family.count},
                      {"share_best", best},
                      {"mean_ratio", mean},
                      {"ratio_99_percent", family.above(0.99)},
                      {"worst_ratio", family.worst.ratio},
                      {"worst_greedy", family.worst.greedy},
                      {"worst_best", family.worst.best}});
  }
  for (const Family& family : families) {
    if (family.worst.ratio <= 1) continue;
    std::printf("\n%s, worst: greedy\n%sand the best\n%s", family.name.c_str(),
                family.worst.greedy.c_str(), family.worst.best.c_str());
  }
  if (argc > 1) {
    std::FILE* file = std::fopen(argv[1], "w");
    if (!file) {
      std::perror(argv[1]);
      return 1;
    }
    std::fprintf(file, "%s\n", result.dump(2).c_str());
    std::fclose(file);
  }
  return 0;
}
