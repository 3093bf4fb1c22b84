// SPDX-License-Identifier: Apache-2.0
// Tables of kernels as text, and the file that measurements are saved to. Needs no GPU.
#include "backends/cuda/contract/kernel_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/cuda/contract/contract_kernels.h"
#include "backends/cuda/contract/prepare_contract.h"
#include "backends/cuda/contract/tuning.h"
#include "base/error.h"

namespace mt::cuda {
namespace {

namespace files = std::filesystem;

const std::vector<std::string> all_kernels = {
    "lanes",       "tile_32x32",  "tile_64x64",     "tile_128x128",   "tile_256x16",
    "tile_16x256", "mma_128x128", "hopper_128x128", "hopper_128x256", "cublaslt"};

Contraction product(int64_t m, int64_t n, int64_t k, Dtype dtype = Dtype::float32) {
  return {{}, {{m, k, 0}}, {{n, 0, 1}}, {{k, 1, n}}, dtype, dtype, dtype};
}
Facts facts_of(const Contraction& c, int64_t processors = 132) {
  return contraction_facts(c, contraction_shape(c), processors).all;
}

std::string with_heading(const std::string& lines) {
  return std::string(table_heading) + "\n" + lines;
}
// What a table of these lines says for the product.
std::string found(const std::string& lines, const Contraction& c, const char* device = "ours",
                  const std::vector<std::string>& kernels = all_kernels) {
  return KernelTable(with_heading(lines), "table").find(device, facts_of(c), kernels);
}

std::string error_of(const std::string& text) {
  try {
    KernelTable table(text, "some.txt");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::io);
    return error.what();
  }
}

TEST(KernelTable, TakesTheFirstLineThatFits) {
  const char* lines =
      "# for ours\n"
      "\n"
      "ours: m=100 n>=50 k<=7 -> tile_32x32 (12.5 us)\n"
      "  other GPU 80GB :  -> tile_16x256 # theirs\n"
      "any GPU: a=along_k b=along_rows numbers=float32 mode=strict -> tile_256x16\n"
      "any GPU: -> mma_128x128\r\n"
      "any GPU: -> tile_64x64\n";
  EXPECT_EQ(found(lines, product(100, 50, 7)), "tile_32x32");
  EXPECT_EQ(found(lines, product(101, 50, 7)), "tile_256x16");
  EXPECT_EQ(found(lines, product(100, 49, 7)), "tile_256x16");
  EXPECT_EQ(found(lines, product(100, 50, 8)), "tile_256x16");
  EXPECT_EQ(found(lines, product(100, 50, 7), "other GPU 80GB"), "tile_16x256");
  EXPECT_EQ(found(lines, product(100, 50, 7, Dtype::bfloat16)), "tile_32x32");
  EXPECT_EQ(found(lines, product(1, 50, 7, Dtype::bfloat16)), "mma_128x128");
  EXPECT_EQ(found(lines, product(1, 50, 7, Dtype::float64), "ours", {"tile_64x64"}), "tile_64x64");
  EXPECT_EQ(found(lines, product(1, 50, 7), "ours", {"tile_128x128"}), "");
  KernelTable table(with_heading(lines), "table");
  EXPECT_TRUE(table.names("tile_16x256"));
  EXPECT_FALSE(table.names("cublaslt"));
}

// What is written is read again, and holds for that product on that device alone.
TEST(KernelTable, ReadsWhatItWrites) {
  const Contraction c = product(300, 200, 100);
  const ContractionFacts facts = contraction_facts(c, contraction_shape(c), 132);
  for (const std::string& kernel : all_kernels) {
    std::string line = table_line("NVIDIA H100 80GB HBM3", facts.own, kernel, 41.24);
    EXPECT_EQ(line,
              "NVIDIA H100 80GB HBM3: numbers=float32 result=float32 mode=strict batch=1 m=300 "
              "n=200 k=100 a=along_k b=along_rows -> " +
                  kernel + " (41.2 us)");
    EXPECT_EQ(found(line, c, "NVIDIA H100 80GB HBM3"), kernel);
    EXPECT_EQ(found(line, c, "NVIDIA H100"), "");
    Contraction other = c;
    other.b = Dtype::float64;
    EXPECT_EQ(found(line, product(300, 200, 101), "NVIDIA H100 80GB HBM3"), "");
    EXPECT_EQ(found(line, product(300, 200, 100, Dtype::float16), "NVIDIA H100 80GB HBM3"), "");
    other = c;
    other.precision = Precision::tf32;
    EXPECT_EQ(found(line, other, "NVIDIA H100 80GB HBM3"), "");
    other = c;
    other.m[0].a_stride = 1, other.k[0].a_stride = 300;  // the left operand transposed
    EXPECT_EQ(found(line, other, "NVIDIA H100 80GB HBM3"), "");
    other = c;
    other.batch = {{2, 30000, 20000}};
    EXPECT_EQ(found(line, other, "NVIDIA H100 80GB HBM3"), "");
  }
}

TEST(KernelTable, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"any GPU -> tile_64x64", "is not \"DEVICE: CONDITIONS -> KERNEL\""},
      {"any GPU: m=3", "is not \"DEVICE: CONDITIONS -> KERNEL\""},
      {"tile_64x64 -> any GPU: m=3", "is not \"DEVICE: CONDITIONS -> KERNEL\""},
      {": m=3 -> tile_64x64", "no device"},
      {"any GPU: m -> tile_64x64", "\"m\" is no condition"},
      {"any GPU: m>3 -> tile_64x64", "compare with"},
      {"any GPU: m= -> tile_64x64", "needs a number"},
      {"any GPU: m=-3 -> tile_64x64", "needs a number"},
      {"any GPU: m=3x -> tile_64x64", "needs a number"},
      {"any GPU: m=99999999999999999999 -> tile_64x64", "needs a number"},
      {"any GPU: rows=3 -> tile_64x64", "there is no fact \"rows\""},
      {"any GPU: numbers=float31 -> tile_64x64", "cannot be"},
      {"any GPU: mode>=strict -> tile_64x64", "cannot be"},
      {"any GPU: m=3 -> tile_64x6", "there is no kernel \"tile_64x6\""},
      {"any GPU: m=3 ->", "there is no kernel \"\""},
      {"any GPU: m=3 -> tile_64x64 (41 us)", "is not a time"},
      {"any GPU: m=3 -> tile_64x64 (41.2", "is not a time"},
      {"any GPU: m=3 -> tile_64x64 lanes", "is not a time"},
  };
  for (auto [line, what] : wrong) {
    std::string message = error_of(with_heading("# a comment\n" + std::string(line) + "\n"));
    EXPECT_EQ(message.rfind("some.txt: line 3: ", 0), 0u) << message;
    EXPECT_NE(message.find(what), message.npos) << message;
  }
  for (const char* text : {"", "\n", "mtorch products 2\n", "any GPU: -> lanes\n",
                           "\x7f"
                           "ELF"}) {
    EXPECT_EQ(error_of(text), "some.txt: it does not begin with \"mtorch products 1\"");
  }
}

