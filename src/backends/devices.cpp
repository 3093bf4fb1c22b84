// SPDX-License-Identifier: Apache-2.0
// The devices this build has.
#include <atomic>
#include <cstring>

#include "backends/backend.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "tensor/error.h"

namespace mt {
namespace {

struct Devices {
  Device cpu{"cpu", &host_allocator(), &cpu::backend(), true, true};
  Device reference{"cpu:reference", &host_allocator(), &reference::backend(), true, false};
  std::atomic<Device*> chosen{&cpu};
};

Devices& devices() {
  static Devices* all = new Devices;  // tensors may outlive main
  return *all;
}

}  // namespace

Device& find_device(const char* name) {
  if (!name) return default_device();
  for (Device* device : {&devices().cpu, &devices().reference}) {
    if (device->name == name) return *device;
  }
  if (std::strncmp(name, "cuda", 4) == 0) {
    fail(Code::device, "device %s: this build has no CUDA backend", name);
  }
  fail(Code::device, "there is no device \"%s\"; there are \"cpu\" and \"cpu:reference\"", name);
}

Device& default_device() { return *devices().chosen.load(); }
void set_default_device(const char* name) { devices().chosen = &find_device(name); }
std::vector<std::string> device_names() { return {"cpu", "cpu:reference"}; }

}  // namespace mt
