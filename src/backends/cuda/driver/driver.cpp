// SPDX-License-Identifier: Apache-2.0
// The driver behind CUDA's runtime, which is linked statically and itself looks for libcuda.so.1.
#include "backends/cuda/driver/driver.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/driver/nvrtc.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

constexpr int oldest_capability = 80;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  fail(status == cudaErrorMemoryAllocation ? Code::memory : Code::device, "%s: %s", what,
       cudaGetErrorString(status));
}

template <class Function>
Function driver_function(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
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
  return {found.name, capability, found.multiProcessorCount, found.totalGlobalMem,
          found.sharedMemPerBlockOptin};
}

void use_device(int device) { check(cudaSetDevice(device), "cuda"); }

Stream make_stream(int device) {
  use_device(device);
  Stream stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cuda");
  return stream;
}

void* allocate_memory(int device, size_t bytes) {
  use_device(device);
  void* memory = nullptr;
  cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "device memory");
  return memory;
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
void copy_within(void* target, const void* source, size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream),
        "copy on the device");
}
bool reaches(int from, int to) {
  static std::mutex mutex;
  static auto* known = new std::map<std::pair<int, int>, bool>;
  std::lock_guard lock(mutex);
  auto [found, fresh] = known->try_emplace({from, to}, false);
  if (!fresh) return found->second;
  int can = 0;
  cudaError_t status = cudaDeviceCanAccessPeer(&can, to, from);
  if (status == cudaSuccess && can) {
    use_device(to);
    status = cudaDeviceEnablePeerAccess(from, 0);
    found->second = status == cudaSuccess || status == cudaErrorPeerAccessAlreadyEnabled;
  }
  cudaGetLastError();
  return found->second;
}
void copy_between(void* target, int to, const void* source, int from, size_t bytes, Stream stream) {
  check(cudaMemcpyPeerAsync(target, to, source, from, bytes, stream), "copy between devices");
}
// Relaxed: what other threads ask of the driver meanwhile is no part of it.
void begin_capture(Stream stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cuda graph");
}
LaunchGraph* end_capture(Stream stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  bool fine = cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph &&
              cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess;
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
  return fine ? reinterpret_cast<LaunchGraph*>(executable) : nullptr;
}
void launch_graph(LaunchGraph* graph, Stream stream) {
  check(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), stream), "cuda graph");
}
void destroy_graph(LaunchGraph* graph) {
  cudaGraphExecDestroy(reinterpret_cast<cudaGraphExec_t>(graph));
  cudaGetLastError();
}

void wait_for(Stream waiting, Stream other) {
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cuda event");
  cudaError_t status = cudaEventRecord(event, other);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(waiting, event, 0);
  cudaEventDestroy(event);  // once it has come to pass
  check(status, "cuda: waiting for a stream");
}
void synchronize_device(int device, const char* what) {
  use_device(device);
  check(cudaDeviceSynchronize(), what);
}

double time_on_device(Stream stream, const std::function<void()>& work) {
  struct Event {
    cudaEvent_t event = nullptr;
    Event() { check(cudaEventCreate(&event), "measuring"); }
    ~Event() { cudaEventDestroy(event); }
  } begin, end;
  check(cudaEventRecord(begin.event, stream), "measuring");
  work();
  check(cudaEventRecord(end.event, stream), "measuring");
  check(cudaEventSynchronize(end.event), "measuring");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "measuring");
  return double{milliseconds} * 1000;
}

void synchronize(Stream stream, const char* what) { check(cudaStreamSynchronize(stream), what); }
void launched(const char* kernel, int status) { check(static_cast<cudaError_t>(status), kernel); }

bool can_compile() { return nvrtc_version() != 0; }

// The runtime has no functions for a kernel that comes as a file's contents before CUDA 12.8, so
// these are the driver's.
struct Kernel {
  CUfunction function;
  size_t allowed = 0;  // bytes of shared memory; graphs may still need the most that were asked for
};

