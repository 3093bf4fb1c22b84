// SPDX-License-Identifier: Apache-2.0
// A block of device memory shared by the tensors that view it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ref.h"
#include "base/thread.h"
#include "tensor/device.h"

namespace mt {

class Storage {
 public:
  // Host memory of at most this many bytes is part of the object: scalars and such are made and
  // dropped all the time.
  static constexpr size_t inline_bytes = 64;

  // nullptr when the memory cannot be had.
  static Ref<Storage> allocate(Device& device, size_t bytes, Thread& thread = current_thread());
  // Memory that somebody else owns; `done(user)` is called once nothing here uses it any more.
  // Borrowed memory is never written, donated or freed by the library.
  static Ref<Storage> borrow(Device& device, void* data, size_t bytes, void (*done)(void*),
                             void* user);

  // Forgets `done`: the call that borrowed the memory failed, so its owner has it back already.
  void disown() { done_ = nullptr; }

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }
  bool borrowed() const { return borrowed_; }
  int32_t references() const { return references_.load(std::memory_order_acquire); }

  // While exported (mapped, or held by another library), the memory must not be donated.
  void pin() { pins_.fetch_add(1); }
  void unpin() { pins_.fetch_sub(1); }
  bool pinned() const { return pins_.load() != 0; }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (drop_reference(references_)) destroy(current_thread());
  }
  void release(Thread& thread) {
    if (drop_reference(references_)) destroy(thread);
  }

 private:
  Storage(Device& device, void* data, size_t bytes)
      : device_(&device), data_(data ? data : inline_), bytes_(bytes) {}
  ~Storage();
  void destroy(Thread& thread);

  std::atomic<int32_t> references_{1};
  std::atomic<int32_t> pins_{0};
  bool borrowed_ = false;
  Device* device_;
  void* data_;
  size_t bytes_;
  void (*done_)(void*) = nullptr;
  void* user_ = nullptr;
  alignas(64) unsigned char inline_[inline_bytes];
};

// What to say where `bytes` could not be had: also the limit that was set.
[[noreturn]] void fail_for_memory(const char* what, const Device& device, size_t bytes);

}  // namespace mt
