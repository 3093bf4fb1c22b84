// SPDX-License-Identifier: Apache-2.0
// A tape: the nodes recorded while it listened, in order, kept whole with their inputs.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/node.h"

namespace mt {

class Tape {
 public:
  Tape() = default;
  Tape(const Tape&) = delete;
  ~Tape() { end(); }

  // Starts and stops listening on the calling thread; tapes nest.
  void begin();
  void end();
  bool listening() const { return window_ != nullptr; }
  void append(const Tensor& node);

  const std::vector<Tensor>& nodes() const { return nodes_; }
  // Where a tensor stands among nodes(); -1 when it was made elsewhere.
  int64_t index_of(const Tensor& tensor) const;

  std::string to_text() const;
  std::string to_dot() const;

 private:
  std::vector<Tensor> nodes_;
  std::unordered_map<const Node*, int64_t> index_;
  Window* window_ = nullptr;
};

}  // namespace mt
