// SPDX-License-Identifier: Apache-2.0
#include "fusion/explain.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "fusion/planner.h"
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

const char* kind_name(const Draft& draft) {
  if (draft.contraction >= 0) return "contraction with epilogue";
  switch (draft.kind) {
    case GroupKind::map: return "element-wise";
    case GroupKind::row: return "rows";
    case GroupKind::reduce: return "reduction";
    case GroupKind::contract: return "contraction";
    case GroupKind::call: return "alone";
  }
  return "";
}

class Explanation {
 public:
  explicit Explanation(const Region& region) : region_(region), grouping_(group_items(region)) {}

  // The distinct values a group reads from memory and writes to it.
  int64_t group_bytes(size_t g) const {
    std::set<int> read;
    int64_t bytes = 0;
    for (int i : members(g)) {
      const Item& item = region_.items[static_cast<size_t>(i)];
      for (int e = 0; e < item.edge_count; ++e) {
        int value = region_.edges_of(item)[e].value;
        bool inside = value >= 0 && group_of(value) == static_cast<int>(g);
        if (!inside && !is_inlined(value) && read.insert(value).second) bytes += value_bytes(value);
      }
      if (is_written(i)) bytes += item.node->bytes();
    }
    return bytes;
  }

  int64_t unfused_bytes() const {
    int64_t bytes = 0;
    for (const Item& item : region_.items) {
      if (item.node->op->kind == OpKind::constant) continue;
      bytes += item.node->bytes();
      for (int e = 0; e < item.edge_count; ++e) {
        int value = region_.edges_of(item)[e].value;
        if (!is_inlined(value)) bytes += value_bytes(value);
      }
    }
    return bytes;
  }

  int64_t fused_bytes() const {
    int64_t bytes = 0;
    for (size_t g = 0; g < grouping_.drafts.size(); ++g) bytes += group_bytes(g);
    return bytes;
  }

  std::string text() const {
    std::string result;
    if (region_.items.empty()) return "the value is there: nothing runs\n";
    for (size_t g = 0; g < grouping_.drafts.size(); ++g) {
      result += "group " + std::to_string(g) + ": " + kind_name(grouping_.drafts[g]) + ", " +
                bytes_text(group_bytes(g)) + "\n";
      for (int i : members(g)) result += "  " + line(i) + "\n";
    }
    int64_t fused = fused_bytes(), unfused = unfused_bytes();
    result += std::to_string(grouping_.drafts.size()) + " groups move " + bytes_text(fused) +
              "; one operator at a time would move " + bytes_text(unfused) + "\n";
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
    for (size_t g = 0; g < grouping_.drafts.size(); ++g) {
      std::string id = std::to_string(g);
      result += "  subgraph cluster_" + id + " {\n    label=\"" + kind_name(grouping_.drafts[g]) +
                ", " + bytes_text(group_bytes(g)) + "\";\n    style=rounded;\n";
      for (int i : members(g)) {
        result += "    n" + std::to_string(i) + " [label=\"" +
                  region_.items[static_cast<size_t>(i)].node->op->name + "\\n" +
                  describe(*region_.items[static_cast<size_t>(i)].node) + "\"";
        if (is_written(i)) result += ", penwidth=2";
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
      for (int e = 0; e < item.edge_count; ++e) {
        int value = region_.edges_of(item)[e].value;
        if (is_inlined(value)) continue;
        result += "  " + (value < 0 ? "x" + std::to_string(~value) : "n" + std::to_string(value)) +
                  " -> n" + std::to_string(i);
        if (value >= 0 && group_of(value) != group_of(static_cast<int>(i)) &&
            grouping_.refusal[static_cast<size_t>(value)]) {
          result += std::string(" [style=dashed, tooltip=\"") +
                    grouping_.refusal[static_cast<size_t>(value)] + "\"]";
        }
        result += ";\n";
      }
    }
    return result + "}\n";
  }

 private:
  int group_of(int i) const { return grouping_.group_of[static_cast<size_t>(i)]; }
  bool is_inlined(int value) const { return value >= 0 && group_of(value) < 0; }
  int64_t value_bytes(int value) const {
    return value < 0 ? region_.leaves[static_cast<size_t>(~value)].node->bytes()
                     : region_.items[static_cast<size_t>(value)].node->bytes();
  }
  std::vector<int> members(size_t g) const {
    std::vector<int> result;
    for (size_t i = 0; i < region_.items.size(); ++i) {
      if (grouping_.group_of[i] == static_cast<int>(g)) result.push_back(static_cast<int>(i));
    }
    return result;
  }
  bool is_written(int i) const {
    if (region_.items[static_cast<size_t>(i)].stored) return true;
    for (size_t c = static_cast<size_t>(i) + 1; c < region_.items.size(); ++c) {
      const Item& consumer = region_.items[c];
      for (int e = 0; e < consumer.edge_count; ++e) {
        if (region_.edges_of(consumer)[e].value == i && group_of(static_cast<int>(c)) != group_of(i)) {
          return true;
        }
      }
    }
    return false;
  }
  std::string line(int i) const {
    const Item& item = region_.items[static_cast<size_t>(i)];
    std::string result = "%" + std::to_string(i) + " = " + item.node->op->name + "(";
    for (int e = 0; e < item.edge_count; ++e) {
      int value = region_.edges_of(item)[e].value;
      if (e) result += ", ";
      result += value < 0 ? "x" + std::to_string(~value) : "%" + std::to_string(value);
    }
    return result + ")  " + describe(*item.node) + (is_written(i) ? "  stored" : "");
  }

  const Region& region_;
  Grouping grouping_;
};

// What f says of the region that a read of the tensor would run, which is empty when its value is
// there already.
template <class F>
std::string with_region(const Tensor& tensor, F&& f) {
  Region region;
  region.device = &tensor.device();
  if (Window* window = tensor->window.load()) {
    std::lock_guard lock(window->mutex);
    if (!tensor->ready()) {
      select(*window, &tensor, 1);
      build_region(*window, tensor.device(), &region);
    }
    return f(region);
  }
  return f(region);
}

}  // namespace

Traffic traffic(const Region& region) {
  Explanation explanation(region);
  return {explanation.fused_bytes(), explanation.unfused_bytes()};
}

std::string explain_region(const Region& region) { return Explanation(region).text(); }
std::string explain_region_dot(const Region& region) { return Explanation(region).dot(); }
std::string explain(const Tensor& tensor) { return with_region(tensor, explain_region); }
std::string explain_dot(const Tensor& tensor) { return with_region(tensor, explain_region_dot); }

}  // namespace mt
