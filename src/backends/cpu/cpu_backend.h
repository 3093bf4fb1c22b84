// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/backend.h"

namespace mt::cpu {

Backend& backend();

}  // namespace mt::cpu
