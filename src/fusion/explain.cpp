// SPDX-License-Identifier: Apache-2.0
#include "fusion/explain.h"

#include <cstdio>

#include "fusion/grouping/traffic.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "graph/window.h"

namespace mt {
namespace {

std::string describe(const Node& node) {
  return std::string(name_of(node.dtype)) + to_string(node.shape);
}

std::string bytes_text(int64_t bytes) {
  static constexpr const char* units[] = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.3g %s" : "%.0f %s", value, units[unit]);
  return text;
}

const char* kind_name(const ItemGroup& group) {
  if (group.contraction >= 0) return "contraction with epilogue";
  switch (group.kind) {
    case GroupKind::map: return "element-wise";
    case GroupKind::row: return "rows";
    case GroupKind::reduce: return "reduction";
    case GroupKind::contract: return "contraction";
    case GroupKind::call: return "alone";
  }
  return "";
}

// Explains the region that is run, which may be arranged differently from the given one.
class Explanation {
 public:
  Explanation(const Region& given, const Arrangement& arrangement)
      : given_(given),
        region_(arrangement.region),
        readers_(region_),
        grouping_(arrangement.grouping),
        original_(arrangement.original) {}

  std::string text() const {
    std::string result;
    if (region_.items.empty()) return "the value is there: nothing runs\n";
    for (size_t g = 0; g < grouping_.groups.size(); ++g) {
      std::vector<int> items = members(grouping_.groups[g]);
      result += "group " + std::to_string(g) + ": " + kind_name(grouping_.groups[g]) + ", " +
                bytes_text(bytes_moved(region_, readers_, items)) + "\n";
      for (int i : items) {
        result += "  " + line(i) + (is_written(region_, readers_, items, i) ? "  stored\n" : "\n");
      }
    }
    size_t groups = grouping_.groups.size();
    result += std::to_string(groups) + (groups == 1 ? " group moves " : " groups move ") +
              bytes_text(bytes_of_groups(region_, grouping_)) +
              "; one operator at a time would move " + bytes_text(bytes_one_by_one(given_)) + "\n";
    result += left_out();
    for (size_t i = 0; i < region_.items.size(); ++i) {
      if (!grouping_.refusal[i]) continue;
      result += "not fused: %" + std::to_string(i) + " " + region_.items[i].node->op->name + ": " +
                grouping_.refusal[i] + "\n";
    }
    return result;
  }

  std::string dot() const {
    std::string result =
        "digraph plan {\n  rankdir=TB;\n  node [shape=box, style=rounded, "
        "fontname=\"sans-serif\"];\n";
    for (size_t g = 0; g < grouping_.groups.size(); ++g) {
      std::string id = std::to_string(g);
      std::vector<int> items = members(grouping_.groups[g]);
      result += "  subgraph cluster_" + id + " {\n    label=\"" + kind_name(grouping_.groups[g]) +
                ", " + bytes_text(bytes_moved(region_, readers_, items)) +
                "\";\n    style=rounded;\n";
      for (int i : items) {
        result += "    n" + std::to_string(i) + " [label=\"" + region_.item(i).node->op->name +
                  "\\n" + describe(*region_.item(i).node) + "\"";
        if (is_written(region_, readers_, items, i)) result += ", penwidth=2";
        result += "];\n";
      }
      result += "  }\n";
    }
    for (size_t l = 0; l < region_.leaves.size(); ++l) {
      result += "  x" + std::to_string(l) + " [shape=ellipse, label=\"" +
                describe(*region_.leaves[l].node) + "\"];\n";
    }
    for (size_t i = 0; i < region_.items.size(); ++i) {
      if (is_inlined(static_cast<int>(i))) continue;
      const Item& item = region_.items[i];
      for (const Edge& edge : region_.edges_of(item)) {
        int value = edge.value;
        if (is_inlined(value)) continue;
        result += "  " + (value < 0 ? "x" + std::to_string(~value) : "n" + std::to_string(value)) +
                  " -> n" + std::to_string(i);
        if (value >= 0 && group_of(value) != group_of(static_cast<int>(i)) &&
            grouping_.refusal[value]) {
          result += std::string(" [style=dashed, tooltip=\"") + grouping_.refusal[value] + "\"]";
        }
        result += ";\n";
      }
    }
    return result + "}\n";
  }

 private:
  int group_of(int i) const { return grouping_.group_of[i]; }
  bool is_inlined(int value) const { return value >= 0 && group_of(value) < 0; }
  std::string line(int i) const {
    const Item& item = region_.item(i);
    std::string result = "%" + std::to_string(i) + " = " + item.node->op->name + "(";
    const char* separator = "";
    for (const Edge& edge : region_.edges_of(item)) {
      int value = edge.value;
      result += separator;
      separator = ", ";
      result += value < 0 ? "x" + std::to_string(~value) : "%" + std::to_string(value);
    }
    return result + ")  " + describe(*item.node);
  }

  // Names the values of which only the part that is read is computed.
  std::string left_out() const {
    std::string result;
    for (size_t i = 0; i < region_.items.size(); ++i) {
      const Node& node = *region_.items[i].node;
      if (element_count(node.shape) < element_count(given_.item(original_[i]).node->shape)) {
        result += (result.empty() ? "only what is read: %" : ", %") + std::to_string(i) + " " +
                  node.op->name;
      }
    }
    return result.empty() ? result : result + "\n";
  }

  const Region& given_;
  const Region& region_;
  Readers readers_;
  const Grouping& grouping_;
  const std::vector<int>& original_;
};

// f(region, arrangement) for what a read of the tensor would run; the region is empty if the value
// is there already.
template <class F>
std::string with_plan(const Tensor& tensor, F&& f) {
  Region region;
  region.device = &tensor.device();
  auto told = [&] {
    Plan plan;
    const Arrangement arrangement = plan_region(region, &plan);
    return f(region, arrangement);
  };
  Window* window = tensor->window.load();
  if (!window) return told();
  DisposalPause pause;
  OwnerLock::Hold hold(window->lock, &current_thread());
  if (!tensor->ready()) {
    select(*window, &tensor, 1);
    build_region(*window, tensor.device(), &region);
  }
  return told();
}

}  // namespace

std::string explain_region(const Region& region, const Arrangement& arrangement) {
  return Explanation(region, arrangement).text();
}
std::string explain_region_dot(const Region& region, const Arrangement& arrangement) {
  return Explanation(region, arrangement).dot();
}

std::string explain(const Tensor& tensor) {
  return with_plan(tensor,
                   [](const Region& r, const Arrangement& a) { return explain_region(r, a); });
}
std::string explain_dot(const Tensor& tensor) {
  return with_plan(tensor,
                   [](const Region& r, const Arrangement& a) { return explain_region_dot(r, a); });
}

}  // namespace mt
