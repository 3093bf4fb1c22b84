// SPDX-License-Identifier: Apache-2.0
// DLPack's structures, written from its specification (dmlc.github.io/dlpack). The public header
// names them only; programs bring DLPack's own header.
#pragma once

#include <cstdint>

extern "C" {

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; NULL: row-major and contiguous
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace mt::dlpack {

constexpr int32_t device_cpu = 1, device_cuda = 2;
constexpr uint64_t read_only = 1, is_copied = 2;
constexpr uint32_t major_version = 1, minor_version = 0;

}  // namespace mt::dlpack
