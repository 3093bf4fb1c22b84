// SPDX-License-Identifier: Apache-2.0
// Parts of values that nobody reads are not computed: if only some rows of a product, or of what is
// made from it row by row, are read, the others are left out with everything that only they need.
// An example is a transformer's last block when only its last position is wanted.
#pragma once

#include <optional>
#include <vector>

#include "fusion/region.h"

namespace mt {

// The given region, item by item, with shapes and views that leave out what is not read.
struct Trimmed {
  Region region;
  std::vector<Tensor> nodes;  // new ones that replace the given region's
};

// nullopt if no product becomes smaller.
std::optional<Trimmed> trimmed(const Region& region);

}  // namespace mt
