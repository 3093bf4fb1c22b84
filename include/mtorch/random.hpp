// SPDX-License-Identifier: Apache-2.0
/// @file random.hpp
/// Random numbers. See mtorch.hpp.
#ifndef MTORCH_RANDOM_HPP_
#define MTORCH_RANDOM_HPP_

#include "random.h"
#include "tensor.hpp"

namespace mtorch {

inline void seed(uint64_t key) { check(mt_seed(key)); }
inline Tensor uniform(Dims shape, double low = 0, double high = 1, DType dtype = f32,
                      const char* device = nullptr) {
  return Tensor::own(
      mt_uniform(shape.data(), shape.size(), low, high, detail::code(dtype), device));
}
inline Tensor normal(Dims shape, double mean = 0, double deviation = 1, DType dtype = f32,
                     const char* device = nullptr) {
  return Tensor::own(
      mt_normal(shape.data(), shape.size(), mean, deviation, detail::code(dtype), device));
}
inline Tensor integers(Dims shape, int64_t low, int64_t high, DType dtype = i64,
                       const char* device = nullptr) {
  return Tensor::own(
      mt_integers(shape.data(), shape.size(), low, high, detail::code(dtype), device));
}
inline Tensor bernoulli(Dims shape, double probability, DType dtype = f32,
                        const char* device = nullptr) {
  return Tensor::own(
      mt_bernoulli(shape.data(), shape.size(), probability, detail::code(dtype), device));
}
inline Tensor permutation(int64_t n, const char* device = nullptr) {
  return Tensor::own(mt_permutation(n, device));
}

}  // namespace mtorch

#endif
