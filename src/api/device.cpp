// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/device.h.
#include "mtorch/device.h"
#include "backends/devices.h"

#include <algorithm>

#include "api/guard.h"
#include "api/strings.h"
#include "backends/backend.h"
#include "backends/host.h"
#include "base/before_work.h"
#include "graph/modes.h"

using namespace mt;
using namespace mt::api;

size_t mt_device_count(void) {
  return read<size_t>("device_count", 0, [] { return device_names().size(); });
}

const char* mt_device_name(size_t i) {
  return read<const char*>("device_name", nullptr, [&]() -> const char* {
    auto names = device_names();
    return i < names.size() ? find_device(names[i].c_str()).name.c_str() : nullptr;
  });
}

char* mt_device_description(const char* device) {
  return read<char*>("device_description", nullptr,
                     [&] { return give_text(find_device(device).backend->description()); });
}

bool mt_device_available(const char* device) {
  try {
    find_device(device);
    return true;
  } catch (...) {
    return false;
  }
}

const char* mt_default_device(void) { return default_device().name.c_str(); }

mt_status mt_set_default_device(const char* device) {
  return change("set_default_device", [&] { set_default_device(required(device, "device")); });
}

int mt_threads(void) { return host::thread_count(); }

mt_status mt_set_threads(int threads) {
  return change("set_threads", [&] {
    if (threads < 1 || threads > host::most_threads) {
      fail(Code::invalid, "set_threads: %d threads; 1 to %d can be", threads, host::most_threads);
    }
    host::set_thread_count(threads);
  });
}

mt_status mt_before_work(void (*function)(void)) {
  return change("before_work", [&] {
    auto* added = new BeforeWork{required(function, "the function"), first_before_work.load()};
    while (!first_before_work.compare_exchange_weak(added->next, added)) {
    }
  });
}

mt_status mt_memory_read(const char* device, mt_memory* memory) {
  return run("memory_read", [&] {
    const size_t given = required(memory, "memory")->struct_size;
    if (given <= sizeof given) fail_struct_size(given);
    MemoryStatistics statistics = find_device(device).allocator->statistics();
    mt_memory result{given,
                     statistics.in_use,
                     statistics.peak,
                     statistics.cached,
                     statistics.limit,
                     statistics.allocations};
    std::memcpy(memory, &result, std::min(given, sizeof result));
  });
}

// These three help after running out of memory, so they work while that error is pending.
mt_status mt_reset_peak_memory(const char* device) {
  return run("reset_peak_memory", [&] { find_device(device).allocator->reset_peak(); });
}

mt_status mt_set_memory_limit(const char* device, int64_t bytes) {
  return run("set_memory_limit", [&] {
    if (bytes < 0) {
      fail(Code::invalid, "set_memory_limit: %lld bytes", static_cast<long long>(bytes));
    }
    find_device(device).allocator->set_limit(bytes);
  });
}

mt_status mt_release_cached_memory(const char* device) {
  return run("release_cached_memory", [&] { find_device(device).allocator->release_cached(); });
}

void* mt_device_stream(const char* device) {
  return read<void*>("device_stream", nullptr,
                     [&] { return find_device(device).backend->stream(); });
}

mt_status mt_wait_for_stream(const char* device, void* stream) {
  return run("wait_for_stream", [&] { find_device(device).backend->wait_for_stream(stream); });
}

mt_status mt_let_stream_wait(const char* device, void* stream) {
  return run("let_stream_wait", [&] { find_device(device).backend->let_stream_wait(stream); });
}

bool mt_eager(void) { return eager_mode(); }

mt_status mt_set_eager(bool eager) {
  return change("set_eager", [&] { set_eager_mode(eager); });
}

bool mt_nan_check(void) { return nan_check(); }

mt_status mt_set_nan_check(bool check) {
  return change("set_nan_check", [&] { set_nan_check(check); });
}
