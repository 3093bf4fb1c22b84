// SPDX-License-Identifier: Apache-2.0
// A value that some threads read while another writes it, without ordering any other access.
#pragma once

#include <atomic>

namespace mt {

template <class T>
class Relaxed {
 public:
  Relaxed(T value = T()) : value_(value) {}
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace mt
