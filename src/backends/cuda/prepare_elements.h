// SPDX-License-Identifier: Apache-2.0
// Element-wise work: which of its memory lies so that vectors move it, and by which kernel it runs.
#pragma once

#include "backends/cuda/generate.h"
#include "backends/cuda/generated.h"
#include "backends/cuda/prepare.h"

namespace mt::cuda {

// For addresses that are multiples of 16, of which the widest numbers fill whole ones; and for any.
Vectors vectors_of(const Program& program, const std::vector<Segment>& segments);
Vectors one_by_one(const Program& program, const Segment& segment);

class PreparedElements {
 public:
  PreparedElements() = default;
  // The group's ProgramView lies at `at`; its segments have so many tiles.
  PreparedElements(const Group& group, int device, const char* name, int64_t at, int64_t tiles);

  // Whether it has a kernel of its own by now.
  bool is_compiled(const Run& run) const { return way(run).kernel(); }
  void launch(const Run& run) const;

 private:
  struct Way {
    Vectors vectors;
    const Generated* generated = nullptr;
    Kernel* kernel() const { return generated ? generated->kernel() : nullptr; }
  };
  Way request(const Vectors& vectors) const;
  // A leaf may begin anywhere.
  const Way& way(const Run& run) const;

  const Group* group_ = nullptr;
  int device_ = 0;
  const char* name_ = "";
  int64_t at_ = 0, tiles_ = 0;
  std::vector<int> buffers_;  // that are to be aligned
  Way by_vectors_;
  mutable Way one_by_one_;  // from the first run on that needs it
};

}  // namespace mt::cuda
