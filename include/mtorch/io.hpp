// SPDX-License-Identifier: Apache-2.0
/// @file io.hpp
/// Files of tensors. See mtorch.hpp.
#ifndef MTORCH_IO_HPP_
#define MTORCH_IO_HPP_

#include <string>

#include "io.h"
#include "nn.hpp"

namespace mtorch {

inline Tensor load_npy(const std::string& path, const Device& device = {}) {
  return Tensor::own(mt_load_npy(path.c_str(), device));
}
inline void save_npy(const Tensor& x, const std::string& path) {
  check(mt_save_npy(x.get(), path.c_str()));
}
inline Tensor load_idx(const std::string& path, const Device& device = {}) {
  return Tensor::own(mt_load_idx(path.c_str(), device));
}
inline Parameters load_npz(const std::string& path, const Device& device = {}) {
  return Parameters(mt_load_npz(path.c_str(), device));
}
inline void save_npz(const Parameters& parameters, const std::string& path, bool compress = false) {
  check(mt_save_npz(parameters.get(), path.c_str(), compress));
}
inline Parameters load_safetensors(const std::string& path, const Device& device = {}) {
  return Parameters(mt_load_safetensors(path.c_str(), device));
}

}  // namespace mtorch

#endif
