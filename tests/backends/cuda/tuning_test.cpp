// SPDX-License-Identifier: Apache-2.0
// Every kernel that can make a contraction gives the CPU's bits when a file chooses it, and is
// chosen by measurement when the simulated clock says that it is the fastest.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backends/cuda/simulated.h"
#include "backends/devices.h"
#include "base/error.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "ops/ops.h"
#include "ops/precision.h"

namespace mt::testing {
namespace {

namespace files = std::filesystem;

class CudaTuning : public ::testing::Test {
 protected:
  void SetUp() override {
    install_fusing_evaluator();
    folder_ = files::temp_directory_path() / ("mtorch_tuned_" + std::to_string(getpid()));
    files::create_directories(folder_);
  }
  void TearDown() override {
    unsetenv("MT_CUDA_TUNE");
    unsetenv("MT_CUDA_TUNED");
    set_matmul_precision(Precision::strict);
    simulated::fast_work() = "";
    files::remove_all(folder_);
  }
  // A file is read once, and a plan keeps what it chose: each has its own, and its own sizes.
  std::string fresh_file() {
    static int count = 0;
    return folder_ / std::to_string(count++);
  }
  static std::string contents(const std::string& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  static Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed) {
    Graph tame;
    return source_value(tame, {shape, dtype, seed, false}, 0, device);
  }
  // A layer, so that something follows from the product.
  static Tensor layer(const Shape& sizes, Dtype dtype, Device& device) {
    Tensor x = numbers({sizes[0], sizes[1]}, dtype, device, 1),
           w = numbers({sizes[1], sizes[2]}, dtype, device, 2);
    return gelu(matmul(x, w) + numbers({sizes[2]}, dtype, device, 3));
  }
  // Whether it has the CPU's bits, and how often the kernel of that name ran; as for that a GPU,
  // whose tensor cores may have other last bits, is believed.
  template <class F>
  int runs_of(const std::string& kernel, const char* device, F&& f) {
    simulated::fast_work() = kernel;
    double before = simulated::clock();
    Value ours = value_of(f(find_device(device)));
    double passed = simulated::clock() - before;  // 1 for each of those, 10 for all others
    const bool counts = simulated::is_there();
    EXPECT_EQ((counts ? difference : rough_difference)({ours}, {value_of(f(find_device("cpu")))}),
              "")
        << kernel;
    return counts ? static_cast<int>(passed) % 10 : !kernel.empty();
  }

  static float largest_difference(const Value& a, const Value& b) {
    float largest = 0;
    for (size_t i = 0; i < a.bytes.size(); i += sizeof(float)) {
      float x, y;
      std::memcpy(&x, a.bytes.data() + i, sizeof x);
      std::memcpy(&y, b.bytes.data() + i, sizeof y);
      largest = std::max(largest, std::abs(x - y));
    }
    return largest;
  }

  files::path folder_;
};

struct Case {
  const char *name, *launched;
};
constexpr Case tiles[] = {{"tile_32x32", "contract 32x32"},
                          {"tile_64x64", "contract 64x64"},
                          {"tile_128x128", "contract 128x128"},
                          {"tile_256x16", "contract 256x16"},
                          {"tile_16x256", "contract 16x256"}};
constexpr Case on_units[] = {{"mma_128x128", "contract half"},
                             {"hopper_128x128", "contract hopper 128x128"},
                             {"hopper_128x256", "contract hopper 128x256"},
                             {"cublaslt", "cublaslt"},
                             {"tile_64x64", "contract"}};

TEST_F(CudaTuning, AFileChoosesTheKernel) {
  const std::string file = fresh_file();
  std::ofstream out(file);
  out << "mtorch products 1\n";
  for (int64_t i = 0; i < 5; ++i) out << "any GPU: m=" << 40 + i << " -> " << tiles[i].name << "\n";
  for (int64_t i = 0; i < 5; ++i) {
    out << (simulated::is_there() ? "grid simulator" : "any GPU") << ": m=" << 72 + 8 * i
        << " numbers=bfloat16 -> " << on_units[i].name << "\n";
  }
  out << "another GPU: -> tile_64x64\n";
  out.close();
  setenv("MT_CUDA_TUNED", file.c_str(), 1);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(runs_of(tiles[i].launched, "cuda:0",
                      [&](Device& d) {
                        return layer({40 + i, 30, 36}, Dtype::float32, d);
                      }),
              1)
        << tiles[i].name;
  }
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(runs_of(on_units[i].launched, simulated::hopper(),
                      [&](Device& d) {
                        return layer({72 + 8 * i, 64, 80}, Dtype::bfloat16, d);
                      }),
              1)
        << on_units[i].name;
  }
  // A kernel that cannot make it is none: this is no matrix of 16-bit floats, nor a Hopper.
  EXPECT_EQ(runs_of("contract half", "cuda:0",
                    [&](Device& d) {
                      return layer({80, 64, 80}, Dtype::bfloat16, d);
                    }),
            1);
}

