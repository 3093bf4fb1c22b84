// SPDX-License-Identifier: Apache-2.0
#include "fusion/execute.h"

#include <algorithm>

#include "backends/backend.h"
#include "base/error.h"
#include "fusion/profile.h"

namespace mt {

Execution::Execution(const Plan& plan, Device* device, size_t items)
    : plan_(plan), device_(device) {
  if (plan.buffers.size() > few) {
    many_buffers_.reset(new void*[plan.buffers.size()]);
    buffers_ = many_buffers_.get();
  }
  if (items > few) {
    many_outputs_.reset(new Storage*[items]);
    outputs_ = many_outputs_.get();
  }
  std::fill_n(outputs_, items, nullptr);
}

Execution::~Execution() {
  for (const Buffer& buffer : plan_.buffers) {
    if (buffer.kind != BufferKind::output) continue;
    if (Storage* output = outputs_[buffer.index]) output->release();
  }
  if (arena_) device_->allocator->release(arena_, static_cast<size_t>(plan_.arena_bytes));
  if (scratch_) device_->allocator->release(scratch_, static_cast<size_t>(plan_.scratch_bytes));
}

bool Execution::try_memory(int* failed, int64_t* bytes) {
  *bytes = plan_.arena_bytes + plan_.scratch_bytes;
  if (plan_.arena_bytes) {
    arena_ = device_->allocator->allocate(static_cast<size_t>(plan_.arena_bytes));
    if (!arena_) return false;
  }
  if (plan_.scratch_bytes) {
    scratch_ = device_->allocator->allocate(static_cast<size_t>(plan_.scratch_bytes));
    if (!scratch_) return false;
  }
  void** place = buffers_;
  for (const Buffer& buffer : plan_.buffers) {
    void* data = nullptr;
    switch (buffer.kind) {
      case BufferKind::leaf: data = leaves_[buffer.index]->data(); break;
      case BufferKind::arena: data = static_cast<char*>(arena_) + buffer.offset; break;
      case BufferKind::output: {
        Storage*& output = outputs_[buffer.index];
        if (!output) {
          output = Storage::allocate(*device_, static_cast<size_t>(buffer.bytes)).disown();
        }
        if (!output) {
          *failed = buffer.index;
          *bytes = buffer.bytes;
          return false;
        }
        data = output->data();
      }
    }
    *place++ = data;
  }
  return true;
}

void Execution::out_of_memory(const char* name, int64_t bytes) const {
  fail_for_memory(name, *device_, static_cast<size_t>(bytes));
}

void Execution::run(const Immediates* immediates) {
  if (plan_.groups.empty()) return;
  if (Profile::measures()) {
    run_measured(*device_->backend, plan_, buffers_, immediates, scratch_);
  } else {
    device_->backend->run(plan_, buffers_, immediates, scratch_, nullptr);
  }
}

}  // namespace mt
