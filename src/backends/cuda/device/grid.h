// SPDX-License-Identifier: Apache-2.0
// What kernels are written with: CUDA itself, or the grid simulator of the tests, under which every
// kernel also runs on a CPU with all its accesses checked. Beyond CUDA's own words there are
//
//   load(p, i)  store(p, i, value)   global memory that kernels write
//   view(p, i)                       a description that no kernel writes, by reference
//   shared<T>(offset)                an array at that byte of the block's shared memory
//   launch(name, kernel, grid, block, shared_bytes, stream, arguments...)
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

#include "backends/cuda/driver/driver.h"
#endif

#define MT_NOINLINE __noinline__
#define MT_UNROLL _Pragma("unroll")
#define MT_INLINE __forceinline__
#define MT_NO_UNROLL _Pragma("unroll 1")

namespace mt::cuda {

template <class T>
__device__ T load(const T* data, int64_t i = 0) {
  return data[i];
}
template <class T, class V>
__device__ void store(T* data, int64_t i, V value) {
  data[i] = value;
}
template <class T>
__device__ const T& view(const T* data, int64_t i = 0) {
  return data[i];
}
template <class T>
__device__ T* shared(size_t offset = 0) {
  // Aligned as bulk copies want it (bulk_copy.h).
  extern __shared__ __align__(1024) unsigned char memory_of_block[];
  return reinterpret_cast<T*>(memory_of_block + offset);
}
template <class T>
using Shared = T*;

#ifndef __CUDACC_RTC__
using Dim3 = dim3;
// A kernel that needs more has to say so; every GPU that serves gives 99 KiB, Hopper 227.
constexpr size_t usual_shared_bytes = 48 << 10;

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), Dim3 grid, Dim3 block,
            size_t shared_bytes, Stream stream, Arguments... arguments) {
  [](const char* what, void (*function)(Parameters...), Dim3 g, Dim3 b, size_t bytes, Stream s,
     Parameters... values) {
    void* pointers[] = {static_cast<void*>(&values)...};
    if (bytes > usual_shared_bytes) {
      launched(what, static_cast<int>(cudaFuncSetAttribute(
                         reinterpret_cast<const void*>(function),
                         cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes))));
    }
    launched(what, static_cast<int>(cudaLaunchKernel(reinterpret_cast<const void*>(function), g, b,
                                                     pointers, bytes, s)));
  }(name, kernel, grid, block, shared_bytes, stream, static_cast<Parameters>(arguments)...);
}
#endif

}  // namespace mt::cuda
#else
#include "backends/cuda/driver/driver.h"
#define MT_NOINLINE [[gnu::noinline]]
#define MT_UNROLL
#define MT_INLINE inline
#define MT_NO_UNROLL
#include "backends/cuda/simulator/grid.h"
#endif
