// SPDX-License-Identifier: Apache-2.0
// The safetensors format: the length of a JSON header, the header, the elements.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/file.h"
#include "io/host.h"

namespace mt {

using Metadata = std::vector<std::pair<std::string, std::string>>;

// An open file whose header has been checked as a whole; elements are read as they are asked for.
class Safetensors {
 public:
  struct Entry {
    std::string name;
    Dtype dtype;
    Shape shape;
    uint64_t begin, end;  // bytes within the data
  };

  explicit Safetensors(const char* path);
  const std::vector<Entry>& entries() const { return entries_; }  // in the header's order
  const Metadata& metadata() const { return metadata_; }
  const Entry* find(const std::string& name) const;
  Tensor read(const Entry& entry, Device& device);

 private:
  InputFile file_;
  uint64_t data_begin_ = 0;
  std::vector<Entry> entries_;
  Metadata metadata_;
};

// Fails for a tensor's name that no file can hold; the error begins with `what`.
void check_name(const std::string& name, const char* what);
// Whether a file begins as one does.
bool is_safetensors(const char* path);
std::vector<NamedTensor> load_safetensors(const char* path, Device& device);
void save_safetensors(const std::vector<NamedTensor>& tensors, const Metadata& metadata,
                      const char* path);

}  // namespace mt
