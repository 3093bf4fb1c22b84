// SPDX-License-Identifier: Apache-2.0
// Random tensors. Element i of a draw is a pure function of seed, stream and i, and every draw
// takes a stream of its own, so numbers depend neither on threads nor on the device.
#pragma once

#include <atomic>
#include <exception>

#include "graph/trace_log.h"
#include "ops/ops.h"

namespace mt {

class Generator final : public StreamSource {
 public:
  explicit Generator(uint64_t seed) : seed_(seed) {}

  // The calling thread's current one; at first its own.
  static Generator& current();
  // Restarts it. Threads that draw for the first time later begin so too; at first with 0.
  static void seed(uint64_t seed);
  // nullptr: the thread's own. Gives back what was used before.
  static Ref<Generator> use(Ref<Generator> generator);
  // How often the calling thread has drawn, from whichever.
  static uint64_t draws();

  Immediates draw() override { return {{seed_.load(), stream_.fetch_add(1)}}; }
  void take_back(uint64_t first, uint64_t count) override {
    uint64_t expected = first + count;
    stream_.compare_exchange_strong(expected, first);
  }
  Immediates state() const { return {{seed_.load(), stream_.load()}}; }
  void set_state(const Immediates& state) {
    seed_ = state.value[0];
    stream_ = state.value[1];
  }

 private:
  std::atomic<uint64_t> seed_, stream_{0};
};

// The draws from the current generator while this lives, whoever makes them: none, if that ends by
// an error.
class Draws {
 public:
  Draws() = default;
  Draws(const Draws&) = delete;
  ~Draws();
  // Uniform in [0, 1) for float32 and float64, 32 random bits for uint32.
  Tensor operator()(const Shape& shape, Dtype dtype, Device& device);

 private:
  Generator& generator_ = Generator::current();
  const uint64_t first_ = generator_.state().value[1], before_ = Generator::draws();
  const int failing_ = std::uncaught_exceptions();
};

// From the current generator.
Tensor uniform(const Shape& shape, double low, double high, Dtype dtype, Device& device);
Tensor normal(const Shape& shape, double mean, double deviation, Dtype dtype, Device& device);
Tensor integers(const Shape& shape, int64_t low, int64_t high, Dtype dtype, Device& device);
Tensor bernoulli(const Shape& shape, double probability, Dtype dtype, Device& device);
Tensor permutation(int64_t n, Device& device);
Tensor categorical(const Tensor& logits, int64_t axis);
Tensor dropout(const Tensor& x, double probability, bool training);

}  // namespace mt
