// SPDX-License-Identifier: Apache-2.0
#include "tensor/storage.h"

#include <new>

namespace mt {

Ref<Storage> Storage::allocate(Device& device, size_t bytes) {
  void* data = device.allocator->allocate(bytes);
  if (!data) return nullptr;
  Storage* storage = new (std::nothrow) Storage(device, data, bytes);
  if (!storage) device.allocator->release(data, bytes);
  return Ref<Storage>(storage);
}

Ref<Storage> Storage::borrow(Device& device, void* data, size_t bytes, void (*done)(void*),
                             void* user) {
  Ref<Storage> storage(new Storage(device, data, bytes));
  storage->borrowed_ = true;
  storage->done_ = done;
  storage->user_ = user;
  return storage;
}

Storage::~Storage() {
  if (!borrowed_) {
    device_->allocator->release(data_, bytes_);
  } else if (done_) {
    done_(user_);
  }
}

}  // namespace mt
