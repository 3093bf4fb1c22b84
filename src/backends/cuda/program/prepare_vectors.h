// SPDX-License-Identifier: Apache-2.0
// Kernels that are generated with vectors: which memory lies so that vectors move it, and which
// kernel serves a run's addresses.
#pragma once

#include "backends/cuda/generate/generate.h"
#include "backends/cuda/generate/generated.h"
#include "backends/cuda/prepare.h"

namespace mt::cuda {

// For addresses that are multiples of 16; and for any.
Vectors vectors_of(const Program& program, const std::vector<Segment>& segments);
Vectors one_by_one(const Program& program, const Segment& segment);

class VectorKernels {
 public:
  using MakeText = std::string (*)(const Program&, const Segment&, const Vectors&);
  struct Way {
    Vectors vectors;
    const Generated* generated = nullptr;
    Kernel* kernel() const { return generated ? generated->kernel() : nullptr; }
  };

  VectorKernels() = default;
  VectorKernels(const FusedProgram& fused, int device, MakeText make_text);
  // A leaf may begin anywhere.
  const Way& way(const Run& run) const;

 private:
  Way request(const Vectors& vectors) const;

  const FusedProgram* fused_ = nullptr;
  int device_ = 0;
  MakeText make_text_ = nullptr;
  std::vector<int> buffers_;  // that are to be aligned
  Way by_vectors_;
  mutable Way one_by_one_;  // from the first run on that needs it
};

}  // namespace mt::cuda
