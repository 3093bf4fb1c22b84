// SPDX-License-Identifier: Apache-2.0
#include "io/idx.h"

#include <zlib.h>

#include "io/support.h"

namespace mt {
namespace {

using IdxTest = FileTest;

std::string idx(int type, std::initializer_list<uint32_t> sizes, const std::string& elements) {
  std::string file("\0\0", 2);
  file += static_cast<char>(type);
  file += static_cast<char>(sizes.size());
  for (uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
  }
  return file + elements;
}

TEST_F(IdxTest, ReadsEveryType) {
  auto load = [&](const std::string& bytes) {
    return load_idx(write("x", bytes).c_str(), cpu_device());
  };
  Tensor images = load(idx(8, {2, 1, 3}, "\x01\x02\x03\x04\x05\xff"));
  EXPECT_EQ(images.dtype(), Dtype::uint8);
  EXPECT_EQ(images.shape(), Shape({2, 1, 3}));
  EXPECT_EQ(values_of<uint8_t>(images), (std::vector<uint8_t>{1, 2, 3, 4, 5, 255}));
  EXPECT_EQ(values_of<int8_t>(load(idx(9, {1}, "\xff"))), std::vector<int8_t>{-1});
  EXPECT_EQ(values_of<int16_t>(load(idx(11, {1}, "\x01\x02"))), std::vector<int16_t>{0x102});
  EXPECT_EQ(values_of<int32_t>(load(idx(12, {1}, "\x01\x02\x03\x04"))),
            std::vector<int32_t>{0x1020304});
  EXPECT_EQ(values_of<float>(load(idx(13, {1}, std::string("\x3f\x80\0\0", 4)))),
            std::vector<float>{1});
  EXPECT_EQ(values_of<double>(load(idx(14, {1}, std::string("\x3f\xf0\0\0\0\0\0\0", 8)))),
            std::vector<double>{1});
}

TEST_F(IdxTest, ReadsGzip) {
  std::string bytes = idx(8, {1000, 10}, std::string(10000, '\5'));
  gzFile file = gzopen(path("x.gz").c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  EXPECT_EQ(values_of<uint8_t>(load_idx(path("x.gz").c_str(), cpu_device())),
            std::vector<uint8_t>(10000, 5));
  std::string compressed = read("x.gz");
  ASSERT_LT(compressed.size(), 200u);
  // A byte of the checksum, and a cut within it.
  std::string broken = compressed;
  broken[broken.size() - 6] = static_cast<char>(broken[broken.size() - 6] ^ 1);
  for (const std::string& bad : {broken, compressed.substr(0, compressed.size() - 5)}) {
    Error found = error_of([&] { load_idx(write("bad", bad).c_str(), cpu_device()); });
    EXPECT_EQ(found.code(), Code::io) << found.what();
  }
  expect_robust(path("y"), compressed, [](const char* name) { load_idx(name, cpu_device()); });
}

TEST_F(IdxTest, RefusesWhatIsWrong) {
  auto expect = [&](const std::string& bytes, const char* fault) {
    Error found = error_of([&] { load_idx(write("bad", bytes).c_str(), cpu_device()); });
    EXPECT_EQ(found.code(), Code::io) << found.what();
    EXPECT_TRUE(contains(found.what(), "bad")) << found.what();
    EXPECT_TRUE(contains(found.what(), fault)) << found.what();
  };
  expect("", "ends too early");
  expect("\1\2\3\4", "not an IDX file");
  expect(idx(7, {1}, "x"), "element type 0x07");
  expect(idx(8, {2}, "x"), "ends too early");
  expect(idx(8, {1}, "xy"), "goes on");
  expect(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "x"), "impossible");
  expect(idx(8, {0xffffffff}, "x"), "more than there are");
  expect(std::string("\0\0\x08\x20", 4), "32 dimensions");
  EXPECT_EQ(error_of([&] { load_idx(path("no").c_str(), cpu_device()); }).code(), Code::io);
}

TEST_F(IdxTest, SurvivesMutations) {
  expect_robust(path("y"), idx(12, {3, 4}, std::string(48, '\1')),
                [](const char* name) { load_idx(name, cpu_device()); });
}

}  // namespace
}  // namespace mt
