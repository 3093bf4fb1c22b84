// SPDX-License-Identifier: Apache-2.0
// What the programs that run out of memory work on: a small network with what trains it.
#pragma once

#include <mtorch/mtorch.h>

#include <string>
#include <vector>

namespace mt::testing {

using Numbers = std::vector<float>;

Numbers numbers_of(mt_tensor* tensor);
// The bits, since a NaN is not equal to itself.
bool same(const std::vector<Numbers>& a, const std::vector<Numbers>& b);

// The network, and the results of its program's calls.
class Model {
 public:
  Model();
  ~Model();
  Model(const Model&) = delete;

  // All that lasts, as a user sees it.
  std::vector<Numbers> state();
  std::vector<Numbers> numbers_of_results() const;

  mt_tensor* loss_of(mt_tensor* const* inputs);
  static mt_status step(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t);

  mt_parameters* parameters;
  mt_optimizer* optimizer;
  mt_sgd_options optimizer_options = MT_SGD_OPTIONS_INIT;
  mt_tensor *w[4], *x, *y;
  mt_trace* trace;
  mt_loader* loader = nullptr;
  mt_parameters* kept = nullptr;  // an optimizer's state
  std::vector<mt_tensor*> results = std::vector<mt_tensor*>(32, nullptr);
  std::string file[4];

 private:
  mt_scope* scope_;
};

}  // namespace mt::testing
