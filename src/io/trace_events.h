// SPDX-License-Identifier: Apache-2.0
// Chrome's trace event format, which viewers of timelines read.
#pragma once

#include "fusion/profile.h"

namespace mt {

// Writes a profile's runs to a file, each as a complete event of its thread.
void save_trace_events(const Profile& profile, const char* path);

}  // namespace mt
