// SPDX-License-Identifier: Apache-2.0
// Runs every operator's naive value, one after another: the oracle for all other backends.
#include "backends/reference/reference_backend.h"

#include <algorithm>
#include <cstring>

#include "backends/naive_arguments.h"

namespace mt::reference {
namespace {

class ReferenceBackend final : public Backend {
 public:
  uint64_t configuration() const override { return 0; }
  void prepare(Plan* plan) override {
    for (const Group& group : plan->groups) {
      plan->scratch_bytes = std::max(plan->scratch_bytes, argument_bytes(group));
    }
  }

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void* scratch,
           GroupWatch* watch) override {
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      if (watch) watch->begins(g);
      naive_value(call_of(plan.groups[g], buffers, immediates, scratch));
      if (watch) watch->ends(g);
    }
  }

  bool run_small(const Op&, Dtype, const SmallOperand*, void*, int64_t) override { return false; }

  void copy_from_host(void* target, const void* source, size_t bytes) override {
    if (bytes) std::memcpy(target, source, bytes);  // an empty vector has no address
  }
  void copy_to_host(void* target, const void* source, size_t bytes) override {
    if (bytes) std::memcpy(target, source, bytes);
  }
};

}  // namespace

Backend& backend() {
  static ReferenceBackend backend;
  return backend;
}

}  // namespace mt::reference
