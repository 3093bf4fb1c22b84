// SPDX-License-Identifier: Apache-2.0
// How close contractions come to what the machine can do: for each shape GFLOP/s beside the peak of
// fused multiply-adds, or GB/s beside a plain read of memory, measured in turn on the same threads,
// so that a busy machine slows both. Usage: contract_peak [threads] [part of a name]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/instruction_set.h"
#include "burn.h"

namespace {

using namespace mt;

double now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of one thread its processor time, which others on the machine do not lengthen.
double seconds(int threads, auto&& work) {
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  double begin = now(clock);
  work();
  return now(clock) - begin;
}

// FLOP/s of float32 on all threads.
double peak(int threads) {
  double flops = 0;
  double time = seconds(threads, [&] {
    cpu::parallel_for(threads, 1, [&](int64_t begin, int64_t) {
      double mine = burn();
      if (begin == 0) flops = mine;
    });
  });
  return flops * threads / time;
}

// Bytes per second of reading memory in four streams for each thread.
double read_rate(const char* data, size_t bytes, int threads) {
  const int64_t part = static_cast<int64_t>(bytes / 256 / static_cast<size_t>(threads)) * 64;
  double time = seconds(threads, [&] {
    cpu::parallel_for(threads, 1, [&](int64_t begin, int64_t) {
      const char* p = data + begin * part * 4;
      int sum = 0;
      for (int64_t i = 0; i < part; i += 64) {
        for (int64_t s = 0; s < 4; ++s) sum += p[s * part + i];
      }
      asm volatile("" ::"r"(sum));
    });
  });
  return static_cast<double>(part) * 4 * threads / time;
}

struct Buffer {
  char* data;
  explicit Buffer(size_t bytes)
      : data(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
    std::memset(data, 0, bytes);
  }
  ~Buffer() { std::free(data); }
};

struct Case {
  std::string name;
  Contraction contraction;
  bool memory = false;  // judged by bandwidth
};

// layout: n as written, t transposed, for a [m, k] and b [k, n].
Contraction product(int64_t batch, int64_t m, int64_t n, int64_t k, const char* layout,
                    Dtype dtype = Dtype::float32) {
  const bool a_along_k = layout[0] == 'n', b_along_k = layout[1] == 't';
  return {{{batch, m * k, n * k}},
          {{m, a_along_k ? k : 1, 0}},
          {{n, 0, b_along_k ? k : 1}},
          {{k, a_along_k ? 1 : m, b_along_k ? 1 : n}},
          dtype,
          dtype,
          dtype};
}

// A two-dimensional convolution as ops/convolution.cpp writes it, over an input that has its
// padding: [images, channels, size, size] to [images, outputs, places, places].
struct Convolution {
  int64_t images, channels, outputs, size, kernel, stride = 1, groups = 1;
  int64_t places() const { return (size - kernel) / stride + 1; }

