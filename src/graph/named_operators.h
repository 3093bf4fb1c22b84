// SPDX-License-Identifier: Apache-2.0
// Operators that differ only in the names that users gave them.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "graph/op.h"

namespace mt {

class NamedOperators {
 public:
  explicit NamedOperators(const Op& model) : model_(model) {}

  // Nodes and plans refer to an operator by its address, so it stays for as long as this does.
  const Op& find_or_add(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto [entry, is_new] = operators_.emplace(name, model_);
    if (is_new) entry->second.name = entry->first.c_str();
    return entry->second;
  }

 private:
  const Op model_;
  std::mutex mutex_;
  std::map<std::string, Op> operators_;
};

}  // namespace mt
