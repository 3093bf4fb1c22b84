// SPDX-License-Identifier: Apache-2.0
// Runs a grid of blocks of threads on one core, each thread a fiber that runs until it has to wait
// for others. Blocks and threads run in a shuffled order, so that nothing can rely on one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "backends/cuda/simulator/memory.h"

namespace grid {

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

// What the present thread knows of itself.
struct Place {
  Dim thread, block, block_size, grid_size;
};
extern Place place;
Moment now();

struct Launch {
  const char* name;
  Dim grid, block;
  size_t shared_bytes;
  size_t parameter_bytes;
};
// Calls body(context) once for each thread. Throws a Fault for whatever a kernel does wrong.
void run(const Launch& launch, void (*body)(void*), void* context);
// The order of everything that follows.
void shuffle_by(uint64_t seed);
uint64_t launches();  // so far

void wait_for_block(const Source& where);

// Lanes of a warp hand each other up to this many bytes.
constexpr size_t most_exchanged = 128;
// Waits until all lanes of `mask` have come here; then lane l's bytes are exchanged(l). `orders`:
// as
// __syncwarp() alone promises, what they did to memory before comes before what they do after.
void exchange(uint32_t mask, const void* bytes, size_t size, const Source& where,
              bool orders = false);
const void* exchanged(unsigned lane, const Source& where);

// Gives way until wake() names the thread; `what` is said if that never happens.
void sleep(const char* what, const Source& where);
void wake(unsigned thread);
// What goes on by itself from now on comes to its end at any moment: then end() is called.
void begin_work(std::function<void()> end);

}  // namespace grid