namespace {

void check(CUresult status, const char* what, const char* doing) {
  if (status == CUDA_SUCCESS) return;
  static auto describe = driver_function<decltype(&cuGetErrorString)>("cuGetErrorString");
  const char* text = nullptr;
  describe(status, &text);
  fail(status == CUDA_ERROR_OUT_OF_MEMORY ? Code::memory : Code::device, "%s: %s: %s", what, doing,
       text ? text : "an unknown error");
}

Kernel* load_kernel(int device, const std::vector<char>& cubin, const char* function,
                    const char* name) {
  static auto load = driver_function<decltype(&cuModuleLoadData)>("cuModuleLoadData");
  static auto find = driver_function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
  use_device(device);
  CUmodule module;
  auto kernel = std::make_unique<Kernel>();
  check(load(&module, cubin.data()), name, "the kernel could not be loaded");
  check(find(&kernel->function, module, function), name, "the kernel could not be loaded");
  return kernel.release();
}

}  // namespace

TensorMap tensor_map(const BoxedArray& array, void* data) {
  static auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));
  auto number = [](int64_t x) { return static_cast<cuuint64_t>(x); };
  const auto each = static_cast<cuuint32_t>(array.bytes_each);
  cuuint64_t sizes[4] = {number(array.line), number(array.lines), number(array.batch),
                         number(array.outer)};
  cuuint64_t strides[3] = {number(array.line_stride) * each, number(array.batch_stride) * each,
                           number(array.outer_stride) * each};
  cuuint32_t box[4] = {128 / each, static_cast<cuuint32_t>(array.box_lines), 1, 1};
  cuuint32_t steps[4] = {1, 1, 1, 1};
  const cuuint32_t rank = array.outer ? 4 : 3;
  // As integers 16 bits stay as they are; TF32 rounds to nearest.
  auto type = each == 4 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT16;
  CUtensorMap map;
  check(encode(&map, type, rank, data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "bulk copies", "an array could not be described to the GPU");
  TensorMap result;
  std::memcpy(result.bytes, &map, sizeof map);
  return result;
}

Kernel* compile(int device, const std::string& source, const char* name) {
  return load_kernel(device, cached_cubin(source, properties(device).capability), name,
                     "a generated kernel");
}

namespace {

void launch_with(Kernel* kernel, const char* name, const Geometry& geometry, Stream stream,
                 void** parameters) {
  static auto launch = driver_function<decltype(&cuLaunchKernel)>("cuLaunchKernel");
  static auto set = driver_function<decltype(&cuFuncSetAttribute)>("cuFuncSetAttribute");
  if (geometry.shared_bytes > kernel->allowed) {  // with what the kernel declares, more than 48 KiB
    check(set(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              static_cast<int>(geometry.shared_bytes)),
          name, "the launch failed");
    kernel->allowed = geometry.shared_bytes;
  }
  check(launch(kernel->function, geometry.grid[0], geometry.grid[1], geometry.grid[2],
               geometry.block[0], geometry.block[1], geometry.block[2],
               static_cast<unsigned>(geometry.shared_bytes), stream, parameters, nullptr),
        name, "the launch failed");
}

}  // namespace

void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     size_t shared_bytes, Stream stream, const void* parameter) {
  void* parameters[] = {&parameter};
  launch_with(kernel, name, {{blocks, 1, 1}, {threads, 1, 1}, shared_bytes}, stream, parameters);
}
void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     size_t shared_bytes, Stream stream, const void* call, const TensorMap& a,
                     const TensorMap& b) {
  void* parameters[] = {&call, const_cast<TensorMap*>(&a), const_cast<TensorMap*>(&b)};
  launch_with(kernel, name, {{blocks, 1, 1}, {threads, 1, 1}, shared_bytes}, stream, parameters);
}

UserCode compile_user(int device, const std::string& source, const char* name) {
  UserText text = cached_user_text(source, name, properties(device).capability);
  return {load_kernel(device, text.cubin, text.function.c_str(), name), text.type};
}

void launch_user(Kernel* kernel, const char* name, const Geometry& geometry, Stream stream,
                 const std::vector<Argument>& arguments) {
  std::vector<void*> parameters;
  for (const Argument& argument : arguments) {
    const void* at = argument.memory ? static_cast<const void*>(&argument.memory)
                                     : static_cast<const void*>(&argument.number);
    parameters.push_back(const_cast<void*>(at));
  }
  launch_with(kernel, name, geometry, stream, parameters.data());
}

}  // namespace mt::cuda
