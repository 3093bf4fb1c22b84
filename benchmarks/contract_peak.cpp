// SPDX-License-Identifier: Apache-2.0
// How close contractions come to what the machine can do: for each shape GFLOP/s beside the peak of
// fused multiply-adds, or GB/s beside a plain read of memory, measured in turn on the same threads,
// so that a busy machine slows both. Usage: contract_peak [threads] [part of a name]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/contract/contract.h"
#include "burn.h"

namespace {

using namespace mt;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds(auto&& work) {
  double begin = now();
  work();
  return now() - begin;
}

// FLOP/s of float32 on all threads.
double peak(int threads) {
  double flops = 0;
  double time = seconds([&] {
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
  double time = seconds([&] {
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
  int64_t batch, m, n, k;
  const char* layout;  // n: as written, t: transposed, for a [m, k] and b [k, n]
  Dtype dtype = Dtype::float32;
  bool memory = false;  // judged by bandwidth
};

void fill(char* data, size_t count, Dtype dtype) {
  for (size_t i = 0; i < count; ++i) {
    float value = static_cast<float>(i * 2654435761u >> 20 & 1023) * 1e-3f - 0.5f;
    if (dtype == Dtype::float32) reinterpret_cast<float*>(data)[i] = value;
    if (dtype == Dtype::float64) reinterpret_cast<double*>(data)[i] = value;
    if (size_of(dtype) == 2) reinterpret_cast<uint16_t*>(data)[i] = 0x3f80;
  }
}

void run(const Case& c, int threads) {
  const bool a_along_k = c.layout[0] == 'n', b_along_k = c.layout[1] == 't';
  Contraction contraction{{{c.batch, c.m * c.k, c.n * c.k}},
                          {{c.m, a_along_k ? c.k : 1, 0}},
                          {{c.n, 0, b_along_k ? c.k : 1}},
                          {{c.k, a_along_k ? 1 : c.m, b_along_k ? 1 : c.n}},
                          c.dtype,
                          c.dtype,
                          c.dtype};
  const size_t size = size_of(c.dtype);
  const size_t a_count = static_cast<size_t>(c.batch * c.m * c.k);
  const size_t b_count = static_cast<size_t>(c.batch * c.n * c.k);
  const size_t out_count = static_cast<size_t>(c.batch * c.m * c.n);
  Buffer a(a_count * size), b(b_count * size), out(out_count * size);
  fill(a.data, a_count, c.dtype);
  fill(b.data, b_count, c.dtype);
  Buffer scratch(cpu::contract_scratch(contraction, threads) + 64);
  auto once = [&] {
    cpu::contract(contraction, a.data, b.data, out.data, scratch.data, nullptr, threads);
  };
  const size_t largest_count = std::max({a_count, b_count, out_count});
  const Buffer& largest = a_count == largest_count ? a : b_count == largest_count ? b : out;
  const double flops = 2.0 * static_cast<double>(c.batch * c.m) * static_cast<double>(c.n * c.k);
  const double bytes = static_cast<double>((a_count + b_count + out_count) * size);
  const double work = c.memory ? bytes : flops;
  const int repeats = std::max(1, static_cast<int>(2e7 / flops));
  once();
  double best = 1e9, limit = 0;
  std::vector<double> shares;
  const double end = now() + 0.25;
  do {
    double rate = c.memory ? read_rate(largest.data, largest_count * size, threads)
                           : peak(threads) * (c.dtype == Dtype::float64 ? 0.5 : 1);
    double time = seconds([&] {
                    for (int i = 0; i < repeats; ++i) once();
                  }) /
                  repeats;
    best = std::min(best, time);
    limit = std::max(limit, rate);
    shares.push_back(work / time / rate);
  } while (now() < end || shares.size() < 5);
  std::sort(shares.begin(), shares.end());
  std::printf(
      "%-34s %d %10.2f us %7.1f GFLOP/s %6.1f GB/s  %s %5.1f: best %3.0f %%, median %3.0f %%\n",
      c.name.c_str(), threads, best * 1e6, flops / best * 1e-9, bytes / best * 1e-9,
      c.memory ? "read" : "peak", limit * 1e-9, 100 * work / best / limit,
      100 * shares[shares.size() / 2]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : cpu::thread_count();
  const char* only = argc > 2 ? argv[2] : "";
  const Dtype f64 = Dtype::float64;
  std::vector<Case> cases;
  for (int64_t n : {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}) {
    cases.push_back({"square nn " + std::to_string(n), 1, n, n, n, "nn"});
  }
  for (int64_t n : {64, 512}) {
    for (const char* layout : {"nt", "tn", "tt"}) {
      cases.push_back(
          {"square " + std::string(layout) + " " + std::to_string(n), 1, n, n, n, layout});
    }
  }
  for (int64_t n : {16, 64, 512, 1024}) {
    cases.push_back({"float64 nn " + std::to_string(n), 1, n, n, n, "nn", f64});
  }
  cases.push_back({"bfloat16 nn 512", 1, 512, 512, 512, "nn", Dtype::bfloat16});
  cases.push_back({"batched 64 x 128x64 64x128", 64, 128, 128, 64, "nn"});
  cases.push_back({"layer 256x1024 1024x1024 nt", 1, 256, 1024, 1024, "nt"});
  cases.push_back({"layer 128x784 784x100 nt", 1, 128, 100, 784, "nt"});
  cases.push_back({"layer dW 784x128 128x100 tn", 1, 784, 100, 128, "tn"});
  cases.push_back({"skinny 50000x784 784x10 nn", 1, 50000, 10, 784, "nn", Dtype::float32, true});
  cases.push_back({"skinny 50000x784 784x10 nt", 1, 50000, 10, 784, "nt", Dtype::float32, true});
  cases.push_back({"skinny dX 50000x10 10x784 nn", 1, 50000, 784, 10, "nn", Dtype::float32, true});
  cases.push_back(
      {"skinny dW 784x50000 50000x10 tn", 1, 784, 10, 50000, "tn", Dtype::float32, true});
  cases.push_back(
      {"skinny dW 10x50000 50000x784 tn", 1, 10, 784, 50000, "tn", Dtype::float32, true});
  cases.push_back({"matrix-vector 4096 n", 1, 4096, 1, 4096, "nt", Dtype::float32, true});
  cases.push_back({"matrix-vector 4096 t", 1, 4096, 1, 4096, "tt", Dtype::float32, true});
  cases.push_back({"vector-matrix 4096 n", 1, 1, 4096, 4096, "nn", Dtype::float32, true});
  cases.push_back({"vector-matrix 4096 t", 1, 1, 4096, 4096, "nt", Dtype::float32, true});
  cases.push_back({"dot 10M", 1, 1, 1, 10000000, "nt", Dtype::float32, true});
  for (const Case& c : cases) {
    if (c.name.find(only) != std::string::npos) run(c, threads);
  }
}
