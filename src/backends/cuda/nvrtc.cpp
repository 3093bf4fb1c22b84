// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include "tensor/error.h"

namespace mt::cuda {
namespace {

// NVRTC's functions, from whichever version is installed.
struct Library {
  void* handle = nullptr;
  decltype(&nvrtcVersion) version;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetCUBINSize) cubin_size;
  decltype(&nvrtcGetCUBIN) cubin;
  decltype(&nvrtcDestroyProgram) destroy;

  Library() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
      handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle) break;
    }
    bool all = find(&version, "nvrtcVersion") && find(&create, "nvrtcCreateProgram") &&
               find(&compile, "nvrtcCompileProgram") && find(&log_size, "nvrtcGetProgramLogSize") &&
               find(&log, "nvrtcGetProgramLog") && find(&cubin_size, "nvrtcGetCUBINSize") &&
               find(&cubin, "nvrtcGetCUBIN") && find(&destroy, "nvrtcDestroyProgram");
    if (!all) handle = nullptr;
  }
  template <class Function>
  bool find(Function* function, const char* name) {
    *function = handle ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
    return *function;
  }
};

const Library& library() {
  static const Library* loaded = new Library;
  return *loaded;
}

}  // namespace

int nvrtc_version() {
  int major = 0, minor = 0;
  if (!library().handle || library().version(&major, &minor) != NVRTC_SUCCESS) return 0;
  return major * 1000 + minor * 10;
}

std::vector<char> compile_cubin(const std::string& source, int capability) {
  const Library& nvrtc = library();
  if (!nvrtc.handle) fail(Code::unsupported, "cuda: NVRTC is not installed");
  std::vector<const char*> names, texts;
  for (int i = 0; i < header_count; ++i) {
    names.push_back(headers[i].name);
    texts.push_back(headers[i].text);
  }
  nvrtcProgram program;
  if (nvrtc.create(&program, source.c_str(), "group.cu", header_count, texts.data(),
                   names.data()) != NVRTC_SUCCESS) {
    fail(Code::device, "cuda: NVRTC does not start");
  }
  std::string architecture = "--gpu-architecture=sm_" + std::to_string(capability);
  // As the prebuilt kernels: a fused multiply-add is used only where it is written.
  const char* options[] = {architecture.c_str(), "--std=c++20",     "--fmad=false",
                           "--device-int128",    "-default-device", "--diag-suppress=161,186"};
  nvrtcResult result = nvrtc.compile(program, static_cast<int>(std::size(options)), options);
  std::vector<char> cubin;
  std::string log;
  size_t size = 0;
  if (result == NVRTC_SUCCESS && nvrtc.cubin_size(program, &size) == NVRTC_SUCCESS) {
    cubin.resize(size);
    nvrtc.cubin(program, cubin.data());
  } else if (nvrtc.log_size(program, &size) == NVRTC_SUCCESS) {
    log.resize(size);
    nvrtc.log(program, log.data());
  }
  nvrtc.destroy(&program);
  if (cubin.empty()) fail(Code::device, "cuda: a generated kernel: %s", log.c_str());
  return cubin;
}

}  // namespace mt::cuda
