// SPDX-License-Identifier: Apache-2.0
// Something that is bound to a value and can be bound to another. In programs that is a tensor's
// handle, which this folder does not know.
#pragma once

#include "graph/node.h"

namespace mt {

class Binding {
 public:
  virtual ~Binding() = default;
  // An address that bindings of the same thing share.
  virtual const void* place() const { return this; }
  virtual Tensor value() const = 0;
  // Binds to a value of the same shape; of another dtype or device when all of a collection is
  // converted. A leaf that requires a gradient stays one and takes only values without history.
  virtual void bind(Tensor value) = 0;
  virtual bool requires_gradient() const = 0;
  virtual void require_gradient() = 0;
  virtual Tensor gradient() const = 0;  // null while there is none
  virtual void set_gradient(Tensor gradient) = 0;
};

}  // namespace mt
