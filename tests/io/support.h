// SPDX-License-Identifier: Apache-2.0
// Files in a folder of their own, and values as plain vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backends/devices.h"
#include "base/error.h"
#include "fusion/evaluator.h"
#include "io/host.h"

namespace mt {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    install_fusing_evaluator();
    char pattern[] = "/tmp/mtorch_test_XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + '/' + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      names.push_back(file.path().filename());
    }
    return names;
  }

 private:
  std::string folder_;
};

inline Device& cpu_device() { return find_device("cpu"); }

template <class T>
Tensor make(Dtype dtype, const Shape& shape, const std::vector<T>& values) {
  return from_host(values.data(), dtype, shape, cpu_device());
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const HostArray value = contiguous_host_array(tensor);
  std::vector<T> result(value.bytes() / sizeof(T));
  if (value.bytes()) std::memcpy(result.data(), value.data(), value.bytes());
  return result;
}
inline std::string bytes_of(const Tensor& tensor) {
  std::vector<char> bytes = values_of<char>(tensor);
  return {bytes.begin(), bytes.end()};
}

// The error that `body` fails with; Code::ok when it does not.
template <class Body>
Error error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::ok, "");
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Calls `load` on copies of `bytes` that are cut or have some bytes changed. Each is either
// refused with an error or read as something else; the sanitizer watches that nothing more happens.
template <class Load>
void expect_robust(const std::string& path, const std::string& bytes, Load load) {
  uint64_t state = 1;
  auto random = [&state](uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    if (round % 3 == 0) changed.resize(random(bytes.size()));
    for (uint64_t n = round % 3 == 0 ? 0 : 1 + random(4); n > 0; --n) {
      // Mostly in the header, where it matters.
      uint64_t range = random(4) ? std::min<uint64_t>(bytes.size(), 160) : bytes.size();
      char& byte = changed[random(range)];
      byte = random(2) ? static_cast<char>(random(256)) : static_cast<char>(byte ^ 1 << random(8));
    }
    std::ofstream(path, std::ios::binary).write(changed.data(), std::ssize(changed));
    try {
      load(path.c_str());
    } catch (const Error& error) {
      ++refused;
      EXPECT_TRUE(error.code() == Code::io || error.code() == Code::unsupported ||
                  error.code() == Code::memory || error.code() == Code::shape)
          << error.what();
      EXPECT_TRUE(contains(error.what(), path)) << error.what();
    }
  }
  EXPECT_GT(refused, 1000);  // at least those that were cut
}

}  // namespace mt