  Contraction forward(bool flipped = false) const {
    const int64_t c = channels / groups, o = outputs / groups, area = kernel * kernel, p = places();
    const int64_t plane = size * size, step = flipped ? -1 : 1;
    return {
        {{images, 0, channels * plane}, {groups, o * c * area, c * plane}},
        {{o, flipped ? area : c * area, 0}},
        {{p, 0, stride * size}, {p, 0, stride}},
        {{c, flipped ? o * area : area, plane}, {kernel, step * kernel, size}, {kernel, step, 1}},
        Dtype::float32,
        Dtype::float32,
        Dtype::float32};
  }
  Contraction weight_gradient() const {
    const int64_t c = channels / groups, o = outputs / groups, p = places(), plane = size * size;
    return {{{groups, o * p * p, c * plane}},
            {{o, p * p, 0}},
            {{c, 0, plane}, {kernel, 0, size}, {kernel, 0, 1}},
            {{images, outputs * p * p, channels * plane}, {p, p, stride * size}, {p, 1, stride}},
            Dtype::float32,
            Dtype::float32,
            Dtype::float32};
  }
};

int64_t size_of_dims(const std::vector<ContractionDim>& dims) {
  int64_t size = 1;
  for (const ContractionDim& dim : dims) size *= dim.size;
  return size;
}
// The elements of an operand and where the one with all indices zero lies among them.
struct Extent {
  size_t count;
  int64_t zero;
};
Extent extent(const Contraction& c, int64_t ContractionDim::*stride) {
  int64_t low = 0, high = 0;
  for (auto* dims : {&c.batch, &c.m, &c.n, &c.k}) {
    for (const ContractionDim& dim : *dims) {
      int64_t last = (dim.size - 1) * (dim.*stride);
      (last < 0 ? low : high) += last;
    }
  }
  return {static_cast<size_t>(high - low + 1), -low};
}

void fill(char* data, size_t count, Dtype dtype) {
  for (size_t i = 0; i < count; ++i) {
    float value = static_cast<float>(i * 2654435761u >> 20 & 1023) * 1e-3f - 0.5f;
    if (dtype == Dtype::float32) reinterpret_cast<float*>(data)[i] = value;
    if (dtype == Dtype::float64) reinterpret_cast<double*>(data)[i] = value;
    if (size_of(dtype) == 2) reinterpret_cast<uint16_t*>(data)[i] = 0x3f80;
  }
}

void run(const Case& c, int threads) {
  const Contraction& contraction = c.contraction;
  const Dtype dtype = contraction.out;
  const size_t size = size_of(dtype);
  const auto [a_count, a_zero] = extent(contraction, &ContractionDim::a_stride);
  const auto [b_count, b_zero] = extent(contraction, &ContractionDim::b_stride);
  const int64_t outputs =
      size_of_dims(contraction.batch) * size_of_dims(contraction.m) * size_of_dims(contraction.n);
  const size_t out_count = static_cast<size_t>(outputs);
  Buffer a(a_count * size), b(b_count * size), out(out_count * size);
  fill(a.data, a_count, dtype);
  fill(b.data, b_count, dtype);
  const cpu::PreparedContraction prepared(contraction, threads);
  Buffer scratch(prepared.scratch() + 64);
  const char* a_data = a.data + static_cast<size_t>(a_zero) * size;
  const char* b_data = b.data + static_cast<size_t>(b_zero) * size;
  auto once = [&] { prepared.run(a_data, b_data, out.data, scratch.data); };
  const size_t largest_count = std::max({a_count, b_count, out_count});
  const Buffer& largest = a_count == largest_count ? a : b_count == largest_count ? b : out;
  const double flops =
      2.0 * static_cast<double>(outputs) * static_cast<double>(size_of_dims(contraction.k));
  const double bytes = static_cast<double>((a_count + b_count + out_count) * size);
  const double work = c.memory ? bytes : flops;
  const int repeats = std::max(1, static_cast<int>(2e7 / flops));
  once();
  double best = 1e9, limit = 0;
  std::vector<double> shares;
  const double end = now() + 0.25;
  do {
    double rate = c.memory ? read_rate(largest.data, largest_count * size, threads)
                           : peak(threads) * (dtype == Dtype::float64 ? 0.5 : 1);
    double time = seconds(threads,
                          [&] {
                            for (int i = 0; i < repeats; ++i) once();
                          }) /
                  repeats;
    best = std::min(best, time);
    limit = std::max(limit, rate);
    shares.push_back(work / time / rate);
  } while (now() < end || shares.size() < 5);
  std::sort(shares.begin(), shares.end());
  std::printf(
      "%-40s %d %10.2f us %7.1f GFLOP/s %6.1f GB/s  %s %5.1f: best %3.0f %%, median %3.0f %%\n",
      c.name.c_str(), threads, best * 1e6, flops / best * 1e-9, bytes / best * 1e-9,
      c.memory ? "read" : "peak", limit * 1e-9, 100 * work / best / limit,
      100 * shares[shares.size() / 2]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  cpu::choose_instruction_set();
  const int threads = argc > 1 ? std::atoi(argv[1]) : cpu::thread_count();
  const char* only = argc > 2 ? argv[2] : "";
  const Dtype f64 = Dtype::float64;
  std::vector<Case> cases;
  for (int64_t n : {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}) {
    cases.push_back({"square nn " + std::to_string(n), product(1, n, n, n, "nn")});
  }
  for (int64_t n : {64, 512}) {
    for (const char* layout : {"nt", "tn", "tt"}) {
      cases.push_back(
          {"square " + std::string(layout) + " " + std::to_string(n), product(1, n, n, n, layout)});
    }
  }
  for (int64_t n : {16, 64, 512, 1024}) {
    cases.push_back({"float64 nn " + std::to_string(n), product(1, n, n, n, "nn", f64)});
  }
  cases.push_back({"bfloat16 nn 512", product(1, 512, 512, 512, "nn", Dtype::bfloat16)});
  cases.push_back({"batched 64 x 128x64 64x128", product(64, 128, 128, 64, "nn")});
  cases.push_back({"layer 256x1024 1024x1024 nt", product(1, 256, 1024, 1024, "nt")});
  for (auto [in, out] : {std::pair{2, 100}, {100, 100}, {100, 1}}) {
    const std::string text = "tiny 10x" + std::to_string(in) + "x" + std::to_string(out);
    cases.push_back({text, product(1, 10, out, in, "nt")});
    cases.push_back({text + " dx", product(1, 10, in, out, "nn")});
    cases.push_back({text + " dw", product(1, out, in, 10, "tn")});
  }
  cases.push_back({"layer 128x784 784x100 nt", product(1, 128, 100, 784, "nt")});
  cases.push_back({"layer dW 784x128 128x100 tn", product(1, 784, 100, 128, "tn")});
  cases.push_back({"skinny 50000x784 784x10 nn", product(1, 50000, 10, 784, "nn"), true});
  cases.push_back({"skinny 50000x784 784x10 nt", product(1, 50000, 10, 784, "nt"), true});
  cases.push_back({"skinny dX 50000x10 10x784 nn", product(1, 50000, 784, 10, "nn"), true});
  cases.push_back({"skinny dW 784x50000 50000x10 tn", product(1, 784, 10, 50000, "tn"), true});
  cases.push_back({"skinny dW 10x50000 50000x784 tn", product(1, 10, 784, 50000, "tn"), true});
  cases.push_back({"matrix-vector 4096 n", product(1, 4096, 1, 4096, "nt"), true});
  cases.push_back({"matrix-vector 4096 t", product(1, 4096, 1, 4096, "tt"), true});
  cases.push_back({"vector-matrix 4096 n", product(1, 1, 4096, 4096, "nn"), true});
  cases.push_back({"vector-matrix 4096 t", product(1, 1, 4096, 4096, "nt"), true});
  cases.push_back({"dot 10M", product(1, 1, 1, 10000000, "nt"), true});
  const Convolution layer{32, 64, 64, 58, 3}, first{64, 1, 6, 32, 5}, second{64, 6, 16, 14, 5};
  const Convolution deep{8, 256, 256, 16, 3}, halving{32, 64, 128, 58, 3, 2};
  const Convolution depthwise{32, 64, 64, 58, 3, 1, 64};
  for (auto& [name, convolution] : {std::pair{"3x3, 64 channels, 56x56", layer},
                                    {"LeNet 1", first},
                                    {"LeNet 2", second},
                                    {"3x3, 256 channels, 14x14", deep},
                                    {"3x3, 64 channels, stride 2", halving},
                                    {"depthwise 3x3", depthwise}}) {
    const std::string text = std::string("convolution ") + name;
    cases.push_back({text, convolution.forward()});
    if (convolution.stride == 1) cases.push_back({text + " dx", convolution.forward(true)});
    cases.push_back({text + " dw", convolution.weight_gradient()});
  }
  for (const Case& c : cases) {
    if (c.name.find(only) != std::string::npos) run(c, threads);
  }
}
