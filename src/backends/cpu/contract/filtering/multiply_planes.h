// SPDX-License-Identifier: Apache-2.0
// The products of minimal filtering: of each of the 16 planes, c[rows][columns] += a[rows][terms]
// b[terms][columns].
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/contract/filtering/transforms.h"
#include "backends/cpu/contract/micro_tile.h"

namespace mt::cpu {

struct PlaneProducts {
  const float *a, *b;  // in the first plane
  float* c;
  int64_t a_plane, b_plane, c_plane;
  int64_t a_row, row;  // of a; of b and c
  int64_t rows, columns, terms;
  bool begins;  // c holds nothing yet
  // Called before each of `tiles` kernel calls, to fetch what is read after all of them; or null.
  void (*fetch)(void* context, int64_t tiles) = nullptr;
  void* context = nullptr;
};
void multiply_planes(const StridedKernels& kernels, const PlaneProducts& products);

}  // namespace mt::cpu
