// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "io/safetensors.h"

namespace mt {

struct NamedForm {
  std::string name;
  Shape shape;
  Dtype dtype;
};
std::vector<NamedForm> forms_of(const std::vector<NamedTensor>& tensors);
std::vector<NamedForm> forms_of(const Safetensors& file);

// For each of what `owner` has, which of `given` has its name. Fails where names, shapes or types
// differ, naming `origin`, where what is given comes from. PyTorch's counts of batches may be left.
std::vector<size_t> match_names(const std::vector<NamedForm>& own, const char* owner,
                                const std::vector<NamedForm>& given, const char* origin,
                                Code wrong_name);

}  // namespace mt