TEST_F(CudaTuning, TheClockChooses) {
  MT_NEEDS_SIMULATOR();
  const std::string file = fresh_file();
  setenv("MT_CUDA_TUNE", file.c_str(), 1);
  for (int64_t i = 0; i < 5; ++i) {
    auto f = [&](Device& d) { return layer({50 + i, 9, 36}, Dtype::float32, d); };
    EXPECT_NE(runs_of(tiles[i].launched, "cuda:0", f), 0);
    EXPECT_NE(contents(file).find("grid simulator: numbers=float32 result=float32 mode=strict "
                                  "batch=1 m=" +
                                  std::to_string(50 + i) + " n=36 k=9 a=along_k b=along_rows -> " +
                                  tiles[i].name + " (1.0 us)\n"),
              std::string::npos)
        << contents(file);
    // It is not measured again, by this plan or another.
    EXPECT_EQ(runs_of(tiles[i].launched, "cuda:0", f), 1);
    EXPECT_EQ(runs_of(tiles[i].launched, "cuda:0", [&](Device& d) { return relu(f(d)); }), 1);
  }
  // And read by another device of that name.
  const std::string measured = contents(file);
  unsetenv("MT_CUDA_TUNE");
  setenv("MT_CUDA_TUNED", file.c_str(), 1);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(runs_of(tiles[i].launched, "cuda:1",
                      [&](Device& d) {
                        return layer({50 + i, 9, 36}, Dtype::float32, d);
                      }),
              1);
  }
  EXPECT_EQ(contents(file), measured);
}

// What follows from a product may overwrite what it reads, and is done once.
TEST_F(CudaTuning, MeasuresOnTensorCores) {
  const std::string file = fresh_file();
  setenv("MT_CUDA_TUNE", file.c_str(), 1);
  for (int64_t i = 0; i < 5; ++i) {
    runs_of(on_units[i].launched, simulated::hopper(), [&](Device& d) {
      return layer({64, 64, 64 + 8 * i}, Dtype::float16, d);
    });
    std::string line = "n=" + std::to_string(64 + 8 * i) + " k=64 a=along_k b=along_rows -> ";
    if (simulated::is_there()) line += std::string(on_units[i].name) + " (";
    EXPECT_NE(contents(file).find(line), std::string::npos) << contents(file);
  }
}

