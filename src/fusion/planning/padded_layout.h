// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/node.h"
#include "plan/program.h"

namespace mt {

// How padding reads its input x. Dimensions without margins are merged where possible; the margins'
// constant is not set.
struct PaddedLayout {
  Layout layout;
  Margins margins;
};
PaddedLayout padded_layout(const Node& pad, const Layout& x);

}  // namespace mt
