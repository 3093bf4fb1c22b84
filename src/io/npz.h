// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz: a ZIP archive of .npy files.
#pragma once

#include <vector>

#include "io/host.h"

namespace mt {

std::vector<NamedTensor> load_npz(const char* path, Device& device);
void save_npz(const std::vector<NamedTensor>& tensors, const char* path, bool compress);

}  // namespace mt
