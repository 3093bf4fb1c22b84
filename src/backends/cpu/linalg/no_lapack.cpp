// SPDX-License-Identifier: Apache-2.0
// A build that looks for no LAPACK.
#include "backends/cpu/linalg/lapack.h"

namespace mt::cpu {

const char* lapack_name() { return ""; }

template <class T>
const Lapack<T>& lapack() {
  static const Lapack<T> none{};
  return none;
}
template const Lapack<float>& lapack<float>();
template const Lapack<double>& lapack<double>();

}  // namespace mt::cpu
