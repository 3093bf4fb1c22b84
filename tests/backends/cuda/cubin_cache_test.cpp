// SPDX-License-Identifier: Apache-2.0
// The folder of compiled kernels, with a compiler that only counts.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/cuda/driver/nvrtc.h"
#include "base/error.h"

namespace mt::cuda {

static int compilations = 0;
static std::string build;

std::string nvrtc_build() { return build; }
std::vector<char> compile_cubin(const std::string& source, int capability) {
  ++compilations;
  if (source == "wrong") fail(Code::device, "does not compile");
  std::string code = "code of " + source + " for " + std::to_string(capability);
  return {code.begin(), code.end()};
}
UserText compile_user_text(const std::string& source, const char* name, int) {
  ++compilations;
  std::string code = "\n\0user's " + source;
  return {{code.begin(), code.end()}, std::string("_Z") + name, "void (*)(float*)"};
}
const Header headers[] = {{"a.h", "int a;"}};
const int header_count = 1;

namespace {

namespace files = std::filesystem;

class CubinCache : public testing::Test {
 protected:
  void SetUp() override {
    build = "13000 of 7 bytes";
    folder_ = files::temp_directory_path() / ("mtorch_cache_" + std::to_string(getpid()));
    files::remove_all(folder_);
    setenv("MT_CUDA_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override {
    files::remove_all(folder_);
    unsetenv("MT_CUDA_CACHE");
  }

  // The text's code, and how often the compiler ran for it.
  static int compiled(const std::string& source, int capability = 90) {
    int before = compilations;
    std::vector<char> code = cached_cubin(source, capability);
    EXPECT_EQ(std::string(code.begin(), code.end()),
              "code of " + source + " for " + std::to_string(capability));
    return compilations - before;
  }
  size_t count() const {
    return files::exists(folder_)
               ? static_cast<size_t>(std::distance(files::directory_iterator(folder_), {}))
               : 0;
  }
  files::path only_file() const { return files::directory_iterator(folder_)->path(); }

  files::path folder_;
};

TEST_F(CubinCache, KeepsWhatWasCompiled) {
  EXPECT_EQ(compiled("text"), 1);
  EXPECT_EQ(compiled("text"), 0);
  EXPECT_EQ(count(), 1u);  // nothing temporary is left
  struct stat rights;
  ASSERT_EQ(stat(folder_.c_str(), &rights), 0);
  EXPECT_EQ(rights.st_mode & 0777, 0700u);  // nobody else puts code there
  EXPECT_EQ(compiled("text", 80), 1);
  EXPECT_EQ(compiled("other text"), 1);
  build = "13000 of 8 bytes";
  EXPECT_EQ(compiled("text"), 1);
  EXPECT_EQ(count(), 4u);
  build = "13000 of 7 bytes";
  EXPECT_EQ(compiled("text"), 0);
}

// Whatever one byte is, the file is used whole or not at all.
TEST_F(CubinCache, TakesNothingThatIsDamaged) {
  compiled("text");
  const files::path file = only_file();
  std::ifstream in(file, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  auto put = [&](const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; };
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    put(bad);
    EXPECT_EQ(compiled("text"), 1) << "byte " << i;
    EXPECT_EQ(compiled("text"), 0) << "byte " << i;  // it was mended
  }
  for (size_t length = 0; length < good.size(); ++length) {
    put(good.substr(0, length));
    EXPECT_EQ(compiled("text"), 1) << length << " bytes";
  }
  put(good + "x");
  EXPECT_EQ(compiled("text"), 1);
}

// Another text whose file has the same name, as after a collision of checksums.
TEST_F(CubinCache, TakesNothingOfAnotherText) {
  compiled("text");
  const files::path first = only_file();
  std::ifstream in(first, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  in.close();
  files::remove(first);
  compiled("taxt");
  std::ofstream(only_file(), std::ios::binary) << bytes;
  EXPECT_EQ(compiled("taxt"), 1);
}

TEST_F(CubinCache, IsNotNeeded) {
  setenv("MT_CUDA_CACHE", "", 1);
  EXPECT_EQ(compiled("text"), 1);
  EXPECT_EQ(compiled("text"), 1);
  std::ofstream(folder_) << "a file where the folder should be";
  setenv("MT_CUDA_CACHE", folder_.c_str(), 1);
  EXPECT_EQ(compiled("text"), 1);
  EXPECT_EQ(compiled("text"), 1);
  setenv("MT_CUDA_CACHE", (folder_ / "within").c_str(), 1);
  EXPECT_EQ(compiled("text"), 1);
  setenv("MT_CUDA_CACHE", "/proc/no_such_folder", 1);
  EXPECT_EQ(compiled("text"), 1);
}

TEST_F(CubinCache, KeepsNothingThatDoesNotCompile) {
  EXPECT_THROW(cached_cubin("wrong", 90), Error);
  EXPECT_EQ(count(), 0u);
}

TEST_F(CubinCache, KeepsTheNamesOfUsersKernels) {
  for (int expected : {1, 0}) {
    int before = compilations;
    UserText text = cached_user_text("source", "mine", 90);
    EXPECT_EQ(compilations - before, expected);
    EXPECT_EQ(text.function, "_Zmine");
    EXPECT_EQ(text.type, "void (*)(float*)");
    UserText made = compile_user_text("source", "mine", 90);
    EXPECT_EQ(text.cubin, made.cubin);
  }
  int before = compilations;
  cached_user_text("source", "other", 90);
  EXPECT_EQ(compilations - before, 1);
}

}  // namespace
}  // namespace mt::cuda
