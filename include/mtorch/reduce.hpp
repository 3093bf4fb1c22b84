// SPDX-License-Identifier: Apache-2.0
/// @file reduce.hpp
/// Reductions, running sums, sorting. See mtorch.hpp.
#ifndef MTORCH_REDUCE_HPP_
#define MTORCH_REDUCE_HPP_

#include <concepts>
#include <utility>

#include "reduce.h"
#include "tensor.hpp"

namespace mtorch {

/// @cond
#define MT_REDUCTION_(name)                                                \
  inline Tensor name(const Tensor& x, Dims axes = {}, bool keep = false) { \
    auto function = keep ? mt_##name##_keep : mt_##name;                   \
    return Tensor::own(function(x.get(), axes.data(), axes.size()));       \
  }                                                                        \
  static_assert(true)
#define MT_STATISTIC_(name, c_name, extra, usual)                                                \
  inline Tensor name(const Tensor& x, Dims axes = {}, double extra = usual, bool keep = false) { \
    auto function = keep ? mt_##c_name##_keep : mt_##c_name;                                     \
    return Tensor::own(function(x.get(), axes.data(), axes.size(), extra));                      \
  }                                                                                              \
  static_assert(true)
/// @endcond
MT_REDUCTION_(sum);
MT_REDUCTION_(mean);
MT_REDUCTION_(prod);
MT_REDUCTION_(max);
MT_REDUCTION_(min);
MT_REDUCTION_(argmax);
MT_REDUCTION_(argmin);
MT_REDUCTION_(any);
MT_REDUCTION_(all);
MT_REDUCTION_(logsumexp);
MT_REDUCTION_(count_nonzero);
MT_STATISTIC_(var, var, correction, 0);
MT_STATISTIC_(stddev, std, correction, 0);  // not std, which is a namespace
MT_STATISTIC_(norm, norm, order, 2);
/// An axis or an order: norm(x, {1}) or norm(x, {}, 1) says which.
template <std::integral T, class... More>
Tensor norm(const Tensor& x, T axis_or_order, More...) = delete;
#undef MT_REDUCTION_
#undef MT_STATISTIC_

inline Tensor cumulative_sum(const Tensor& x, int64_t axis) {
  return Tensor::own(mt_cumulative_sum(x.get(), axis));
}
inline Tensor cumulative_prod(const Tensor& x, int64_t axis) {
  return Tensor::own(mt_cumulative_prod(x.get(), axis));
}
inline Tensor diff(const Tensor& x, int64_t axis = -1, int64_t order = 1) {
  return Tensor::own(mt_diff(x.get(), axis, order));
}
inline Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right = false) {
  return Tensor::own(mt_searchsorted(sorted.get(), values.get(), right));
}
inline Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false) {
  return Tensor::own(mt_sort(x.get(), axis, descending));
}
inline Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false) {
  return Tensor::own(mt_argsort(x.get(), axis, descending));
}
/// Values and indices.
inline std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t axis = -1,
                                      bool largest = true) {
  Tensors both = detail::filled(
      2, [&](mt_tensor** r) { return mt_topk(x.get(), k, axis, largest, &r[0], &r[1]); });
  return {both[0], both[1]};
}

inline Tensor nonzero(const Tensor& x) { return Tensor::own(mt_nonzero(x.get())); }
inline Tensor unique_values(const Tensor& x) { return Tensor::own(mt_unique_values(x.get())); }
/// What mt_unique_all() gives.
struct Unique {
  Tensor values, indices, inverse_indices, counts;
};
inline Unique unique_all(const Tensor& x) {
  Tensors four = detail::filled(
      4, [&](mt_tensor** r) { return mt_unique_all(x.get(), &r[0], &r[1], &r[2], &r[3]); });
  return {four[0], four[1], four[2], four[3]};
}

}  // namespace mtorch

#endif
