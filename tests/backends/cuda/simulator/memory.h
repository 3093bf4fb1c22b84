// SPDX-License-Identifier: Apache-2.0
// The simulated device's memory. A device address can be read by kernels alone, as on a GPU: to the
// host it is a page without rights. Each access is checked: that it is inside of what was handed
// out, that what it reads has been written, and that no other thread of the same launch writes it
// without a barrier in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace grid {

// A place in a kernel's source: as a default argument, that of the call.
class Source {
 public:
  static Source current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    Source source;
    source.file_ = file;
    source.line_ = line;
    return source;
  }
  const char* file_name() const { return file_; }
  unsigned line() const { return line_; }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
};

// What a kernel did wrong, with the place in its source.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
[[noreturn]] void fault(const std::string& what, const Source& where);

// A thread at one moment: what it does is ordered with what another did if a barrier lies between.
struct Moment {
  uint64_t launch = 0;
  uint32_t block = 0, thread = 0;
  uint32_t barriers = 0, warp_barriers = 0;
  uint32_t epoch = 0;  // of its clock (clocks.h)
};
bool ordered(const Moment& before, const Moment& now);
[[noreturn]] void refuse_race(const char* does, const Moment& other, const char* did,
                              const Source& where);

// The accesses to one place so far in the present launch.
class Accesses {
 public:
  void read(const Moment& now, const void* place, const Source& where);
  void write(const Moment& now, const void* place, const Source& where);
  bool none() const { return writer_.launch == 0 && reader_.launch == 0; }

 private:
  // Whether all readers of this launch were before a barrier that whoever is there now has passed.
  bool all_before(const Moment& now) const;

  Moment writer_, reader_;
  // Readers that are not ordered with the last one: others than it, of other warps, of other
  // blocks.
  bool several_readers_ = false, other_warps_ = false, other_blocks_ = false;
};

// Held by each launch, and by the host's functions below.
std::unique_lock<std::mutex> lock_device();

void* allocate(size_t bytes);  // nullptr beyond memory_limit
void release(void* address);
extern size_t memory_limit;
// Within what was allocated, only what has been handed out may be touched.
void hand_out(void* address, size_t bytes);
void take_back(void* address);

// Where memory really is, for code that checks nothing; `written`: as if it had been written.
void* exposed(void* address, size_t bytes, bool written);

void copy_in(void* address, const void* from, size_t bytes);
void copy_out(void* to, const void* address, size_t bytes);

// For kernels: where the bytes really are.
const void* readable(const void* address, size_t bytes, const Source& where);
void* writable(void* address, size_t bytes, const Source& where);
// The same for what no kernel writes, without keeping track.
const void* constant(const void* address, size_t bytes, const Source& where);

}  // namespace grid
