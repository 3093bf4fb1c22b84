// SPDX-License-Identifier: Apache-2.0
// Exchange of tensors with other libraries in memory, without copies.
#pragma once

#include <cstdint>

#include "graph/node.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace mt {

// Compute the value; the result's deleter gives it back.
DLManagedTensorVersioned* to_dlpack(const Tensor& tensor, uint64_t flags);
DLManagedTensor* to_dlpack_unversioned(const Tensor& tensor);

// Tensors over the other library's memory. Its deleter is called once nothing uses that any more;
// not when these fail. `lent` becomes the caller's reference to the memory, who may fail as well.
Tensor from_dlpack(DLManagedTensorVersioned* managed, Ref<Storage>* lent = nullptr);
Tensor from_dlpack(DLManagedTensor* managed, Ref<Storage>* lent = nullptr);

}  // namespace mt