TEST_F(CudaTuning, MeasuresWindowsBatchesAndModes) {
  MT_NEEDS_SIMULATOR();
  const std::string file = fresh_file();
  setenv("MT_CUDA_TUNE", file.c_str(), 1);
  runs_of("contract 32x32", "cuda:0", [&](Device& d) {
    Tensor x = numbers({2, 3, 9, 8}, Dtype::float32, d, 1),
           weight = numbers({5, 3, 3, 2}, Dtype::float32, d, 2);
    return convolution(x, weight, numbers({5}, Dtype::float32, d, 3), {{2, 1}, {1, 1}, {1, 1}, {}});
  });
  EXPECT_NE(contents(file).find("b=gathered -> tile_32x32"), std::string::npos) << contents(file);
  runs_of("contract 32x32", "cuda:0", [&](Device& d) {
    return matmul(numbers({3, 20, 17}, Dtype::float32, d, 1),
                  numbers({3, 17, 30}, Dtype::float32, d, 2));
  });
  EXPECT_NE(contents(file).find("batch=3 m=20 n=30 k=17"), std::string::npos) << contents(file);
  // One that a single kernel can make is not measured.
  const std::string before = contents(file);
  runs_of("contract", "cuda:0", [&](Device& d) { return layer({9, 20, 7}, Dtype::float64, d); });
  runs_of("contract lanes", "cuda:0", [&](Device& d) {
    return layer({2, 100, 7}, Dtype::float32, d);
  });
  runs_of("contract", "cuda:0", [&](Device& d) { return layer({9, 0, 7}, Dtype::float32, d); });
  EXPECT_EQ(contents(file), before);

  auto in_mode = [&](Precision mode, const char* kernel) {
    set_matmul_precision(mode);
    simulated::fast_work() = kernel;
    return value_of(layer({32, 36, 40}, Dtype::float32, find_device("cuda:0")));
  };
  Value tf32 = in_mode(Precision::tf32, "contract tf32");
  EXPECT_NE(contents(file).find("mode=tf32 batch=1 m=32 n=40 k=36 a=along_k b=along_rows -> "
                                "mma_128x128"),
            std::string::npos)
      << contents(file);
  unsetenv("MT_CUDA_TUNE");
  set_matmul_precision(Precision::tf32);
  EXPECT_EQ(
      difference({tf32}, {value_of(layer({32, 36, 40}, Dtype::float32, find_device("cuda:1")))}),
      "");
}

// What a precision mode has split goes to the kernel that the file says, what it refuses to
// another.
TEST_F(CudaTuning, AFileChoosesForSplitNumbers) {
  const std::string file = fresh_file();
  std::ofstream(file) << "mtorch products 1\n"
                         "any GPU: mode=split n=128 -> hopper_128x128\n"
                         "any GPU: mode=split n=136 -> mma_128x128\n"
                         "any GPU: mode=split -> tile_32x32\n";
  setenv("MT_CUDA_TUNED", file.c_str(), 1);
  const std::pair<int64_t, const char*> chosen[] = {{128, "contract hopper 128x128"},
                                                    {136, "contract 32x32"}};
  for (auto [n, kernel] : chosen) {
    set_matmul_precision(Precision::split);
    simulated::fast_work() = kernel;
    double before = simulated::clock();
    Device& d = find_device(simulated::hopper());
    Tensor a = numbers({128, 128}, Dtype::float32, d, 1),
           b = numbers({128, n}, Dtype::float32, d, 2);
    Value split = value_of(matmul(a, b));
    if (simulated::is_there()) {
      EXPECT_EQ(static_cast<int>(simulated::clock() - before) % 10, 1) << kernel;
    }
    set_matmul_precision(Precision::strict);
    unsetenv("MT_CUDA_TUNED");
    EXPECT_LT(largest_difference(split, value_of(matmul(a, b))), 1e-4);
    setenv("MT_CUDA_TUNED", file.c_str(), 1);
  }
}

TEST_F(CudaTuning, AFileThatIsWrongIsAnError) {
  const std::string file = fresh_file(), text = "mtorch products 1\nany GPU: m=61 - tile_32x32\n";
  std::ofstream(file) << text;
  Tensor x = numbers({61, 20}, Dtype::float32, find_device("cuda:0"), 1);
  for (const char* name : {"MT_CUDA_TUNED", "MT_CUDA_TUNE"}) {
    setenv(name, file.c_str(), 1);
    for (int again = 0; again < 2; ++again) {
      try {
        value_of(matmul(x, transpose(x)));
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::io);
        EXPECT_NE(std::string(error.what()).find(name + (": " + file) + ": line 2: "),
                  std::string::npos)
            << error.what();
      }
    }
    unsetenv(name);
  }
  EXPECT_EQ(contents(file), text);
  EXPECT_EQ(runs_of("", "cuda:0",
                    [&](Device& d) {
                      Tensor y = numbers({61, 20}, Dtype::float32, d, 1);
                      return matmul(y, transpose(y));
                    }),
            0);
}

}  // namespace
}  // namespace mt::testing
