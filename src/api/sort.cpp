// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/reduce.h that sort, search and sum along an axis.
#include <array>

#include "api/guard.h"
#include "mtorch/reduce.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

mt_tensor* mt_cumulative_sum(mt_tensor* x, int64_t axis) {
  return give("cumulative_sum", [&] { return cumulative_sum(value(x), axis); });
}

mt_tensor* mt_cumulative_prod(mt_tensor* x, int64_t axis) {
  return give("cumulative_prod", [&] { return cumulative_prod(value(x), axis); });
}

mt_tensor* mt_diff(mt_tensor* x, int64_t axis, int64_t order) {
  return give("diff", [&] { return diff(value(x), axis, order); });
}

mt_tensor* mt_searchsorted(mt_tensor* sorted, mt_tensor* values, bool right) {
  return give("searchsorted", [&] { return searchsorted(value(sorted), value(values), right); });
}

mt_tensor* mt_sort(mt_tensor* x, int64_t axis, bool descending) {
  return give("sort", [&] { return mt::sort(value(x), axis, descending); });
}

mt_tensor* mt_argsort(mt_tensor* x, int64_t axis, bool descending) {
  return give("argsort", [&] { return argsort(value(x), axis, descending); });
}

mt_status mt_topk(mt_tensor* x, int64_t k, int64_t axis, bool largest, mt_tensor** values,
                  mt_tensor** indices) {
  return give_wanted<2>("topk", {values, indices}, [&]() -> std::array<Tensor, 2> {
    TopK best = topk(value(x), k, axis, largest);
    return {best.values, best.indices};
  });
}

mt_tensor* mt_nonzero(mt_tensor* x) {
  return give("nonzero", [&] { return nonzero(value(x)); });
}

mt_tensor* mt_unique_values(mt_tensor* x) {
  return give("unique_values", [&] { return unique_values(value(x)); });
}

mt_status mt_unique_all(mt_tensor* x, mt_tensor** values, mt_tensor** indices,
                        mt_tensor** inverse_indices, mt_tensor** counts) {
  return give_wanted<4>("unique_all", {values, indices, inverse_indices, counts},
                        [&]() -> std::array<Tensor, 4> {
                          Unique all = unique_all(value(x));
                          return {all.values, all.indices, all.inverse_indices, all.counts};
                        });
}
