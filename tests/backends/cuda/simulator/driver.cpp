// SPDX-License-Identifier: Apache-2.0
// The simulated GPU behind the backend's driver: every launch and copy has ended when it returns.
#include "backends/cuda/driver/driver.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "backends/cuda/simulator/async.h"
#include "backends/cuda/simulator/scheduler.h"
#include "backends/cuda/simulator/stream.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

void refuse_in_graph(Stream stream, const char* what) {
  if (stream && stream->capturing) throw grid::Fault(std::string(what) + " within a graph");
}

void find_failed(const char* what) {
  std::string failed = std::exchange(grid::failed_work, "");
  if (!failed.empty()) fail(Code::device, "%s: %s", what, failed.c_str());
}

// Runs a kernel's body for each cell.
template <class Body>
void run_in(Stream stream, const grid::Launch& launch, Body body) {
  grid::submit(stream, launch.name, [=]() mutable {
    grid::run(
        launch, [](void* context) { (*static_cast<Body*>(context))(); }, &body);
  });
}

}  // namespace

int device_count() { return 2; }

Properties properties(int device) {
  return {"grid simulator", device == grid::hopper ? 90 : 80, 2, grid::memory_limit,
          grid::most_shared_bytes(device)};
}
void use_device(int device) { grid::use_device(device); }
Stream make_stream(int device) { return new CUstream_st(device); }

void* allocate_memory(int, size_t bytes) { return grid::allocate(bytes); }
void free_memory(int, void* memory) { grid::release(memory); }
void hand_out(void* memory, size_t bytes) { grid::hand_out(memory, bytes); }
void take_back(void* memory) { grid::take_back(memory); }
void* allocate_pinned(size_t bytes) { return std::malloc(bytes); }

// Copies between host and device are no part of a graph: their host memory does not stay.
void copy_in(void* target, const void* source, size_t bytes, Stream stream) {
  refuse_in_graph(stream, "a copy from the host");
  grid::submit(stream, "copy_in", [=] { grid::copy_in(target, source, bytes); });
}
void copy_out(void* target, const void* source, size_t bytes, Stream stream) {
  refuse_in_graph(stream, "a copy to the host");
  find_failed("copy to the host");  // as CUDA, which waits where memory is pageable
  grid::submit(stream, "copy_out", [=] { grid::copy_out(target, source, bytes); });
}
void copy_within(void* target, const void* source, size_t bytes, Stream stream) {
  grid::submit(stream, "copy_within", [=] {
    std::vector<char> between(bytes);
    grid::copy_out(between.data(), source, bytes);
    grid::copy_in(target, between.data(), bytes);
  });
}
bool reaches(int, int) { return grid::peers; }
void copy_between(void* target, int to, const void* source, int from, size_t bytes, Stream stream) {
  for (auto& [other, seen] : stream->seen) {
    if (other->device != from || seen != other->count) continue;
    copy_within(target, source, bytes, stream);
    other->owed[stream] = stream->count;
    ++grid::peer_copies;
    return;
  }
  throw grid::Fault("a copy to device " + std::to_string(to) +
                    " that does not wait for what it copies");
}
TensorMap tensor_map(const BoxedArray& array, void* data) {
  const int64_t each = array.bytes_each, width = 16 / each;
  if (reinterpret_cast<uintptr_t>(data) % 16 != 0 || array.line_stride % width != 0 ||
      array.batch_stride % width != 0 || array.line_stride <= 0 || array.batch_stride <= 0 ||
      array.outer_stride % width != 0 || (array.outer > 0) != (array.outer_stride > 0) ||
      array.box_lines > 256) {
    throw grid::Fault("an array that bulk copies cannot read");
  }
  grid::Map map{
      static_cast<const char*>(data),
      array.outer > 0 ? 4 : 3,
      {array.line, array.lines, array.batch, array.outer},
      {each, array.line_stride * each, array.batch_stride * each, array.outer_stride * each},
      array.box_lines};
  TensorMap result{};
  static_assert(sizeof map <= sizeof result.bytes);
  std::memcpy(result.bytes, &map, sizeof map);
  return result;
}
struct LaunchGraph {
  std::vector<std::function<void()>> work;
};
void begin_capture(Stream stream) {
  if (stream->in_use) throw grid::Fault("a capture that whoever waits for the stream would end");
  if (std::exchange(stream->capturing, true)) throw grid::Fault("a capture within another");
}
LaunchGraph* end_capture(Stream stream) {
  stream->capturing = false;
  return new LaunchGraph{std::exchange(stream->captured, {})};
}
void launch_graph(LaunchGraph* graph, Stream stream) {
  ++grid::graph_launches;
  for (const auto& work : graph->work) grid::submit(stream, "a graph", work);
}
void destroy_graph(LaunchGraph* graph) { delete graph; }

