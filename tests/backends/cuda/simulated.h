// SPDX-License-Identifier: Apache-2.0
// What the simulated device lets a test see and do, in the library that MT_CUDA_LIBRARY names.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace simulated {

template <class T>
T& variable(const char* name) {
  static void* library = dlopen(std::getenv("MT_CUDA_LIBRARY"), RTLD_NOW);
  return *static_cast<T*>(dlsym(library, name));
}
inline int& graph_launches() { return variable<int>("_ZN4grid14graph_launchesE"); }
inline int& stream_waits() { return variable<int>("_ZN4grid12stream_waitsE"); }
inline int& device_waits() { return variable<int>("_ZN4grid12device_waitsE"); }
inline double& clock() { return variable<double>("_ZN4grid5clockE"); }
inline std::string& fast_work() { return variable<std::string>("_ZN4grid9fast_workB5cxx11E"); }
inline std::string& failed_work() { return variable<std::string>("_ZN4grid11failed_workB5cxx11E"); }

}  // namespace simulated
