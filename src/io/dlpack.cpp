// SPDX-License-Identifier: Apache-2.0
#include "io/dlpack.h"

#include <memory>

#include "backends/backend.h"
#include "backends/devices.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "io/dlpack_abi.h"
#include "ops/ops.h"

namespace mt {
namespace {

// Before memory changes hands: a GPU may not have come so far. `others`: in their streams, too.
void finish_work(Device& device, bool others) noexcept {
  if (device.host_memory) return;
  try {
    device.backend->finish(others);
  } catch (const std::exception&) {
    // The device has failed, which whoever reads from it is told.
  }
}

template <class Managed>
struct Export {
  Managed managed{};
  Ref<Storage> storage;
  Shape shape;
  Strides strides;

  static void finish(Managed* managed) {
    auto* self = static_cast<Export*>(managed->manager_ctx);
    finish_work(self->storage->device(), true);
    self->storage->unpin();
    delete self;
  }
};

DLDevice device_of(const Device& device) {
  if (device.host_memory) return {dlpack::device_cpu, 0};
  size_t colon = device.name.find(':');
  int index = colon == std::string::npos ? 0 : std::atoi(device.name.c_str() + colon + 1);
  return {dlpack::device_cuda, index};
}

template <class Managed>
Managed* make_export(const Tensor& tensor) {
  auto owner = std::make_unique<Export<Managed>>();
  owner->storage = tensor->storage;
  owner->shape = tensor.shape();
  owner->strides = tensor->strides;
  int32_t code = to_code(tensor.dtype());
  Managed& managed = owner->managed;
  managed.dl_tensor = {tensor->data(),
                       device_of(tensor.device()),
                       tensor.rank(),
                       {static_cast<uint8_t>(code), static_cast<uint8_t>(code >> 8),
                        static_cast<uint16_t>(code >> 16)},
                       owner->shape.data(),
                       owner->strides.data(),
                       0};
  managed.manager_ctx = owner.get();
  managed.deleter = Export<Managed>::finish;
  owner->storage->pin();  // nothing may take this memory over while others see it
  return &owner.release()->managed;
}

// NumPy takes negative strides; PyTorch and JAX do not.
bool runs_backwards(const Tensor& value) {
  for (int64_t stride : value->strides) {
    if (stride < 0) return true;
  }
  return false;
}

[[noreturn]] void refuse(const char* fault) { fail(Code::invalid, "from_dlpack: %s", fault); }

// The elements that a tensor touches, relative to its first; computed without overflow.
Extent checked_extent(const Layout& layout, Dtype dtype) {
  __int128 begin = 0, end = 1, count = 1;
  constexpr __int128 limit = INT64_MAX;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.shape[i] == 0) return {0, 0};
  }
  for (int i = 0; i < layout.shape.rank(); ++i) {
    __int128 reach = static_cast<__int128>(layout.shape[i] - 1) * layout.strides[i];
    (reach < 0 ? begin : end) += reach;
    count *= layout.shape[i];
    if ((end - begin) * static_cast<int>(size_of(dtype)) > limit ||
        count * static_cast<int>(size_of(dtype)) > limit) {
      fail(Code::shape, "from_dlpack: shape %s is too large to address",
           to_string(layout.shape).c_str());
    }
  }
  return {static_cast<int64_t>(begin), static_cast<int64_t>(end)};
}

Layout layout_of(const DLTensor& source) {
  if (source.ndim < 0 || source.ndim > max_rank) {
    fail(Code::shape, "from_dlpack: %d dimensions; at most %d can be held", source.ndim, max_rank);
  }
  if (source.ndim > 0 && !source.shape) refuse("a tensor without shape");
  Shape shape(source.shape, source.ndim);
  bool empty = false;
  for (int64_t size : shape) empty |= size == 0;
  check_shape(shape, 1, "from_dlpack");
  if (empty) return {shape, Dims::filled(shape.rank(), 0), 0};
  if (!source.strides) return contiguous_layout(shape);
  return {shape, Strides(source.strides, source.ndim), 0};
}