// A file that has been cut off is refused, or says less, but nothing else.
TEST(KernelTable, TakesNothingElseFromHalfOfAFile) {
  const std::string text = with_heading(
      "any GPU: m=7 n=50 k=10 -> tile_128x128 (10.2 us)\nany GPU: m=70 n=50 k=10 -> tile_16x256\n");
  int refused = 0;
  for (size_t length = 0; length <= text.size(); ++length) {
    const std::string part = text.substr(0, length);
    if (!error_of(part).empty()) {
      ++refused;
      continue;
    }
    KernelTable table(part, "part");
    std::string first = table.find("ours", facts_of(product(7, 50, 10)), all_kernels);
    std::string second = table.find("ours", facts_of(product(70, 50, 10)), all_kernels);
    EXPECT_TRUE(first == "" || first == "tile_128x128") << part;
    EXPECT_TRUE(second == "" || second == "tile_16x256") << part;
    EXPECT_EQ(table.find("ours", facts_of(product(1, 50, 10)), all_kernels), "") << part;
  }
  EXPECT_GT(refused, 90);
}

TEST(BuiltInTable, HasAKernelForEveryProduct) {
  auto chosen = [](const Contraction& c, const std::vector<std::string>& kernels,
                   int64_t processors = 132) {
    return built_in_table().find("some GPU", facts_of(c, processors), kernels);
  };
  const std::vector<std::string> tiles = {"tile_32x32", "tile_64x64", "tile_128x128", "tile_256x16",
                                          "tile_16x256"};
  EXPECT_EQ(chosen(product(512, 16, 9), tiles), "tile_256x16");
  EXPECT_EQ(chosen(product(511, 16, 9), tiles), "tile_32x32");
  EXPECT_EQ(chosen(product(16, 512, 9), tiles), "tile_16x256");
  EXPECT_EQ(chosen(product(17, 512, 9), tiles), "tile_32x32");
  EXPECT_EQ(chosen(product(33, 33, 9), tiles), "tile_64x64");
  EXPECT_EQ(chosen(product(128, 16384, 9), tiles), "tile_128x128");
  EXPECT_EQ(chosen(product(127, 100000, 9), tiles), "tile_64x64");
  EXPECT_EQ(chosen(product(128, 16383, 9), tiles), "tile_64x64");
  EXPECT_EQ(chosen(product(4096, 4096, 64), {"tile_64x64"}), "tile_64x64");
  EXPECT_EQ(chosen(product(1, 4096, 64), {"lanes"}), "lanes");
  EXPECT_EQ(chosen(product(64, 64, 64), {"mma_128x128", "tile_64x64"}), "mma_128x128");
  // As many tiles of 128 x 256 as processors.
  EXPECT_EQ(chosen(product(128, 256 * 132, 64), all_kernels), "hopper_128x256");
  EXPECT_EQ(chosen(product(128, 256 * 131, 64), all_kernels), "hopper_128x128");
  EXPECT_EQ(chosen(product(128 * 200, 128, 64), all_kernels), "hopper_128x128");
}

