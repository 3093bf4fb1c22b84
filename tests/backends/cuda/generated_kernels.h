// SPDX-License-Identifier: Apache-2.0
// Kernels that are generated for fused groups give the CPU's bits, which are the interpreter's. The
// environment says how their text is compiled (simulator/driver.cpp).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "backends/cuda/simulated.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "ops/random.h"

namespace mt::testing {

namespace files = std::filesystem;

// Where the simulator leaves the texts.
inline std::string folder() {
  const char* chosen = std::getenv("MT_CUDA_SIMULATED_FOLDER");
  return chosen ? chosen : "";
}

class CudaGenerated : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    install_fusing_evaluator();
    if (!simulated::is_there()) return;  // NVRTC compiles
    files::remove_all(folder());
    files::create_directories(folder());
  }

  Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed = 1) {
    Graph wild;
    wild.family = Family::wild;  // infinities and NaN among them
    return source_value(wild, {shape, dtype, seed, false}, 0, device);
  }
  static int64_t texts() {
    if (!simulated::is_there()) return 0;
    return std::distance(files::directory_iterator(folder()), files::directory_iterator()) / 2;
  }

  // f's results, some of whose groups have texts that are new, or none. Of `products` a GPU's
  // tensor cores may give other last bits.
  template <class F>
  void expect_the_same(bool fresh, F&& f, const char* cuda = "cuda:0", bool products = false) {
    int64_t before = texts();
    auto run = [&](const char* device) {
      GradientMode no_history(false);
      Generator::use(Ref<Generator>(new Generator(5)));
      std::vector<Tensor> results = f(find_device(device));
      evaluate(results.data(), results.size());
      Generator::use(nullptr);
      return values_of(results);
    };
    std::vector<Value> ours = run(cuda);
    if (simulated::is_there()) {
      EXPECT_EQ(texts() > before, fresh);
      products = false;
    }
    EXPECT_EQ((products ? rough_difference : difference)(ours, run("cpu")), "");
  }
};

}  // namespace mt::testing