Device& device_of(const DLDevice& device) {
  if (device.device_type == dlpack::device_cpu) return find_device("cpu");
  if (device.device_type == dlpack::device_cuda) {
    return find_device(("cuda:" + std::to_string(device.device_id)).c_str());
  }
  fail(Code::unsupported, "from_dlpack: device type %d is not known here", device.device_type);
}

// Gives memory back to the other library.
template <class Managed>
void give_back(void* user) {
  auto* managed = static_cast<Managed*>(user);
  if (managed->dl_tensor.device.device_type != dlpack::device_cpu) {
    finish_work(device_of(managed->dl_tensor.device), false);
  }
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
Tensor import(Managed* managed, Ref<Storage>* lent) {
  const DLTensor& source = managed->dl_tensor;
  Device& device = device_of(source.device);
  Dtype dtype;
  int32_t code = source.dtype.code | source.dtype.bits << 8 | source.dtype.lanes << 16;
  if (!from_code(code, &dtype)) {
    fail(Code::unsupported, "from_dlpack: element type code %d, %d bits, %d lanes is not known",
         source.dtype.code, source.dtype.bits, source.dtype.lanes);
  }
  Layout layout = layout_of(source);
  Extent extent = checked_extent(layout, dtype);
  int64_t size = static_cast<int64_t>(size_of(dtype)), bytes = (extent.end - extent.begin) * size;
  if (!source.data && bytes > 0) refuse("a tensor without data");
  char* first = static_cast<char*>(source.data);
  if (bytes > 0) first += static_cast<int64_t>(source.byte_offset) + extent.begin * size;
  if (bytes > 0 && reinterpret_cast<uintptr_t>(first) % size_of(dtype) != 0) {
    fail(Code::unsupported, "from_dlpack: the data is not aligned to its element size %d",
         static_cast<int>(size));
  }
  layout.offset = -extent.begin;
  Ref<Storage> storage =
      Storage::borrow(device, first, static_cast<size_t>(bytes), give_back<Managed>, managed);
  try {
    if (lent) *lent = storage;
    return make_leaf(storage, dtype, layout);
  } catch (...) {
    storage->disown();
    throw;
  }
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(const Tensor& tensor, uint64_t flags) {
  if (flags & ~dlpack::is_copied) {
    fail(Code::invalid, "to_dlpack: flags are 0 or 2, not %llu",
         static_cast<unsigned long long>(flags));
  }
  GradientMode no_gradient(false);
  Tensor value = flags ? copy(tensor) : tensor;
  evaluate(value);
  if (runs_backwards(value)) {
    value = copy(value);
    evaluate(value);
    flags = dlpack::is_copied;
  }
  DLManagedTensorVersioned* result = make_export<DLManagedTensorVersioned>(value);
  result->version = {dlpack::major_version, dlpack::minor_version};
  result->flags = flags ? dlpack::is_copied : dlpack::read_only;
  return result;
}

DLManagedTensor* to_dlpack_unversioned(const Tensor& tensor) {
  evaluate(tensor);
  if (!runs_backwards(tensor)) return make_export<DLManagedTensor>(tensor);
  GradientMode no_gradient(false);
  Tensor value = copy(tensor);
  evaluate(value);
  return make_export<DLManagedTensor>(value);
}

Tensor from_dlpack(DLManagedTensorVersioned* managed, Ref<Storage>* lent) {
  if (managed->version.major != dlpack::major_version) {
    fail(Code::unsupported, "from_dlpack: DLPack version %u.%u is not known",
         managed->version.major, managed->version.minor);
  }
  return import(managed, lent);
}

Tensor from_dlpack(DLManagedTensor* managed, Ref<Storage>* lent) { return import(managed, lent); }

}  // namespace mt
