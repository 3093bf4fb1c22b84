// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace mt::reference {

Backend& backend();

}  // namespace mt::reference
