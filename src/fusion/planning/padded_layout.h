// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/node.h"
#include "plan/program.h"

namespace mt {

// Padding over its elements, with as few dimensions as it has margins along; the margins' constant
// is left out.
struct PaddedLayout {
  Layout layout;
  Margins margins;
};
PaddedLayout padded_layout(const Node& pad, const Layout& x);

}  // namespace mt
