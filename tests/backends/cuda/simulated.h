// SPDX-License-Identifier: Apache-2.0
// The same tests run on the simulated devices and on a GPU. What the simulated ones let a test see
// and do, in the library that MT_CUDA_LIBRARY names; and what is expected of each.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace simulated {

template <class T>
T* find(const char* name) {
  const char* file = std::getenv("MT_CUDA_LIBRARY");
  static void* library = file ? dlopen(file, RTLD_NOW) : nullptr;
  return library ? static_cast<T*>(dlsym(library, name)) : nullptr;
}
inline bool is_there() { return find<int>("mt_cuda_simulator") != nullptr; }
// On a GPU there is a variable of that name, but nobody looks at it.
template <class T>
T& variable(const char* name) {
  static T none{};
  T* found = find<T>(name);
  if (!found && is_there()) {
    ADD_FAILURE() << "the simulator has no " << name;
  }
  return found ? *found : none;
}
inline int& graph_launches() { return variable<int>("_ZN4grid14graph_launchesE"); }
inline int& peer_copies() { return variable<int>("_ZN4grid11peer_copiesE"); }
inline bool& peers() { return variable<bool>("_ZN4grid5peersE"); }
inline int& stream_waits() { return variable<int>("_ZN4grid12stream_waitsE"); }
inline int& device_waits() { return variable<int>("_ZN4grid12device_waitsE"); }
inline bool& units_truncate() { return variable<bool>("_ZN4grid14units_truncateE"); }
inline double& clock() { return variable<double>("_ZN4grid5clockE"); }
inline std::string& fast_work() { return variable<std::string>("_ZN4grid9fast_workB5cxx11E"); }
inline std::string& failed_work() { return variable<std::string>("_ZN4grid11failed_workB5cxx11E"); }

// The device that is, or may be, a Hopper: of the simulated ones the second.
inline const char* hopper() { return is_there() ? "cuda:1" : "cuda:0"; }

}  // namespace simulated

#define MT_NEEDS_SIMULATOR() \
  if (!simulated::is_there()) GTEST_SKIP() << "this is for the simulated devices"
