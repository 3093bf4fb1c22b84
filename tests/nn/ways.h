// SPDX-License-Identifier: Apache-2.0
// Training in each of the ways that give the same bits.
#pragma once

#include <vector>

#include "nn/c_api.h"

namespace mt {

using Bits = std::vector<uint32_t>;

enum class Way { deferred, eager, traced };
constexpr Way ways[] = {Way::deferred, Way::eager, Way::traced};

// Steps [from, to): training.step(x) of the input x that training.prepare(t) makes.
template <class Training>
void run_steps(Training* training, int from, int to, Way way) {
  auto traced = [](void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
    results[0] = static_cast<Training*>(user)->step(inputs[0]);
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(traced, training);
  mt_set_eager(way == Way::eager);
  for (int t = from; t < to; ++t) MT_SCOPE {
      mt_tensor *x = training->prepare(t), *result = NULL;
      if (way == Way::traced) {
        mt_trace_call(trace, &x, 1, &result, 1);
      } else {
        training->step(x);
      }
    }
  mt_set_eager(false);
  mt_trace_release(trace);
}

// Those of each tensor.
inline void append_bits(mt_parameters* tensors, std::vector<Bits>* all) {
  for (size_t i = 0; i < mt_parameters_count(tensors); ++i) {
    mt_tensor* tensor = mt_parameters_tensor(tensors, i);
    size_t bytes = static_cast<size_t>(mt_size(tensor)) * mt_dtype_size(mt_dtype_of(tensor));
    all->emplace_back((bytes + 3) / 4);
    mt_copy_to_host(tensor, all->back().data(), bytes);
  }
}

}  // namespace mt
