// SPDX-License-Identifier: Apache-2.0
// Runs a grid of blocks of threads on one core, each thread a fiber that runs until it has to wait
// for others. Blocks and threads run in a shuffled order, so that nothing can rely on one.
#pragma once

#include <cstddef>
#include <cstdint>

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
// Waits until all lanes of `mask` have come here; then lane l's bytes are exchanged(l).
void exchange(uint32_t mask, const void* bytes, size_t size, const Source& where);
const void* exchanged(unsigned lane, const Source& where);

// The block's shared memory: what is at `offset`, for reading or writing.
const void* shared_readable(size_t offset, size_t bytes, const Source& where);
void* shared_writable(size_t offset, size_t bytes, const Source& where);

// Copies into shared memory that arrive when the thread waits for them; `source` nullptr for zeros.
void begin_copy(size_t offset, const void* source, size_t bytes, const Source& where);
void commit_copies();
void wait_for_copies(unsigned groups_left, const Source& where);

}  // namespace grid
