// SPDX-License-Identifier: Apache-2.0
/// @file io.h
/// Files of tensors, and exchange with other libraries in memory.
///
/// Paths are UTF-8. A file that cannot be opened or is malformed is MT_EIO, with a message that
/// names the file and the fault; nothing outside it is ever read. Files are written whole beside
/// the old one and then take its name, so a crash or a full disk leaves the old one as it was.
/// Reading puts tensors on `device`.
#ifndef MTORCH_IO_H_
#define MTORCH_IO_H_

#include "nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Reads a NumPy .npy file, format 1 to 3, row- or column-major, either byte order. MT_EUNSUPPORTED
/// for element types that mtorch lacks.
MT_API mt_tensor* mt_load_npy(const char* path, const char* device);
/// Writes a NumPy .npy file. bfloat16, which NumPy lacks, is MT_EUNSUPPORTED.
MT_API mt_status mt_save_npy(mt_tensor* tensor, const char* path);
/// Reads a NumPy .npz archive as a collection of buffers. Released with mt_parameters_release().
MT_API mt_parameters* mt_load_npz(const char* path, const char* device);
/// Writes all tensors of a collection as a NumPy .npz archive, compressed if so asked. bfloat16 is
/// MT_EUNSUPPORTED, a tensor's name that is not UTF-8 MT_EIO.
MT_API mt_status mt_save_npz(mt_parameters* parameters, const char* path, bool compress);
/// Reads a safetensors file as a collection of buffers, whatever its names and shapes. (To fill a
/// model's own tensors: mt_parameters_load().) Released with mt_parameters_release().
MT_API mt_parameters* mt_load_safetensors(const char* path, const char* device);
/// Reads an IDX file (as MNIST's), plain or gzip.
MT_API mt_tensor* mt_load_idx(const char* path, const char* device);

// ----------------------------------------------------------------------------------------- DLPack
// dmlc/dlpack's structures, declared in its dlpack.h; memory is shared, not copied.

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/// The value as a versioned DLPack tensor, without its gradients; computes it. The caller, or
/// whoever takes it, calls its deleter. It is marked read-only, and must not be written even by who
/// does not look: others have this value. `flags` is 0, or DLPACK_FLAG_BITMASK_IS_COPIED (2) for a
/// copy that may be written, as is made, and marked so, of negative strides, which few libraries
/// take. On a GPU it may not have been written yet: read it in mt_device_stream(), or after
/// mt_let_stream_wait(). Its deleter waits for all work on the device.
MT_API struct DLManagedTensorVersioned* mt_to_dlpack(mt_tensor* tensor, uint64_t flags);
/// A tensor over a DLPack tensor's memory, with any strides; its deleter is called when nothing
/// needs the memory any more, and not when this fails. The memory must not be written meanwhile. On
/// a GPU what wrote it has ended, or is in mt_device_stream(), or mt_wait_for_stream() has been
/// called; giving it back waits for the device. MT_EUNSUPPORTED for a type, device or version that
/// is not known.
MT_API mt_tensor* mt_from_dlpack(struct DLManagedTensorVersioned* managed);
/// The same as DLPack before 1.0 has it, which cannot say read-only: the receiver must not write.
MT_API struct DLManagedTensor* mt_to_dlpack_unversioned(mt_tensor* tensor);
/// The same for a tensor as DLPack before 1.0 has it.
MT_API mt_tensor* mt_from_dlpack_unversioned(struct DLManagedTensor* managed);

#ifdef __cplusplus
}
#endif
#endif
