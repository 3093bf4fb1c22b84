// SPDX-License-Identifier: Apache-2.0
// A CUDA backend that was built with other headers than the core is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/cuda/build_version.h"
#include "backends/devices.h"
#include "base/error.h"

namespace mt {
namespace {

TEST(CudaLibrary, OfOtherHeadersIsRefused) {
  const char* built = std::getenv("MT_CUDA_LIBRARY");
  ASSERT_NE(built, nullptr);
  std::ifstream file(built, std::ios::binary);
  std::string library{std::istreambuf_iterator<char>(file), {}};
  const std::string version = MT_BUILD_VERSION;
  std::string other = version;
  other.back() = other.back() == '0' ? '1' : '0';
  size_t found = 0;
  for (size_t at = 0; (at = library.find(version, at)) != library.npos; ++found) {
    library.replace(at, other.size(), other);
  }
  ASSERT_GT(found, 0u);
  const auto copy =
      std::filesystem::temp_directory_path() / ("mtorch_cuda_" + std::to_string(getpid()) + ".so");
  std::ofstream(copy, std::ios::binary) << library;
  setenv("MT_CUDA_LIBRARY", copy.c_str(), 1);
  try {
    find_device("cuda:0");
    ADD_FAILURE() << "it was taken";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find(copy.string() + " is of version " + other), said.npos) << said;
    EXPECT_NE(said.find("libmtorch of " + version), said.npos) << said;
  }
  EXPECT_EQ(device_names().size(), 2u);
  std::filesystem::remove(copy);
  setenv("MT_CUDA_LIBRARY", built, 1);
  EXPECT_EQ(find_device("cuda:0").name, "cuda:0");
}

}  // namespace
}  // namespace mt
