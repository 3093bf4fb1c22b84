// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/linalg/lapack.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace mt::cpu {
namespace {

// Where distributions install it: first the system's choice, then libraries that contain it all.
constexpr const char* usual[] = {"liblapack.so.3", "libopenblas.so.0", "libflexiblas.so.3",
                                 "libmkl_rt.so.2"};

struct Loaded {
  std::string name;
  Lapack<float> single{};
  Lapack<double> twice{};

  Loaded() {
    const char* chosen = std::getenv("MT_LAPACK");
    if (chosen && *chosen) {
      if (std::strcmp(chosen, "none") != 0) load(chosen);
      return;
    }
    for (const char* library : usual) {
      if (load(library)) return;
    }
  }

 private:
  template <class F>
  static bool find(void* library, char prefix, const char* routine, F* function) {
    std::string symbol = std::string(1, prefix) + routine + "_";
    *function = reinterpret_cast<F>(dlsym(library, symbol.c_str()));
    return *function;
  }

  template <class T>
  static bool find_all(void* library, char prefix, Lapack<T>* routines) {
    return find(library, prefix, "potrf", &routines->potrf) &&
           find(library, prefix, "getrf", &routines->getrf) &&
           find(library, prefix, "trsm", &routines->trsm) &&
           find(library, prefix, "gelqf", &routines->gelqf) &&
           find(library, prefix, "orglq", &routines->orglq) &&
           find(library, prefix, "syevd", &routines->syevd) &&
           find(library, prefix, "gesdd", &routines->gesdd);
  }

  bool load(const char* library) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);  // stays for the process's life
    if (!handle) return false;
    if (find_all(handle, 's', &single) && find_all(handle, 'd', &twice)) {
      name = library;
      return true;
    }
    dlclose(handle);
    return false;
  }
};

const Loaded& loaded() {
  static const Loaded once;
  return once;
}

}  // namespace

const char* lapack_name() { return loaded().name.c_str(); }

template <>
const Lapack<float>& lapack<float>() {
  return loaded().single;
}
template <>
const Lapack<double>& lapack<double>() {
  return loaded().twice;
}

}  // namespace mt::cpu
