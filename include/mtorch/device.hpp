// SPDX-License-Identifier: Apache-2.0
/// @file device.hpp
/// Devices and their memory, threads, and the eager mode for debugging. See mtorch.hpp.
#ifndef MTORCH_DEVICE_HPP_
#define MTORCH_DEVICE_HPP_

#include <string>
#include <vector>

#include "device.h"
#include "tensor.hpp"

namespace mtorch {

/// The device strings of all devices that this process can use.
inline std::vector<std::string> devices() {
  std::vector<std::string> names;
  for (size_t i = 0; i < mt_device_count(); ++i) names.push_back(mt_device_name(i));
  return names;
}
inline std::string device_description(const Device& device) {
  return detail::take_string(mt_device_description(device));
}
inline bool device_available(const Device& device) { return mt_device_available(device); }
inline std::string default_device() { return mt_default_device(); }
inline void set_default_device(const Device& device) { check(mt_set_default_device(device)); }

inline int threads() { return mt_threads(); }
inline void set_threads(int threads) { check(mt_set_threads(threads)); }

/// mt_memory_read().
inline mt_memory memory(const Device& device) {
  mt_memory read = MT_MEMORY_INIT;
  check(mt_memory_read(device, &read));
  return read;
}
inline void reset_peak_memory(const Device& device) { check(mt_reset_peak_memory(device)); }
inline void set_memory_limit(const Device& device, int64_t bytes) {
  check(mt_set_memory_limit(device, bytes));
}
inline void release_cached_memory(const Device& device) { check(mt_release_cached_memory(device)); }

/// A GPU's cudaStream_t.
inline void* device_stream(const Device& device) { return mt_device_stream(device); }
inline void wait_for_stream(const Device& device, void* stream) {
  check(mt_wait_for_stream(device, stream));
}
inline void let_stream_wait(const Device& device, void* stream) {
  check(mt_let_stream_wait(device, stream));
}

inline bool eager() { return mt_eager(); }
inline void set_eager(bool eager) { check(mt_set_eager(eager)); }
inline bool nan_check() { return mt_nan_check(); }
inline void set_nan_check(bool on) { check(mt_set_nan_check(on)); }

}  // namespace mtorch

#endif
