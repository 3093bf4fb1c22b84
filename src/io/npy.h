// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format (numpy.lib.format): versions 1 to 3.
#pragma once

#include "io/file.h"
#include "io/host.h"

namespace mt {

Tensor read_npy(ByteSource& source, Device& device);
// What comes before the elements in a .npy file.
std::string npy_header(const Tensor& tensor, const char* name);

Tensor load_npy(const char* path, Device& device);
void save_npy(const Tensor& tensor, const char* path);

}  // namespace mt
