// SPDX-License-Identifier: Apache-2.0
// Runs every operator's naive value, one after another: the oracle for all other backends.
#include "backends/reference/reference_backend.h"

#include <algorithm>

#include "backends/host.h"
#include "backends/host_backend.h"
#include "backends/naive_arguments.h"

namespace mt::reference {
namespace {

// Where nothing is fused, every group is a call.
const CallGroup& call_in(const Group& group) { return std::get<CallGroup>(group.work); }

class ReferenceBackend final : public HostBackend {
 public:
  std::string description() const override {
    return host::processor_name() + ", one plain loop for each operator";
  }
  uint64_t configuration() const override { return 0; }
  void prepare(Plan* plan) override {
    for (const Group& group : plan->groups) {
      plan->scratch_bytes = std::max(plan->scratch_bytes, argument_bytes(call_in(group)));
    }
  }

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void* scratch,
           GroupWatch* watch) override {
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      if (watch) watch->begins(g);
      naive_value(call_of(call_in(plan.groups[g]), buffers, immediates, scratch));
      if (watch) watch->ends(g);
    }
  }

  bool run_small(const Op&, Dtype, const SmallOperand*, void*, int64_t) override { return false; }
};

}  // namespace

Backend& backend() {
  static ReferenceBackend backend;
  return backend;
}

}  // namespace mt::reference
