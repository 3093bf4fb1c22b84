// SPDX-License-Identifier: Apache-2.0
// The devices of this process: those of the core, and the GPUs of libmtorch_cuda.so, which is
// loaded when one is first asked for, so that nothing here needs CUDA.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "backends/backend.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/build_version.h"
#include "backends/cuda/module.h"
#include "backends/devices.h"
#include "backends/reference/reference_backend.h"
#include "base/before_work.h"
#include "base/error.h"

namespace mt {
namespace {

struct Devices {
  Device cpu{"cpu", &host_allocator(), &cpu::backend(), true, true};
  Device reference{"cpu:reference", &host_allocator(), &reference::backend(), true, false};
  std::atomic<Device*> chosen{&cpu};
};

Devices& devices() {
  static Devices* all = new Devices;  // tensors may outlive main
  return *all;
}

// MT_CUDA_LIBRARY names the file; otherwise it lies beside this library or where the system looks.
std::string cuda_library() {
  constexpr char name[] = "libmtorch_cuda.so";
  if (const char* chosen = std::getenv("MT_CUDA_LIBRARY")) return chosen;
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&devices), &self) && self.dli_fname) {
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + name;
    if (path.find('/') != path.npos && access(path.c_str(), R_OK) == 0) return path;
  }
  return name;
}

const cuda::Module& cuda_module(const char* device) {
  static std::mutex mutex;
  static const cuda::Module* loaded = nullptr;
  std::lock_guard lock(mutex);
  if (loaded) return *loaded;
  before_work();
  std::string file = cuda_library();
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fail(Code::device, "device %s: the CUDA backend could not be loaded: %s", device, dlerror());
  }
  auto function = reinterpret_cast<cuda::ModuleFunction>(dlsym(library, cuda::module_function));
  const cuda::Module* module = function ? function() : nullptr;
  if (!module || std::strcmp(module->version, MT_BUILD_VERSION) != 0) {
    fail(Code::device, "device %s: %s is of version %s, but libmtorch of " MT_BUILD_VERSION, device,
         file.c_str(), module ? module->version : "unknown");
  }
  return *(loaded = module);
}

// The GPU of a name such as "cuda:3"; "cuda" is the first.
Device& find_cuda(const char* name) {
  char* end = nullptr;
  long index = name[4] == ':' ? std::strtol(name + 5, &end, 10) : 0;
  if (name[4] != 0 && (!end || end == name + 5 || *end || index < 0)) {
    fail(Code::device, "there is no device \"%s\": GPUs are \"cuda:0\", \"cuda:1\", ...", name);
  }
  const cuda::Module& module = cuda_module(name);
  int count = module.device_count();
  if (index >= count) {
    fail(Code::device, "device %s: there %s %d GPU%s", name, count == 1 ? "is" : "are", count,
         count == 1 ? "" : "s");
  }
  return module.device(static_cast<int>(index));
}

}  // namespace

Device& find_device(const char* name) {
  if (!name) return default_device();
  for (Device* device : {&devices().cpu, &devices().reference}) {
    if (device->name == name) return *device;
  }
  if (std::strncmp(name, "cuda", 4) == 0) return find_cuda(name);
  fail(Code::device,
       "there is no device \"%s\"; there are \"cpu\", \"cpu:reference\" and \"cuda:0\"", name);
}

Device& default_device() { return *devices().chosen.load(); }
void set_default_device(const char* name) { devices().chosen = &find_device(name); }

std::vector<std::string> device_names() {
  std::vector<std::string> names{"cpu", "cpu:reference"};
  try {
    int count = cuda_module("cuda:0").device_count();
    for (int i = 0; i < count; ++i) {
      names.push_back("cuda:" + std::to_string(i));
      find_device(names.back().c_str());
    }
  } catch (const Error&) {
    // No backend, no driver or no GPU; one that is too old ends the list.
    if (names.size() > 2) names.pop_back();
  }
  return names;
}

}  // namespace mt
