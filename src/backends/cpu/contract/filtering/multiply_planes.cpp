// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/filtering/multiply_planes.h"

#include "base/rounding.h"

namespace mt::cpu {

void multiply_planes(const StridedKernels& kernels, const PlaneProducts& p) {
  constexpr int64_t block_terms = 512;  // that a panel of columns has
  const int64_t vectors = divide_up(p.columns, kernels.lanes);
  const int64_t panels = divide_up(vectors, kernels.vectors_for(p.rows, p.columns));
  for (int64_t plane = 0; plane < planes; ++plane) {
    MicroTile<float> tile{};
    tile.a_row = p.a_row;
    tile.a_k = 1;
    tile.b_k = tile.c_row = tile.from_row = p.row;
    for (int64_t term = 0; term < p.terms; term += block_terms) {
      tile.k = std::min(block_terms, p.terms - term);
      tile.first = p.begins && term == 0;
      for (int64_t panel = 0; panel < panels; ++panel) {
        const int64_t begin = vectors * panel / panels, end = vectors * (panel + 1) / panels;
        const int width = static_cast<int>(end - begin);
        const int64_t slivers = divide_up(p.rows, kernels.rows_for(width));
        tile.columns = width * kernels.lanes;
        tile.b = p.b + plane * p.b_plane + term * p.row + begin * kernels.lanes;
        for (int64_t sliver = 0; sliver < slivers; ++sliver) {
          const int64_t first = p.rows * sliver / slivers;
          const int64_t rows = p.rows * (sliver + 1) / slivers - first;
          tile.a = p.a + plane * p.a_plane + first * p.a_row + term;
          tile.c = p.c + plane * p.c_plane + first * p.row + begin * kernels.lanes;
          tile.from = tile.c;
          if (p.fetch != nullptr) p.fetch(p.context, planes * panels * slivers);
          run_kernel(kernels.find(static_cast<int>(rows), width, true), tile);
        }
      }
    }
  }
}

}  // namespace mt::cpu
