// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tape.h that take functions of the user's own.
#include "api/callback.h"
#include "api/guard.h"
#include "autodiff/checkpoint.h"
#include "autodiff/custom.h"
#include "autodiff/gradient_check.h"
#include "mtorch/tape.h"

using namespace mt;
using namespace mt::api;

namespace {

class UserOperator final : public CustomOperator {
 public:
  UserOperator(const mt_operator& given, size_t results)
      : CustomOperator(given.name ? given.name : "custom"), given_(given), results_(results) {}
  ~UserOperator() override {
    if (owned_ && given_.destroy) given_.destroy(given_.user);
  }
  // From now on `user` is to be destroyed.
  void own() { owned_ = true; }

  std::vector<Tensor> forward(const std::vector<Tensor>& inputs) override {
    return as_user_error(
        [&] { return call_function(name.c_str(), given_.forward, given_.user, inputs, results_); });
  }

  std::vector<Tensor> backward(const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& results,
                               const std::vector<Tensor>& result_gradients) override {
    if (!given_.backward) {
      fail(Code::no_gradient, "backward: %s has no gradient of its own", name.c_str());
    }
    return as_user_error([&] { return call_backward(inputs, results, result_gradients); });
  }

 private:
  template <class Body>
  static std::vector<Tensor> as_user_error(Body&& body) {
    try {
      return body();
    } catch (const Error& error) {
      if (error.code() == Code::memory) throw;  // it may go well another time
      throw Error(Code::user, error.what());
    }
  }

  std::vector<Tensor> call_backward(const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& results,
                                    const std::vector<Tensor>& result_gradients) {
    CallbackScope scope(name.c_str());
    std::vector<mt_tensor*> x = scope.handles(inputs), y = scope.handles(results),
                            dy = scope.handles(result_gradients), dx(inputs.size(), nullptr);
    scope.check(
        given_.backward(given_.user, x.data(), x.size(), y.data(), y.size(), dy.data(), dx.data()));
    std::vector<Tensor> gradients;
    for (mt_tensor* gradient : dx) gradients.push_back(optional_value(gradient));
    return gradients;
  }

  mt_operator given_;
  size_t results_;
  bool owned_ = false;
};

}  // namespace

mt_status mt_custom(const mt_operator* operation, mt_tensor* const* inputs, size_t ninputs,
                    mt_tensor** results, size_t nresults) {
  std::shared_ptr<UserOperator> kept;
  mt_status status = change_all("custom", results, nresults, [&] {
    mt_operator given = options(required(operation, "the operator"), mt_operator{});
    required(reinterpret_cast<void*>(given.forward), "forward");
    need_results(nresults);
    kept = std::make_shared<UserOperator>(given, nresults);
    return apply_custom(kept, values(inputs, ninputs));
  });
  if (status == MT_OK) kept->own();
  return status;
}

mt_status mt_checkpoint(mt_function function, void* user, mt_tensor* const* inputs, size_t ninputs,
                        mt_tensor** results, size_t nresults) {
  return change_all("checkpoint", results, nresults, [&] {
    required(reinterpret_cast<void*>(function), "the function");
    need_results(nresults);
    return checkpoint(
        [&](const std::vector<Tensor>& given) {
          return call_function("checkpoint", function, user, given, nresults);
        },
        values(inputs, ninputs));
  });
}

mt_status mt_gradient_check(mt_function function, void* user, mt_tensor* const* inputs,
                            size_t ninputs, const mt_gradient_check_options* given) {
  return change("gradient_check", [&] {
    required(reinterpret_cast<void*>(function), "the function");
    mt_gradient_check_options chosen = options(given, MT_GRADIENT_CHECK_OPTIONS_INIT);
    if (!(chosen.step > 0) || chosen.order < 1 || chosen.order > 2) {
      fail(Code::invalid, "gradient_check: step %g must be above 0, order %d be 1 or 2",
           chosen.step, chosen.order);
    }
    check_gradient(
        [&](const std::vector<Tensor>& at) {
          return call_function("gradient_check", function, user, at, 1)[0];
        },
        values(inputs, ninputs), {chosen.step, chosen.relative, chosen.absolute, chosen.order});
  });
}
