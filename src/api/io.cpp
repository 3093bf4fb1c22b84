// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/io.h.
#include "mtorch/io.h"

#include "api/guard.h"
#include "api/parameters.h"
#include "backends/devices.h"
#include "io/dlpack.h"
#include "io/idx.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/safetensors.h"

using namespace mt;
using namespace mt::api;

namespace {

// The tensors of a file as a collection of buffers.
template <class Load>
mt_parameters* load_all(const char* name, const char* path, const char* device, Load load) {
  return read<mt_parameters*>(name, nullptr, [&] {
    return new_parameters(load(required(path, "the path"), find_device(device)));
  });
}

template <class Managed>
mt_tensor* give_lent(Managed* managed) {
  Ref<Storage> lent;
  mt_tensor* handle = give(
      "from_dlpack", [&] { return from_dlpack(required(managed, "the DLPack tensor"), &lent); });
  if (!handle && lent) lent->disown();
  return handle;
}

}  // namespace

mt_tensor* mt_load_npy(const char* path, const char* device) {
  return give("load_npy",
              [&] { return load_npy(required(path, "the path"), find_device(device)); });
}

mt_status mt_save_npy(mt_tensor* tensor, const char* path) {
  return change("save_npy", [&] { save_npy(value(tensor), required(path, "the path")); });
}

mt_parameters* mt_load_npz(const char* path, const char* device) {
  return load_all("load_npz", path, device, load_npz);
}

mt_status mt_save_npz(mt_parameters* parameters, const char* path, bool compress) {
  return change("save_npz", [&] {
    save_npz(collection(parameters).tensors(), required(path, "the path"), compress);
  });
}

mt_parameters* mt_load_safetensors(const char* path, const char* device) {
  return load_all("load_safetensors", path, device, load_safetensors);
}

mt_tensor* mt_load_idx(const char* path, const char* device) {
  return give("load_idx",
              [&] { return load_idx(required(path, "the path"), find_device(device)); });
}

DLManagedTensorVersioned* mt_to_dlpack(mt_tensor* tensor, uint64_t flags) {
  return read<DLManagedTensorVersioned*>("to_dlpack", nullptr,
                                         [&] { return to_dlpack(value(tensor), flags); });
}

mt_tensor* mt_from_dlpack(DLManagedTensorVersioned* managed) { return give_lent(managed); }

DLManagedTensor* mt_to_dlpack_unversioned(mt_tensor* tensor) {
  return read<DLManagedTensor*>("to_dlpack", nullptr,
                                [&] { return to_dlpack_unversioned(value(tensor)); });
}

mt_tensor* mt_from_dlpack_unversioned(DLManagedTensor* managed) { return give_lent(managed); }
