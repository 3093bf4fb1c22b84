// SPDX-License-Identifier: Apache-2.0
/// @file device.h
/// Devices and their memory, threads, and the eager mode for debugging.
///
/// "cpu" runs fused kernels on all cores; "cpu:reference" runs the plain definition of each
/// operator, slowly, to check others by; "cuda:0" is the first GPU, when libmtorch_cuda is there.
#ifndef MTORCH_DEVICE_H_
#define MTORCH_DEVICE_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How many devices this process can use; at least 2.
MT_API size_t mt_device_count(void);
/// The device string of device i < mt_device_count(): "cpu", "cpu:reference", ... NULL beyond.
MT_API const char* mt_device_name(size_t i);
/// What the device is, in words: "AMD EPYC 9654, AVX-512, 2 threads". Freed with mt_free_string().
MT_API char* mt_device_description(const char* device);
/// Whether a device string names a device that can be used. Records no error.
MT_API bool mt_device_available(const char* device);
/// The device that NULL stands for: "cpu" unless set.
MT_API const char* mt_default_device(void);
/// Sets it, for the whole process.
MT_API mt_status mt_set_default_device(const char* device);

/// How many threads CPU kernels use: at first every core that this process may run on, or as many
/// as its control group's quota of processor time is worth. Never changes a result.
MT_API int mt_threads(void);
/// Sets it, for the whole process. MT_EINVAL below 1 and above 1024.
MT_API mt_status mt_set_threads(int threads);
/// Adds a function that a thread calls, within a call of the library, before it computes more than
/// 512 elements or copies more than 64 KiB, and before it waits for another thread or a GPU; for
/// good. For languages whose interpreter runs one thread at a time: it lets go of the interpreter
/// there, and calls that are over in less time than that takes keep it. The function is called
/// with locks of the library held, so it waits for nothing and calls nothing of the library.
MT_API mt_status mt_before_work(void (*function)(void));

/// Memory of one device, in bytes. Set `struct_size` before the call.
typedef struct mt_memory {
  size_t struct_size;
  int64_t used;         ///< held by values now
  int64_t peak;         ///< most that `used` has been since mt_reset_peak_memory()
  int64_t cached;       ///< kept for reuse beside it
  int64_t limit;        ///< as set; 0: none
  int64_t allocations;  ///< blocks taken from the system so far (a count)
} mt_memory;
#define MT_MEMORY_INIT \
  { sizeof(mt_memory), 0, 0, 0, 0, 0 }

/// Reads a device's memory statistics. Memory given by mt_wrap() is not counted, nor are values of
/// at most 64 bytes on the host, which need no block of their own.
MT_API mt_status mt_memory_read(const char* device, mt_memory* memory);
/// Starts the peak anew, from what is used now.
MT_API mt_status mt_reset_peak_memory(const char* device);
/// Refuses with MT_ENOMEM, before anything runs, what would take `used` beyond so many bytes; 0
/// lifts the limit.
MT_API mt_status mt_set_memory_limit(const char* device, int64_t bytes);
/// Gives cached memory back to the system, but for what other threads keep, less than 5 MiB each.
MT_API mt_status mt_release_cached_memory(const char* device);

/// The stream, a cudaStream_t, in which a GPU works for this library; NULL for other devices. Work
/// of yours that is in it sees all that was called before.
MT_API void* mt_device_stream(const char* device);
/// What the device is given from now on waits for what is in another stream (a cudaStream_t) now:
/// before reading memory that others have written there. Nothing on other devices.
MT_API mt_status mt_wait_for_stream(const char* device, void* stream);
/// What is put into another stream from now on waits for what the device has been given so far:
/// before others read what was computed here. Nothing on other devices.
MT_API mt_status mt_let_stream_wait(const char* device, void* stream);

/// Whether each operator runs as it is called, unfused: at first what the environment's
/// MT_EAGER=1 said when the library was loaded.
MT_API bool mt_eager(void);
/// Sets it, for the whole process. Results are the same bits.
MT_API mt_status mt_set_eager(bool eager);
/// Whether an operator that makes a NaN from operands without one fails with MT_EINVAL, naming
/// itself; implies eager. Off at first; the environment's MT_EAGER=nan switches it on.
MT_API bool mt_nan_check(void);
/// Sets it, for the whole process.
MT_API mt_status mt_set_nan_check(bool check);

#ifdef __cplusplus
}
#endif
#endif
