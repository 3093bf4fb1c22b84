// SPDX-License-Identifier: Apache-2.0
// All that the backend asks of a GPU and its driver, kernels apart: the tests put a simulated GPU
// in its place. Faults are Errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/driver/tensor_map.h"

struct CUstream_st;

namespace mt::cuda {

using Stream = CUstream_st*;

struct Properties {
  std::string name;    // "NVIDIA H100"
  int capability = 0;  // 90 for 9.0
  int processors = 1;
  size_t memory = 0;
  size_t shared_memory = 48 << 10;  // that a block can ask for
};

// Fails, saying why, when there is no GPU that can be used.
int device_count();
Properties properties(int device);
Stream make_stream(int device);
// A stream takes work only while its device is the calling thread's.
void use_device(int device);

void* allocate_memory(int device, size_t bytes);  // nullptr when there is none left
void free_memory(int device, void* memory);
// Tells whoever checks accesses which part of the allocated memory is in use.
void hand_out(void* memory, size_t bytes);
void take_back(void* memory);

// Host memory that a GPU reads directly.
void* allocate_pinned(size_t bytes);

// An array [batch, lines, line] of numbers of 16 bits, or of float32 that are rounded to TF32 on
// the way, of which bulk copies bring boxes of `box_lines` (bulk_copy.h), and what they find it by.
// Strides are in numbers, and multiples of 16 bytes.
struct BoxedArray {
  int64_t batch, lines, line, batch_stride, line_stride;
  int box_lines;
  int64_t outer = 0, outer_stride = 0;  // not 0: the array is [outer, batch, lines, line]
  int bytes_each = 2;
};
TensorMap tensor_map(const BoxedArray& array, void* data);

// In the stream's order. Host memory must stay as it is until the stream has come so far.
void copy_in(void* target, const void* source, size_t bytes, Stream stream);
void copy_out(void* target, const void* source, size_t bytes, Stream stream);
void copy_within(void* target, const void* source, size_t bytes, Stream stream);
// To a device from another; whether that is possible without passing through the host. The stream
// is one of the target's.
bool reaches(int from, int to);
void copy_between(void* target, int to, const void* source, int from, size_t bytes, Stream stream);
// All that is put into the stream between the two becomes a graph instead of running, which can be
// launched again and again. nullptr when something in it cannot be part of one.
struct LaunchGraph;
void begin_capture(Stream stream);
LaunchGraph* end_capture(Stream stream);
void launch_graph(LaunchGraph* graph, Stream stream);
void destroy_graph(LaunchGraph* graph);

// One stream waits for all that is in another now, which may be another library's and is on the
// device in use.
void wait_for(Stream waiting, Stream other);
// Waits for all work on the device, whoever's it is.
void synchronize_device(int device, const char* what);

// Waits for all of it. Fails when any work in it did; `what` is what the caller was doing.
void synchronize(Stream stream, const char* what);

// How long the device takes for what work() puts into the stream, in microseconds. Waits for it.
double time_on_device(Stream stream, const std::function<void()>& work);

// Generated kernels.
struct Kernel;
bool can_compile();
// The kernel `name` of a CUDA C text; fails with the compiler's words.
Kernel* compile(int device, const std::string& source, const char* name);
// With one parameter, a device address.
void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     size_t shared_bytes, Stream stream, const void* parameter);
// With a contraction and its operands, on Hopper.
void launch_compiled(Kernel* kernel, const char* name, unsigned blocks, unsigned threads,
                     size_t shared_bytes, Stream stream, const void* call, const TensorMap& a,
                     const TensorMap& b);

// Kernels of the user's own.
struct UserCode {
  Kernel* kernel;
  std::string type;  // of a pointer to the function, as C++ writes it
};
// Fails with the compiler's words, as the user's mistake.
UserCode compile_user(int device, const std::string& source, const char* name);
struct Geometry {
  unsigned grid[3], block[3];
  size_t shared_bytes;
};
struct Argument {
  void* memory;  // nullptr: a number, of at most 8 bytes
  size_t bytes;
  bool written;
  uint64_t number;
};
void launch_user(Kernel* kernel, const char* name, const Geometry& geometry, Stream stream,
                 const std::vector<Argument>& arguments);

// Fails when a launch did not succeed; `status` is the runtime's code.
void launched(const char* kernel, int status);

}  // namespace mt::cuda
