// SPDX-License-Identifier: Apache-2.0
// What nobody reads of a value is not computed: where only some rows of a product are picked, or of
// what is made of it row by row, the others are left out, with all that only they need. So it is in
// a transformer's last block when its last position alone is asked for.
#pragma once

#include <optional>
#include <vector>

#include "fusion/region.h"

namespace mt {

// The given region, item by item, with shapes and views that leave out what is not read.
struct Trimmed {
  Region region;
  std::vector<Tensor> nodes;  // which it has instead of the given region's
};

// nullopt if no product becomes smaller.
std::optional<Trimmed> trimmed(const Region& region);

}  // namespace mt
