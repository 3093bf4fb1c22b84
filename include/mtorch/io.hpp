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
  return Tensor::own(mt_load_npy(detail::text(path), device));
}
inline void save_npy(const Tensor& x, const std::string& path) {
  check(mt_save_npy(x.get(), detail::text(path)));
}
inline Tensor load_idx(const std::string& path, const Device& device = {}) {
  return Tensor::own(mt_load_idx(detail::text(path), device));
}
inline Parameters load_npz(const std::string& path, const Device& device = {}) {
  return Parameters(mt_load_npz(detail::text(path), device));
}
inline void save_npz(const Parameters& parameters, const std::string& path, bool compress = false) {
  check(mt_save_npz(parameters.get(), detail::text(path), compress));
}
inline Parameters load_safetensors(const std::string& path, const Device& device = {}) {
  return Parameters(mt_load_safetensors(detail::text(path), device));
}

}  // namespace mtorch

#endif
