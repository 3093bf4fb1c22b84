// SPDX-License-Identifier: Apache-2.0
// The driver behind CUDA's runtime, which is linked statically and itself looks for libcuda.so.1.
#include "backends/cuda/driver.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <vector>

#include "backends/cuda/nvrtc.h"
#include "tensor/error.h"

namespace mt::cuda {
namespace {

constexpr int oldest_capability = 80;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  fail(status == cudaErrorMemoryAllocation ? Code::memory : Code::device, "%s: %s", what,
       cudaGetErrorString(status));
}

// The device that this thread's calls are about.
void use(int device) { check(cudaSetDevice(device), "cuda"); }

template <class Function>
Function driver_function(void* library, const char* name) {
  void* found = library ? dlsym(library, name) : nullptr;
  if (!found) fail(Code::device, "cuda: the driver has no function %s", name);
  return reinterpret_cast<Function>(found);
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

int device_count() {
  int count = 0, driver = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  cudaDriverGetVersion(&driver);
  if (driver == 0) {
    fail(Code::device, "cuda: no NVIDIA driver is installed (libcuda.so.1 was not found)");
  }
  if (status == cudaErrorInsufficientDriver) {
    fail(Code::device, "cuda: the NVIDIA driver is too old: it serves CUDA %s, and %s is needed",
         version_text(driver).c_str(), version_text(CUDART_VERSION).c_str());
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    fail(Code::device, "cuda: the NVIDIA driver is installed, but there is no GPU");
  }
  check(status, "cuda");
  return count;
}

Properties properties(int device) {
  cudaDeviceProp found{};
  check(cudaGetDeviceProperties(&found, device), "cuda");
  int capability = found.major * 10 + found.minor;
  if (capability < oldest_capability) {
    fail(Code::device, "cuda:%d: %s has compute capability %d.%d, and 8.0 is needed", device,
         found.name, found.major, found.minor);
  }
  return {found.name, capability, found.multiProcessorCount, found.totalGlobalMem};
}

Stream make_stream(int device) {
  use(device);
  Stream stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cuda");
  return stream;
}

void* allocate_memory(int device, size_t bytes) {
  use(device);
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}
void free_memory(int device, void* memory) {
  if (cudaSetDevice(device) == cudaSuccess) cudaFree(memory);
  cudaGetLastError();
}
void hand_out(void*, size_t) {}
void take_back(void*) {}

void* allocate_pinned(size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cuda: pinned memory");
  return memory;
}

void copy_in(void* target, const void* source, size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream), "copy to device");
}
void copy_out(void* target, const void* source, size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream), "copy to host");
}
void synchronize(Stream stream, const char* what) { check(cudaStreamSynchronize(stream), what); }
void launched(const char* kernel, int status) { check(static_cast<cudaError_t>(status), kernel); }

bool can_compile() { return nvrtc_version() != 0; }

// The runtime has no functions for a kernel that comes as a file's contents before CUDA 12.8, so
// these are the driver's.
struct Kernel {
  CUfunction function;
};

Kernel* compile(int device, const std::string& source, const char* name) {
  static void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  static auto load = driver_function<decltype(&cuModuleLoadData)>(driver, "cuModuleLoadData");
  static auto find = driver_function<decltype(&cuModuleGetFunction)>(driver, "cuModuleGetFunction");
  use(device);
  std::vector<char> cubin = cached_cubin(source, properties(device).capability);
  CUmodule module;
  CUfunction function;
  if (load(&module, cubin.data()) != CUDA_SUCCESS ||
      find(&function, module, name) != CUDA_SUCCESS) {
    fail(Code::device, "cuda: a generated kernel could not be loaded");
  }
  return new Kernel{function};
}

void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     Stream stream, const void* parameter) {
  static void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  static auto launch = driver_function<decltype(&cuLaunchKernel)>(driver, "cuLaunchKernel");
  void* parameters[] = {&parameter};
  if (launch(kernel->function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr) !=
      CUDA_SUCCESS) {
    fail(Code::device, "%s: the launch failed", name);
  }
}

}  // namespace mt::cuda
