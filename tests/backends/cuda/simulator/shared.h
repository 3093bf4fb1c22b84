// SPDX-License-Identifier: Apache-2.0
// The block's shared memory, and the copies into it that arrive when a thread waits for them.
#pragma once

#include "backends/cuda/simulator/memory.h"

namespace grid {

// A block of so many threads begins.
void start_shared(size_t bytes, unsigned threads);
// A thread has come to its end; faults when copies of it are under way.
void end_copies(unsigned thread);

// What is at `offset`, for reading or writing.
const void* shared_readable(size_t offset, size_t bytes, const Source& where);
void* shared_writable(size_t offset, size_t bytes, const Source& where);

// `source` nullptr for zeros.
void begin_copy(size_t offset, const void* source, size_t bytes, const Source& where);
void commit_copies();
void wait_for_copies(unsigned groups_left, const Source& where);

// For what works by itself (async.h). From the first time on, who is ordered after whom is a
// question of clocks.
void track_by_clocks();
// Nothing may be read there until settle(), which says by whose deed the bytes have come.
void begin_arrival(size_t offset, size_t bytes, const Source& where);
void settle(size_t offset, const void* from, size_t bytes, const Moment& by);
// Where the bytes are, unchecked: of what has been checked with shared_readable().
const char* shared_bytes(size_t offset);

}  // namespace grid
