// SPDX-License-Identifier: Apache-2.0
// CUDA's words for the host compiler: a kernel written with backends/cuda/device/grid.h runs here
// as it does on a GPU, one fiber for each thread, and everything it touches is checked.
#pragma once

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backends/cuda/simulator/async.h"
#include "backends/cuda/simulator/scheduler.h"
#include "backends/cuda/simulator/shared.h"
#include "backends/cuda/simulator/stream.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__
#define threadIdx (::grid::place.thread)
#define blockIdx (::grid::place.block)
#define blockDim (::grid::place.block_size)
#define gridDim (::grid::place.grid_size)

inline void __syncthreads(const grid::Source& where = grid::Source::current()) {
  grid::wait_for_block(where);
}
inline void __syncwarp(unsigned mask = 0xffffffff,
                       const grid::Source& where = grid::Source::current()) {
  grid::exchange(mask, nullptr, 0, where, true);
}
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              const grid::Source& where = grid::Source::current()) {
  grid::exchange(mask, &value, sizeof value, where);
  unsigned own = grid::now().thread % 32;
  unsigned from = own / static_cast<unsigned>(width) * static_cast<unsigned>(width) +
                  static_cast<unsigned>(lane) % static_cast<unsigned>(width);
  std::memcpy(&value, grid::exchanged(from, where), sizeof value);
  return value;
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   const grid::Source& where = grid::Source::current()) {
  grid::exchange(mask, &value, sizeof value, where);
  unsigned own = grid::now().thread % 32, size = static_cast<unsigned>(width);
  if (own % size + delta < size) {
    std::memcpy(&value, grid::exchanged(own + delta, where), sizeof value);
  }
  return value;
}

namespace mt::cuda {

using Dim3 = grid::Dim;

template <class T>
T load(const T* data, int64_t i = 0, const grid::Source& where = grid::Source::current()) {
  T value;
  std::memcpy(&value, grid::readable(data + i, sizeof(T), where), sizeof(T));
  return value;
}
template <class T>
void store(T* data, int64_t i, std::type_identity_t<T> value,
           const grid::Source& where = grid::Source::current()) {
  std::memcpy(grid::writable(data + i, sizeof(T), where), &value, sizeof(T));
}
template <class T>
const T& view(const T* data, int64_t i = 0, const grid::Source& where = grid::Source::current()) {
  return *static_cast<const T*>(grid::constant(data + i, sizeof(T), where));
}

// An array in the block's shared memory.
template <class T>
class Shared {
 public:
  explicit Shared(size_t offset) : offset_(offset) {}
  class Element {
   public:
    Element(size_t offset, const grid::Source& where) : offset_(offset), where_(where) {}
    operator T() const {
      T value;
      std::memcpy(&value, grid::shared_readable(offset_, sizeof(T), where_), sizeof(T));
      return value;
    }
    void operator=(T value) {
      std::memcpy(grid::shared_writable(offset_, sizeof(T), where_), &value, sizeof(T));
    }
    void operator=(const Element& other) { *this = static_cast<T>(other); }

   private:
    size_t offset_;
    grid::Source where_;
  };
  struct Index {  // brings the caller's line along
    int64_t value;
    grid::Source where;
    Index(int64_t i, const grid::Source& at = grid::Source::current()) : value(i), where(at) {}
  };
  Element operator[](Index i) const { return {place(i.value), i.where}; }
  size_t place(int64_t i) const { return offset_ + static_cast<size_t>(i) * sizeof(T); }

 private:
  size_t offset_;
};
// The array that begins `offset` bytes into the shared memory a launch asks for.
template <class T>
Shared<T> shared(size_t offset = 0) {
  return Shared<T>(offset);
}

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), Dim3 grid, Dim3 block,
            size_t shared_bytes, Stream stream, Arguments... arguments) {
  auto body = [kernel, values = std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)] {
    std::apply(kernel, values);
  };
  grid::submit(stream, name, [=]() mutable {
    grid::run(
        {name, grid, block, shared_bytes, (sizeof(Parameters) + ... + 0)},
        [](void* context) { (*static_cast<decltype(body)*>(context))(); }, &body);
  });
}

}  // namespace mt::cuda
