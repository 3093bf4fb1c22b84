// SPDX-License-Identifier: Apache-2.0
#include "tensor/storage.h"

#include <new>

#include "base/allocator.h"
#include "base/error.h"

namespace mt {

void Storage::destroy(Thread& thread) {
  this->~Storage();
  thread.storages.keep(this);
}

Ref<Storage> Storage::allocate(Device& device, size_t bytes, Thread& thread) {
  void* data = nullptr;
  bool is_inline = bytes <= inline_bytes && device.allocator == &host_allocator();
  try {
    if (!is_inline) {
      data = device.allocator->allocate(bytes);
      if (!data) return nullptr;
    } else if (allocation_fails()) {
      return nullptr;
    }
    return Ref<Storage>::adopt(new (thread.storages.take()) Storage(device, data, bytes));
  } catch (const std::bad_alloc&) {
    if (data) device.allocator->release(data, bytes);
    return nullptr;
  }
}

Ref<Storage> Storage::borrow(Device& device, void* data, size_t bytes, void (*done)(void*),
                             void* user) {
  void* memory = current_thread().storages.take();
  auto storage = Ref<Storage>::adopt(new (memory) Storage(device, data, bytes));
  storage->borrowed_ = true;
  storage->done_ = done;
  storage->user_ = user;
  return storage;
}

void fail_for_memory(const char* what, const Device& device, size_t bytes) {
  const int64_t limit = device.allocator->statistics().limit;
  if (limit == 0) {
    fail(Code::memory, "%s: out of memory: %zu bytes on %s could not be had", what, bytes,
         device.name.c_str());
  }
  fail(Code::memory,
       "%s: out of memory: %zu bytes on %s could not be had within the limit of %lld bytes", what,
       bytes, device.name.c_str(), static_cast<long long>(limit));
}

Storage::~Storage() {
  if (borrowed_) {
    if (done_) done_(user_);
  } else if (data_ != inline_) {
    device_->allocator->release(data_, bytes_);
  }
}

}  // namespace mt
