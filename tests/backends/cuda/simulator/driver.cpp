// SPDX-License-Identifier: Apache-2.0
// The simulated GPU behind the backend's driver: every launch and copy has ended when it returns.
#include "backends/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "backends/cuda/simulator/scheduler.h"

namespace mt::cuda {

int device_count() { return 2; }

Properties properties(int) { return {"grid simulator", 80, 2, grid::memory_limit}; }
Stream make_stream(int) { return nullptr; }

void* allocate_memory(int, size_t bytes) { return grid::allocate(bytes); }
void free_memory(int, void* memory) { grid::release(memory); }
void hand_out(void* memory, size_t bytes) { grid::hand_out(memory, bytes); }
void take_back(void* memory) { grid::take_back(memory); }
void* allocate_pinned(size_t bytes) { return std::malloc(bytes); }

void copy_in(void* target, const void* source, size_t bytes, Stream) {
  grid::copy_in(target, source, bytes);
}
void copy_out(void* target, const void* source, size_t bytes, Stream) {
  grid::copy_out(target, source, bytes);
}
void synchronize(Stream, const char*) {}
void launched(const char*, int) {}

// MT_CUDA_SIMULATED_COMPILER is the host compiler's command for a shared library with the
// simulator's folders, and MT_CUDA_SIMULATED_FOLDER where texts and libraries go.
struct Kernel {
  void (*function)(const void*);
};

bool can_compile() { return std::getenv("MT_CUDA_SIMULATED_COMPILER") != nullptr; }

Kernel* compile(int, const std::string& source, const char* name) {
  static int count = 0;
  std::string file =
      std::string(std::getenv("MT_CUDA_SIMULATED_FOLDER")) + "/group" + std::to_string(count++);
  std::ofstream(file + ".cpp") << source;
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&can_compile), &self);
  std::string command = std::string(std::getenv("MT_CUDA_SIMULATED_COMPILER")) + " -o " + file +
                        ".so " + file + ".cpp " + self.dli_fname;
  void* library = std::system(command.c_str()) == 0
                      ? dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL)
                      : nullptr;
  void* function = library ? dlsym(library, name) : nullptr;
  if (!function) throw std::runtime_error("a generated kernel does not compile:\n" + source);
  return new Kernel{reinterpret_cast<void (*)(const void*)>(function)};
}

void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads, Stream,
                     const void* parameter) {
  std::pair<Kernel*, const void*> call{kernel, parameter};
  auto body = [](void* context) {
    auto* self = static_cast<std::pair<Kernel*, const void*>*>(context);
    self->first->function(self->second);
  };
  grid::run({name, {blocks}, {threads}, 0, sizeof(void*)}, body, &call);
}

}  // namespace mt::cuda