// What is split or turned around for Hopper takes memory, which is not there for any size.
TEST(TensorCores, TakeSoMuchMemoryAndNoMore) {
  auto kernels = [](Precision precision, int64_t m, int64_t n, int64_t k, bool turns) {
    Contraction c = product(m, n, k);
    c.precision = precision;
    if (!turns) c.n[0].b_stride = k, c.k[0].b_stride = 1;
    return tensor_core_kernels(c, contraction_shape(c), Operand(), Operand(), true);
  };
  using enum ContractKernel;
  using Kernels = std::vector<ContractKernel>;
  const Kernels all = {mma_128x128, hopper_128x128, hopper_128x256};
  const int64_t k = 1 << 14, most = 1 << 14;  // 4 bytes for each of b: 1 GiB
  EXPECT_EQ(kernels(Precision::tf32, 1024, most, k, true), all);
  EXPECT_EQ(kernels(Precision::tf32, 1024, most + 4, k, true), Kernels{mma_128x128});
  EXPECT_EQ(kernels(Precision::tf32, 1024, most + 4, k, false), all);
  EXPECT_EQ(kernels(Precision::bfloat16, 1024, most, k, true), all);
  EXPECT_EQ(kernels(Precision::bfloat16, 1024, 2 * most, k, true), Kernels{});
}

class Tuned : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = files::temp_directory_path() / ("mtorch_tuning_" + std::to_string(getpid()));
    files::remove_all(folder_);
    files::create_directory(folder_);
  }
  void TearDown() override {
    files::remove_all(folder_);
    unsetenv("MT_CUDA_TUNE");
    unsetenv("MT_CUDA_TUNED");
  }
  // Each file is read once, so each test has its own.
  std::string file(const char* name, const std::string& text = "") const {
    std::string path = folder_ / name;
    if (!text.empty()) std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  template <class F>
  static std::string failure(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::io);
      return error.what();
    }
    return "";
  }
  static std::string found_in(Tuning* tuning, int64_t m) {
    return tuning->find("ours", facts_of(product(m, 50, 10)), all_kernels);
  }

  files::path folder_;
};

TEST_F(Tuned, IsAskedForByTheEnvironment) {
  EXPECT_EQ(Tuning::chosen(), nullptr);
  setenv("MT_CUDA_TUNED", "", 1);
  EXPECT_EQ(Tuning::chosen(), nullptr);
  setenv("MT_CUDA_TUNED", file("read", with_heading("any GPU: m=7 -> lanes\n")).c_str(), 1);
  Tuning* read = Tuning::chosen();
  EXPECT_FALSE(read->measures());
  EXPECT_EQ(found_in(read, 7), "lanes");
  EXPECT_EQ(found_in(read, 8), "");
  setenv("MT_CUDA_TUNE", file("measured").c_str(), 1);
  EXPECT_TRUE(Tuning::chosen()->measures());
  EXPECT_EQ(found_in(Tuning::chosen(), 7), "");
  EXPECT_FALSE(files::exists(file("measured")));  // before there is something to say
  unsetenv("MT_CUDA_TUNE");
  EXPECT_EQ(Tuning::chosen(), read);
}

