// SPDX-License-Identifier: Apache-2.0
// The C functions that read values.
#include "api/reading.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "api/guard.h"
#include "backends/host_array.h"
#include "graph/evaluate.h"

namespace mt::api {
namespace {

std::mutex& maps_mutex() {
  static auto* mutex = new std::mutex;  // handles may be released after main has returned
  return *mutex;
}

}  // namespace

void forget_maps(mt_tensor* handle) { delete std::exchange(handle->maps, nullptr); }

namespace {

const void* pin(mt_tensor* handle, const HostArray& host) {
  std::lock_guard lock(maps_mutex());
  if (!handle->maps) handle->maps = new Maps;
  auto& pinned = handle->maps->pinned;
  if (pinned.empty() || !(pinned.back() == host.storage)) {
    pinned.push_back(host.storage);
    host.storage->pin();
  }
  ++handle->maps->count;
  retain(handle);
  return host.data();
}

void unmap(mt_tensor* handle) {
  std::unique_ptr<Maps> ended;  // let go of without the lock: wrapped memory's owner may call back
  {
    std::lock_guard lock(maps_mutex());
    // Without any where memory ran out before the first.
    if (!handle->maps || handle->maps->count == 0)
      throw ArgumentError(Code::invalid, "the tensor is not mapped");
    if (--handle->maps->count == 0) ended.reset(std::exchange(handle->maps, nullptr));
  }
  ended = nullptr;
  release(handle);
}

// A plain number has its value already.
void compute(const Tensor& given) {
  if (!given->is_plain_number) evaluate(given);
}

void check_single(const Tensor& x, const char* name) {
  if (x.size() != 1) {
    fail(Code::shape, "%s: needs a tensor of one element, got %s", name,
         to_string(x.shape()).c_str());
  }
}

[[gnu::noinline]] void compute_all(mt_tensor* const* tensors, size_t n) {
  SmallVector<Tensor, 8> requested;
  for (size_t i = 0; i < n; ++i) requested.push_back(value(tensors[i]));
  evaluate(requested.data(), requested.size());
}

}  // namespace
}  // namespace mt::api

using namespace mt;
using namespace mt::api;

mt_status mt_eval(mt_tensor* const* tensors, size_t n) {
  return run("eval", [&] {
    if (n == 0) return evaluate_held();
    required(tensors, "the array of tensors");
    if (n != 1) return compute_all(tensors, n);
    compute(operand(tensors[0]));
  });
}

double mt_item(mt_tensor* tensor) {
  return read<double>("item", NAN, [&] {
    Tensor x = value(tensor);
    check_single(x, "item");
    return host_array(x).array.number(0);
  });
}

int64_t mt_item_int(mt_tensor* tensor) {
  return read<int64_t>("item_int", 0, [&] {
    Tensor x = value(tensor);
    check_single(x, "item_int");
    if (is_floating(x.dtype())) {
      fail(Code::dtype, "item_int: needs an integer or bool, got %s", name_of(x.dtype()));
    }
    int64_t result = host_array(x).array.integer(0);
    if (x.dtype() == Dtype::uint64 && result < 0) {
      fail(Code::dtype, "item_int: the uint64 %llu does not fit int64",
           static_cast<unsigned long long>(result));
    }
    return result;
  });
}

const void* mt_map(mt_tensor* tensor) {
  return read<const void*>("map", nullptr,
                           [&] { return pin(tensor, contiguous_host_array(value(tensor))); });
}

const void* mt_map_strided(mt_tensor* tensor, int64_t* strides) {
  return read<const void*>("map_strided", nullptr, [&] {
    HostArray host = host_array(value(tensor));
    const Strides& lie = host.array.layout.strides;
    if (lie.rank()) required(strides, "strides");
    const void* elements = pin(tensor, host);
    std::copy(lie.begin(), lie.end(), strides);
    return elements;
  });
}

void mt_unmap(mt_tensor* tensor) {
  if (!tensor) return;
  run("unmap", [&] { unmap(tensor); });
}

mt_status mt_copy_to_host(mt_tensor* tensor, void* buffer, size_t bytes) {
  return run("copy_to_host", [&] {
    Tensor x = value(tensor);
    if (static_cast<size_t>(x->bytes()) != bytes) {
      fail(Code::shape, "copy_to_host: %s of %s is %lld bytes, the buffer %zu",
           to_string(x.shape()).c_str(), name_of(x.dtype()), static_cast<long long>(x->bytes()),
           bytes);
    }
    if (bytes) copy_to_host(x, required(buffer, "buffer"));
  });
}
