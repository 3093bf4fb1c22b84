// SPDX-License-Identifier: Apache-2.0
// The devices of this process by their names: "cpu", "cpu:reference", "cuda:0" and so on.
#pragma once

#include <string>
#include <vector>

#include "tensor/device.h"

namespace mt {

// The device of that name; fails when there is none. Null: the default one.
Device& find_device(const char* name);
Device& default_device();
void set_default_device(const char* name);
std::vector<std::string> device_names();

}  // namespace mt