TEST_F(Tuned, AddsToWhatIsThere) {
  const std::string own = with_heading("# by hand\nany GPU: m=7 -> lanes");  // without an end
  setenv("MT_CUDA_TUNE", file("grows", own).c_str(), 1);
  Tuning* tuning = Tuning::chosen();
  tuning->add("any GPU: m=8 -> tile_32x32 (1.0 us)");
  EXPECT_EQ(found_in(tuning, 8), "tile_32x32");
  std::ofstream(file("grows"), std::ios::app) << "any GPU: m=9 -> tile_64x64\n";  // another process
  tuning->add("any GPU: m=10 -> tile_16x256 (1.0 us)");
  EXPECT_EQ(contents(file("grows")),
            own +
                "\nany GPU: m=8 -> tile_32x32 (1.0 us)\nany GPU: m=9 -> tile_64x64\n"
                "any GPU: m=10 -> tile_16x256 (1.0 us)\n");
  EXPECT_EQ(found_in(tuning, 9), "tile_64x64");
  EXPECT_EQ(std::distance(files::directory_iterator(folder_), {}), 1);  // nothing temporary is left
}

TEST_F(Tuned, BeginsWithAnEmptyFile) {
  std::ofstream(file("empty")).flush();
  setenv("MT_CUDA_TUNE", file("empty").c_str(), 1);
  Tuning* tuning = Tuning::chosen();
  EXPECT_EQ(found_in(tuning, 8), "");
  tuning->add("any GPU: m=8 -> tile_32x32 (1.0 us)");
  EXPECT_EQ(contents(file("empty")), with_heading("any GPU: m=8 -> tile_32x32 (1.0 us)\n"));
  setenv("MT_CUDA_TUNE", "", 1);
  std::ofstream(file("nothing")).flush();
  setenv("MT_CUDA_TUNED", file("nothing").c_str(), 1);
  EXPECT_NE(failure([] { Tuning::chosen(); }), "");
}

TEST_F(Tuned, LosesNoLineOfAnotherProcess) {
  constexpr int processes = 4, lines = 40;
  const std::string path = file("shared");
  setenv("MT_CUDA_TUNE", path.c_str(), 1);
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::string message = failure([&] {
        for (int i = 0; i < lines; ++i) {
          Tuning::chosen()->add("any GPU: m=" + std::to_string(process * lines + i) + " -> lanes");
        }
      });
      _exit(message.empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (int m = 0; m < processes * lines; ++m) EXPECT_EQ(found_in(Tuning::chosen(), m), "lanes");
  EXPECT_EQ(std::distance(files::directory_iterator(folder_), {}), 1);
}

TEST_F(Tuned, ChangesNoFileThatIsWrong) {
  setenv("MT_CUDA_TUNE", file("spoilt", with_heading("")).c_str(), 1);
  Tuning* tuning = Tuning::chosen();
  const std::string spoilt = with_heading("any GPU: m=7 -> tile_7x7\n");
  file("spoilt", spoilt);
  std::string message = failure([&] { tuning->add("any GPU: m=8 -> lanes (1.0 us)"); });
  EXPECT_EQ(message,
            "MT_CUDA_TUNE: " + file("spoilt") + ": line 2: there is no kernel \"tile_7x7\"");
  EXPECT_EQ(contents(file("spoilt")), spoilt);
  EXPECT_EQ(found_in(tuning, 8), "");
  setenv("MT_CUDA_TUNE", file("wrong", "PNG").c_str(), 1);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(failure([] { Tuning::chosen(); }),
              "MT_CUDA_TUNE: " + file("wrong") + ": it does not begin with \"mtorch products 1\"");
  }
  file("wrong", with_heading("any GPU: m=7 -> lanes\n"));  // mended
  EXPECT_EQ(found_in(Tuning::chosen(), 7), "lanes");
}

TEST_F(Tuned, SaysWhatItCannotReadOrWrite) {
  setenv("MT_CUDA_TUNED", file("missing").c_str(), 1);
  EXPECT_EQ(failure([] { Tuning::chosen(); }), "MT_CUDA_TUNED: " + file("missing") +
                                                   ": the file cannot be read: No such file or "
                                                   "directory");
  setenv("MT_CUDA_TUNED", folder_.c_str(), 1);
  EXPECT_EQ(failure([] { Tuning::chosen(); }),
            "MT_CUDA_TUNED: " + folder_.string() + ": the file cannot be read: Is a directory");
  setenv("MT_CUDA_TUNE", file("no/folder").c_str(), 1);
  Tuning* tuning = Tuning::chosen();
  EXPECT_EQ(failure([&] { tuning->add("any GPU: m=8 -> lanes (1.0 us)"); }),
            "MT_CUDA_TUNE: " + file("no/folder") +
                ": the file cannot be written: No such file or directory");
  EXPECT_EQ(found_in(tuning, 8), "");  // so that it is measured, and this said, again
}

}  // namespace
}  // namespace mt::cuda
