// SPDX-License-Identifier: Apache-2.0
/// @file kernel.h
/// Kernels of your own: what each cell of a grid computes.
///
/// A grid is made of blocks, and a block of threads; each thread of each block is a cell, which
/// finds out where it is, and computes something from the inputs for its place in the results. On a
/// GPU a kernel is CUDA C. On the CPU it is a C function, called for one cell after another, blocks
/// in parallel. A kernel may have both, so that one call serves both devices.
///
/// @code
/// mt_status add_cell(void* user, const mt_cell* at, const void* const* in, void* const* out,
///                    const double* numbers) {
///   const float *a = in[0], *b = in[1];
///   int64_t i = at->block[0] * at->block_size[0] + at->thread[0];
///   if (i < (int64_t)numbers[0]) ((float*)out[0])[i] = a[i] + b[i];
///   return MT_OK;
/// }
/// ...
/// mt_kernel* add = mt_kernel_new(&(mt_kernel_definition){
///     .struct_size = sizeof(mt_kernel_definition), .name = "add", .cell = add_cell,
///     .cuda = "__global__ void add(const float* a, const float* b, float* out, int n) {\n"
///             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
///             "  if (i < n) out[i] = a[i] + b[i];\n"
///             "}\n"});
/// mt_launch launch = {sizeof launch, {(n + 255) / 256, 1, 1}, {256, 1, 1}, 0, NULL};
/// mt_kernel_result form = {MT_DIMS(n), MT_F32};
/// double numbers[] = {n};
/// mt_tensor* sum;
/// mt_kernel_call(add, &launch, (mt_tensor*[]){a, b}, 2, numbers, 1, &form, &sum, 1);
/// @endcode
#ifndef MTORCH_KERNEL_H_
#define MTORCH_KERNEL_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A kernel. Opaque.
typedef struct mt_kernel mt_kernel;

/// Where a cell is: x, y, z of what CUDA calls blockIdx, threadIdx, blockDim and gridDim.
typedef struct mt_cell {
  int64_t block[3];       ///< which block of the grid
  int64_t thread[3];      ///< which cell of its block
  int64_t block_size[3];  ///< cells in a block
  int64_t grid_size[3];   ///< blocks in the grid
} mt_cell;

/// Computes one cell on the CPU. `inputs` and `results` are the tensors' contiguous elements;
/// results are not initialised. It writes nothing but its own part of the results, and calls
/// nothing of this library but mt_set_error(). Returns MT_OK, or MT_EUSER or another code, which
/// fails the call.
typedef mt_status (*mt_cell_function)(void* user, const mt_cell* cell, const void* const* inputs,
                                      void* const* results, const double* numbers);

/// What a kernel is. `struct_size` is sizeof(mt_kernel_definition).
typedef struct mt_kernel_definition {
  size_t struct_size;
  const char* name;  ///< the function's name in `cuda`, and for messages, tapes, explain; copied
  /// CUDA C for a GPU, compiled when it is first needed, and copied here; or NULL. Parameters are
  /// the inputs (pointers to const), the results (pointers) and the numbers, in this order, with
  /// element types that fit the tensors'.
  const char* cuda;
  mt_cell_function cell;  ///< the same for the CPU; or NULL
  bool serial;            ///< `cell` runs on the calling thread alone
  /// Called once, on any thread, when `user` is not needed any more. May be NULL.
  void (*destroy)(void* user);
  void* user;  ///< handed to `cell` and `destroy`
} mt_kernel_definition;

/// Makes a kernel. MT_EINVAL when it has neither text nor function, or its name is no identifier.
MT_API mt_kernel* mt_kernel_new(const mt_kernel_definition* definition);
/// Frees it once no call needs it any more. NULL is harmless.
MT_API void mt_kernel_release(mt_kernel* kernel);

/// The geometry of a call. `struct_size` is sizeof(mt_launch).
typedef struct mt_launch {
  size_t struct_size;
  int64_t grid[3];       ///< blocks: at most 2^31 - 1, 65535 and 65535
  int64_t block[3];      ///< threads of a block: at most 1024, 1024 and 64, and 1024 of all
  int64_t shared_bytes;  ///< of a GPU's dynamic shared memory, for each block
  const char* device;    ///< NULL: where the inputs lie, or without any the default device
} mt_launch;
#define MT_LAUNCH_INIT \
  { sizeof(mt_launch), {1, 1, 1}, {1, 1, 1}, 0, NULL }

/// Shape and type of a result.
typedef struct mt_kernel_result {
  const int64_t* dims;  ///< its sizes
  size_t ndim;          ///< how many there are
  mt_dtype dtype;       ///< its element type
} mt_kernel_result;

/// Runs a kernel, filling `results`, new tensors of the forms given. It runs at once, on a GPU
/// without being waited for; inside a trace it becomes part of that, with `numbers` as constants.
/// It has no gradient by itself: mt_custom() gives it one, whose forward and backward call kernels.
/// MT_EINVAL for a grid or a block that cannot be launched, for CUDA C that does not compile, with
/// the compiler's words, and for another number of parameters; MT_EDTYPE for parameters of other
/// types; MT_EUSER when a cell fails; MT_EUNSUPPORTED when the kernel has nothing for the device,
/// or NVRTC is not installed.
MT_API mt_status mt_kernel_call(mt_kernel* kernel, const mt_launch* launch,
                                mt_tensor* const* inputs, size_t ninputs, const double* numbers,
                                size_t nnumbers, const mt_kernel_result* forms, mt_tensor** results,
                                size_t nresults);

#ifdef __cplusplus
}
#endif
#endif
