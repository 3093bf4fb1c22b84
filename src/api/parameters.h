// SPDX-License-Identifier: Apache-2.0
// What an mt_parameters is: an owner of a collection whose bindings are handles.
#pragma once

#include "api/handle.h"
#include "mtorch/nn.h"
#include "nn/parameters.h"

struct mt_parameters {
  mt::Ref<mt::Parameters> collection;
};

namespace mt::api {

class HandleBinding final : public Binding {
 public:
  explicit HandleBinding(mt_tensor* handle) : handle_(handle) { make_state(handle); }
  mt_tensor* handle() const { return handle_.get(); }

  // Makes it a binding of another handle.
  void take(mt_tensor* handle) {
    make_state(handle);
    handle_ = HeldHandle(handle);
  }
  const void* place() const override { return handle(); }
  Tensor value() const override;
  void bind(Tensor value) override { rebind(handle(), std::move(value)); }
  bool requires_gradient() const override { return is_leaf_variable(handle()); }
  void require_gradient() override { set_requires_gradient(handle(), true); }
  Tensor gradient() const override;
  void set_gradient(Tensor gradient) override;

 private:
  HeldHandle handle_;
};

// A binding of a new handle that nobody else owns.
std::unique_ptr<Binding> new_binding(Tensor value);

Parameters& collection(mt_parameters* parameters);
mt_parameters* new_parameters(Dtype dtype, Device& device);
// Values as a collection of buffers.
mt_parameters* new_parameters(std::vector<NamedTensor> values);

}  // namespace mt::api