// Whatever is in a stream has ended.
void wait_for(Stream waiting, Stream other) {
  ++grid::stream_waits;
  if (!waiting || !other) return;
  if (other->device != grid::device_in_use()) {
    throw grid::Fault("an event of another device than the stream's");
  }
  waiting->seen[other] = other->count;
}
void synchronize_device(int device, const char*) {
  use_device(device);
  ++grid::device_waits;
}
void synchronize(Stream stream, const char* what) {
  refuse_in_graph(stream, "to wait");
  find_failed(what);
}
void launched(const char*, int) {}
double time_on_device(Stream stream, const std::function<void()>& work) {
  refuse_in_graph(stream, "to wait");
  const double before = grid::clock;
  work();
  return grid::clock - before;
}

// MT_CUDA_SIMULATED_COMPILER is the host compiler's command for a shared library with the
// simulator's folders, and MT_CUDA_SIMULATED_FOLDER where texts and libraries go.
struct Kernel {
  void (*function)(const void*) = nullptr;
  void (*of_user)(void* const*) = nullptr;
  void (*on_hopper)(const void*, TensorMap, TensorMap) = nullptr;
};

bool can_compile() { return std::getenv("MT_CUDA_SIMULATED_COMPILER") != nullptr; }

namespace {

struct Library {
  void* handle;          // nullptr when the text does not compile
  std::string messages;  // of the compiler
};

Library compile_library(const std::string& source, const char* kind) {
  static std::atomic<int> count{0};
  std::string file =
      std::string(std::getenv("MT_CUDA_SIMULATED_FOLDER")) + "/" + kind + std::to_string(count++);
  std::ofstream(file + ".cpp") << source;
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&can_compile), &self);
  std::string command = std::string(std::getenv("MT_CUDA_SIMULATED_COMPILER")) + " -o " + file +
                        ".so " + file + ".cpp " + self.dli_fname + " 2> " + file + ".log";
  bool fine = std::system(command.c_str()) == 0;
  std::ifstream log(file + ".log");
  std::string messages(std::istreambuf_iterator<char>(log), {});
  log.close();
  std::remove((file + ".log").c_str());
  return {fine ? dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr, messages};
}

}  // namespace

Kernel* compile(int, const std::string& source, const char* name) {
  Library library = compile_library(source, "group");
  void* function = library.handle ? dlsym(library.handle, name) : nullptr;
  if (!function) {
    throw std::runtime_error("a generated kernel does not compile:\n" + library.messages + source);
  }
  return new Kernel{reinterpret_cast<decltype(Kernel::function)>(function), nullptr,
                    reinterpret_cast<decltype(Kernel::on_hopper)>(function)};
}

void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     size_t shared_bytes, Stream stream, const void* parameter) {
  run_in(stream, {name, {blocks}, {threads}, shared_bytes, sizeof(void*)},
         [kernel, parameter] { kernel->function(parameter); });
}

void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     size_t shared_bytes, Stream stream, const void* call, const TensorMap& a,
                     const TensorMap& b) {
  run_in(stream, {name, {blocks}, {threads}, shared_bytes, sizeof call + sizeof a + sizeof b},
         [=] { kernel->on_hopper(call, a, b); });
}

UserCode compile_user(int, const std::string& source, const char* name) {
  if (!can_compile()) fail(Code::unsupported, "cuda: NVRTC is not installed");
  std::string own(name);
  Library library = compile_library(
      "#include \"backends/cuda/simulator/user_kernel.h\"\n#line 1 \"" + own + ".cu\"\n" + source +
          "\nextern \"C\" void mt_user_kernel(void* const* p) { user::call(" + own +
          ", p); }\nextern \"C\" const char* mt_user_type() { return typeid(&" + own +
          ").name(); }\n",
      "kernel");
  if (!library.handle) {
    fail(Code::invalid, "%s: the kernel does not compile:\n%s", name, library.messages.c_str());
  }
  auto call = reinterpret_cast<void (*)(void* const*)>(dlsym(library.handle, "mt_user_kernel"));
  auto type = reinterpret_cast<const char* (*)()>(dlsym(library.handle, "mt_user_type"));
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type(), nullptr, nullptr, nullptr), std::free);
  return {new Kernel{nullptr, call, nullptr}, text.get()};
}

void launch_user(Kernel* kernel, const char* name, const Geometry& geometry, Stream stream,
                 const std::vector<Argument>& arguments) {
  const unsigned *g = geometry.grid, *b = geometry.block;
  grid::Launch launch{name,
                      {g[0], g[1], g[2]},
                      {b[0], b[1], b[2]},
                      geometry.shared_bytes,
                      arguments.size() * sizeof(uint64_t)};
  grid::submit(stream, name, [kernel, launch, given = arguments] {
    std::vector<uint64_t> values;
    for (const Argument& one : given) {
      values.push_back(
          one.memory ? reinterpret_cast<uint64_t>(grid::exposed(one.memory, one.bytes, one.written))
                     : one.number);
    }
    std::vector<void*> parameters;
    for (uint64_t& value : values) parameters.push_back(&value);
    std::pair<Kernel*, void* const*> call{kernel, parameters.data()};
    auto body = [](void* context) {
      auto* self = static_cast<decltype(call)*>(context);
      self->first->of_user(self->second);
    };
    grid::run(launch, body, &call);
  });
}

}  // namespace mt::cuda
