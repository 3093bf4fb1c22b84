// SPDX-License-Identifier: Apache-2.0
/// @file random.hpp
/// Random numbers. See mtorch.hpp.
#ifndef MTORCH_RANDOM_HPP_
#define MTORCH_RANDOM_HPP_

#include <memory>
#include <utility>

#include "random.h"
#include "tensor.hpp"

namespace mtorch {

/// A source of random numbers: a key and a counter. Copies share it.
class Generator {
 public:
  explicit Generator(uint64_t seed)
      : handle_(detail::required(mt_generator_new(seed)), mt_generator_release) {}

  /// Makes it the one that this thread draws from.
  void use() const { check(mt_generator_use(handle_.get())); }
  /// Goes back to the thread's own.
  static void use_own() { check(mt_generator_use(nullptr)); }
  /// Key and counter, to go on from later.
  std::pair<uint64_t, uint64_t> state() const {
    uint64_t key = 0, counter = 0;
    check(mt_generator_state(handle_.get(), &key, &counter));
    return {key, counter};
  }
  void set_state(uint64_t key, uint64_t counter) const {
    check(mt_generator_set_state(handle_.get(), key, counter));
  }

 private:
  std::shared_ptr<mt_generator> handle_;
};

/// mt_seed(): of this thread, and of those that first draw later.
inline void seed(uint64_t key) { check(mt_seed(key)); }
inline Tensor uniform(Dims shape, double low = 0, double high = 1, DType dtype = f32,
                      const Device& device = {}) {
  return Tensor::own(
      mt_uniform(shape.data(), shape.size(), low, high, detail::code(dtype), device));
}
inline Tensor normal(Dims shape, double mean = 0, double deviation = 1, DType dtype = f32,
                     const Device& device = {}) {
  return Tensor::own(
      mt_normal(shape.data(), shape.size(), mean, deviation, detail::code(dtype), device));
}
inline Tensor integers(Dims shape, int64_t low, int64_t high, DType dtype = i64,
                       const Device& device = {}) {
  return Tensor::own(
      mt_integers(shape.data(), shape.size(), low, high, detail::code(dtype), device));
}
inline Tensor bernoulli(Dims shape, double probability, DType dtype = f32,
                        const Device& device = {}) {
  return Tensor::own(
      mt_bernoulli(shape.data(), shape.size(), probability, detail::code(dtype), device));
}
/// Sizes or bounds: normal({2}, 3) or normal({2, 3}) says which.
template <WholeNumber A, class B, class... More>
Tensor uniform(A size_or_low, B, More...) = delete;
template <WholeNumber A, class B, class... More>
Tensor normal(A size_or_mean, B, More...) = delete;
template <WholeNumber A, class B, class... More>
Tensor integers(A size_or_low, B, More...) = delete;
inline Tensor permutation(int64_t n, const Device& device = {}) {
  return Tensor::own(mt_permutation(n, device));
}

}  // namespace mtorch

#endif
