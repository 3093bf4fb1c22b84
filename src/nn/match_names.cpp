// SPDX-License-Identifier: Apache-2.0
#include "nn/match_names.h"

#include <unordered_map>

namespace mt {
namespace {

// PyTorch's batch norms count their batches, which nothing here reads.
bool is_batch_count(const std::string& name) {
  return ("." + name).ends_with(".num_batches_tracked");
}

}  // namespace

std::vector<NamedForm> forms_of(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedForm> forms;
  for (const auto& [name, value] : tensors) forms.push_back({name, value.shape(), value.dtype()});
  return forms;
}

std::vector<NamedForm> forms_of(const Safetensors& file) {
  std::vector<NamedForm> forms;
  for (const Safetensors::Entry& entry : file.entries()) {
    forms.push_back({entry.name, entry.shape, entry.dtype});
  }
  return forms;
}

std::vector<size_t> match_names(const std::vector<NamedForm>& own, const char* owner,
                                const std::vector<NamedForm>& given, const char* origin,
                                Code wrong_name) {
  std::unordered_map<std::string, size_t> by_name;
  for (size_t i = 0; i < given.size(); ++i) by_name[given[i].name] = i;
  std::vector<size_t> result;
  for (const NamedForm& wanted : own) {
    const char* name = wanted.name.c_str();
    auto at = by_name.find(wanted.name);
    if (at == by_name.end()) fail(wrong_name, "%s: has no \"%s\"", origin, name);
    const NamedForm& found = given[at->second];
    if (found.shape != wanted.shape) {
      fail(Code::shape, "%s: \"%s\" has shape %s, the %s's has %s", origin, name,
           to_string(found.shape).c_str(), owner, to_string(wanted.shape).c_str());
    }
    if (found.dtype != wanted.dtype) {
      fail(Code::dtype, "%s: \"%s\" is %s, the %s's is %s", origin, name, name_of(found.dtype),
           owner, name_of(wanted.dtype));
    }
    result.push_back(at->second);
    by_name.erase(at);
  }
  for (const NamedForm& other : given) {
    if (by_name.count(other.name) == 0 || is_batch_count(other.name)) continue;
    fail(wrong_name, "%s: holds \"%s\", which the %s does not have", origin, other.name.c_str(),
         owner);
  }
  return result;
}

}  // namespace mt
