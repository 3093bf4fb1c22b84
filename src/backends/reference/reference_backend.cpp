// SPDX-License-Identifier: Apache-2.0
// Runs every operator's naive value, one after another: the oracle for all other backends.
#include "backends/reference/reference_backend.h"

#include <cstring>

#include "ops/naive.h"

namespace mt::reference {
namespace {

class ReferenceBackend final : public Backend {
 public:
  uint64_t configuration() const override { return 0; }
  void prepare(Plan*) override {}

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void*) override {
    for (const Group& group : plan.groups) {
      NaiveCall call{*group.op, group.attributes, immediates[group.immediate], {}, {}};
      for (const Operand& input : group.inputs) {
        call.inputs.push_back({buffers[input.buffer], input.dtype, input.layout});
      }
      call.output = {buffers[group.output.buffer], group.output.dtype, group.output.layout};
      naive_value(call);
    }
  }

  bool run_small(const Op&, Dtype, const void* const*, void*, int64_t) override { return false; }

  void copy_from_host(void* target, const void* source, size_t bytes) override {
    std::memcpy(target, source, bytes);
  }
  void copy_to_host(void* target, const void* source, size_t bytes) override {
    std::memcpy(target, source, bytes);
  }
};

}  // namespace

Backend& backend() {
  static ReferenceBackend backend;
  return backend;
}

}  // namespace mt::reference
