// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver/nvrtc.h"

#include <cuda.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.h"

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
  decltype(&nvrtcGetPTXSize) ptx_size;
  decltype(&nvrtcGetPTX) ptx;
  decltype(&nvrtcGetNumSupportedArchs) capability_count;
  decltype(&nvrtcGetSupportedArchs) capabilities;
  decltype(&nvrtcAddNameExpression) add_name;
  decltype(&nvrtcGetLoweredName) lowered_name;
  decltype(&nvrtcDestroyProgram) destroy;

  Library() {
    // First that of our own toolkit, whose code every driver takes with which the backend runs.
    const std::string own = "libnvrtc.so." + std::to_string(CUDA_VERSION / 1000);
    for (const std::string& name : {own, std::string("libnvrtc.so.13"),
                                    std::string("libnvrtc.so.12"), std::string("libnvrtc.so")}) {
      handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle) break;
    }
    bool all = find(&version, "nvrtcVersion") && find(&create, "nvrtcCreateProgram") &&
               find(&compile, "nvrtcCompileProgram") && find(&log_size, "nvrtcGetProgramLogSize") &&
               find(&log, "nvrtcGetProgramLog") && find(&cubin_size, "nvrtcGetCUBINSize") &&
               find(&cubin, "nvrtcGetCUBIN") && find(&ptx_size, "nvrtcGetPTXSize") &&
               find(&ptx, "nvrtcGetPTX") && find(&capability_count, "nvrtcGetNumSupportedArchs") &&
               find(&capabilities, "nvrtcGetSupportedArchs") &&
               find(&add_name, "nvrtcAddNameExpression") &&
               find(&lowered_name, "nvrtcGetLoweredName") && find(&destroy, "nvrtcDestroyProgram");
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

std::string nvrtc_build() {
  Dl_info where;
  struct stat file;
  std::string build = std::to_string(nvrtc_version());
  if (library().handle && dladdr(reinterpret_cast<void*>(library().version), &where) &&
      stat(where.dli_fname, &file) == 0) {
    build += " of " + std::to_string(file.st_size) + " bytes";
  }
  return build;
}

namespace {

// One text on its way through the compiler.
class Program {
 public:
  Program(const std::string& source, const std::string& file, bool with_headers)
      : nvrtc_(library()) {
    if (!nvrtc_.handle) fail(Code::unsupported, "cuda: NVRTC is not installed");
    std::vector<const char*> names, texts;
    for (int i = 0; with_headers && i < header_count; ++i) {
      names.push_back(headers[i].name);
      texts.push_back(headers[i].text);
    }
    if (nvrtc_.create(&program_, source.c_str(), file.c_str(), static_cast<int>(names.size()),
                      texts.data(), names.data()) != NVRTC_SUCCESS) {
      fail(Code::device, "cuda: NVRTC does not start");
    }
  }
  ~Program() { nvrtc_.destroy(&program_); }
  Program(const Program&) = delete;

  void ask_for_name(const std::string& expression) {
    nvrtc_.add_name(program_, expression.c_str());
  }
  // Machine code; of a GPU that NVRTC does not know, PTX, which the driver compiles. Empty when the
  // text is refused: log() says why.
  std::vector<char> compile(int capability, const std::vector<std::string>& options) {
    const int known = newest_known(capability);
    const bool native = known == capability;
    std::string architecture =
        (native ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") + std::to_string(known);
    if (capability == 90) architecture += "a";  // all that Hopper has
    std::vector<const char*> all{architecture.c_str()};
    for (const std::string& option : options) all.push_back(option.c_str());
    size_t size = 0;
    std::vector<char> code;
    if (nvrtc_.compile(program_, static_cast<int>(all.size()), all.data()) == NVRTC_SUCCESS &&
        (native ? nvrtc_.cubin_size : nvrtc_.ptx_size)(program_, &size) == NVRTC_SUCCESS) {
      code.resize(size);
      (native ? nvrtc_.cubin : nvrtc_.ptx)(program_, code.data());
    }
    return code;
  }
  std::string log() const {
    size_t size = 0;
    if (nvrtc_.log_size(program_, &size) != NVRTC_SUCCESS || size == 0) return "";
    std::string text(size, '\0');
    nvrtc_.log(program_, text.data());
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }
  std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    nvrtc_.lowered_name(program_, expression.c_str(), &name);
    return name ? name : "";
  }

 private:
  // Of the capabilities that it knows the largest that is not above.
  int newest_known(int capability) const {
    int count = 0;
    nvrtc_.capability_count(&count);
    std::vector<int> known(static_cast<size_t>(count));
    if (count > 0) nvrtc_.capabilities(known.data());  // ascending
    auto above = std::upper_bound(known.begin(), known.end(), capability);
    return above == known.begin() ? capability : above[-1];
  }

  const Library& nvrtc_;
  nvrtcProgram program_;
};

// Where cuda_fp16.h and such are, if the toolkit is there: beside the folder of NVRTC itself.
std::vector<std::string> include_options() {
  Dl_info where;
  std::vector<std::string> options;
  if (!dladdr(reinterpret_cast<void*>(library().version), &where) || !where.dli_fname) return {};
  std::string folder = where.dli_fname;
  for (int up = 0; up < 2 && folder.rfind('/') != folder.npos; ++up) {
    folder.resize(folder.rfind('/'));
  }
  folder += "/include";
  if (access((folder + "/cuda_fp16.h").c_str(), R_OK) == 0) {
    options.push_back("--include-path=" + folder);
    if (access((folder + "/cccl").c_str(), R_OK) == 0) {
      options.push_back("--include-path=" + folder + "/cccl");
    }
  }
  return options;
}

std::string demangled(const std::string& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text ? text.get() : name;
}

}  // namespace

std::vector<char> compile_cubin(const std::string& source, int capability) {
  Program program(source, "group.cu", true);
  // As the prebuilt kernels: a fused multiply-add is used only where it is written.
  std::vector<char> cubin =
      program.compile(capability, {"--std=c++20", "--fmad=false", "--device-int128",
                                   "-default-device", "--diag-suppress=161,186"});
  if (cubin.empty()) fail(Code::device, "cuda: a generated kernel: %s", program.log().c_str());
  return cubin;
}

UserText compile_user_text(const std::string& source, const char* name, int capability) {
  // The name of an instance of this template shows the type of what it was made with.
  const std::string shown = std::string("mt_type_of<decltype(&") + name + ")>";
  Program program(source + "\ntemplate <class T> __global__ void mt_type_of() {}\n",
                  std::string(name) + ".cu", false);
  program.ask_for_name(name);
  program.ask_for_name(shown);
  std::vector<std::string> options = include_options();
  options.push_back("--std=c++20");
  UserText text;
  text.cubin = program.compile(capability, options);
  if (text.cubin.empty()) {
    fail(Code::invalid, "%s: the kernel does not compile:\n%s", name, program.log().c_str());
  }
  text.function = program.lowered(name);
  text.type = demangled(program.lowered(shown));
  return text;
}

}  // namespace mt::cuda
