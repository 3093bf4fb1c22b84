// SPDX-License-Identifier: Apache-2.0
#include "tensor/storage.h"

#include <new>

#include "tensor/allocator.h"
#include "tensor/spare_memory.h"

namespace mt {
namespace {

using SpareStorages = SpareMemory<Storage, 256>;

SpareStorages& spare_storages() {
  static constinit thread_local SpareStorages spare;
  return spare;
}

void keep_spare_storages() {
  struct Watch {
    ~Watch() { spare_storages().close(); }
  };
  spare_storages().open();
  thread_local Watch watch;
  static_cast<void>(watch);
}

}  // namespace

void* Storage::operator new(size_t) {
  SpareStorages& spare = spare_storages();
  if (spare.unopened()) keep_spare_storages();
  return spare.take();
}

void Storage::operator delete(void* memory) { spare_storages().keep(memory); }

Ref<Storage> Storage::allocate(Device& device, size_t bytes) {
  void* data = nullptr;
  bool is_inline = bytes <= inline_bytes && device.allocator == &host_allocator();
  try {
    if (!is_inline) {
      data = device.allocator->allocate(bytes);
      if (!data) return nullptr;
    } else if (allocation_fails()) {
      return nullptr;
    }
    return Ref<Storage>::adopt(new Storage(device, data, bytes));
  } catch (const std::bad_alloc&) {
    if (data) device.allocator->release(data, bytes);
    return nullptr;
  }
}

Ref<Storage> Storage::borrow(Device& device, void* data, size_t bytes, void (*done)(void*),
                             void* user) {
  auto storage = Ref<Storage>::adopt(new Storage(device, data, bytes));
  storage->borrowed_ = true;
  storage->done_ = done;
  storage->user_ = user;
  return storage;
}

Storage::~Storage() {
  if (borrowed_) {
    if (done_) done_(user_);
  } else if (data_ != inline_) {
    device_->allocator->release(data_, bytes_);
  }
}

}  // namespace mt
