// SPDX-License-Identifier: Apache-2.0
#include "io/npy.h"

#include <dlfcn.h>
#include <zip.h>

#include "io/npz.h"
#include "io/support.h"
#include "ops/ops.h"

namespace {
bool libzip_has_memory = true;
}

// libzip's, which finds no memory when a test says so.
extern "C" zip_source_t* zip_source_buffer_fragment(zip_t* archive,
                                                    const zip_buffer_fragment_t* parts,
                                                    zip_uint64_t count, int free) {
  static auto* real = reinterpret_cast<decltype(&zip_source_buffer_fragment)>(
      dlsym(RTLD_NEXT, "zip_source_buffer_fragment"));
  if (libzip_has_memory) return real(archive, parts, count, free);
  zip_error_set(zip_get_error(archive), ZIP_ER_MEMORY, 0);
  return nullptr;
}

namespace mt {
namespace {

using NpyTest = FileTest;

std::string header(const std::string& dictionary, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  file += static_cast<char>(dictionary.size() & 255);
  file += static_cast<char>(dictionary.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + dictionary;
}
std::string describe(const std::string& descr, const std::string& shape, bool column = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (column ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

TEST_F(NpyTest, WritesWhatNumPyWrites) {
  save_npy(make<float>(Dtype::float32, {2, 3}, {1, 2, 3, 4, 5, 6}), path("a.npy").c_str());
  std::string file = read("a.npy");
  ASSERT_EQ(file.size(), 128u + 24u);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file.substr(10, 60), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } ");
  EXPECT_EQ(file[127], '\n');
  save_npy(make<uint8_t>(Dtype::uint8, {2}, {1, 2}), path("b.npy").c_str());
  EXPECT_TRUE(contains(read("b.npy"), "'|u1', 'fortran_order': False, 'shape': (2,), }"));
  save_npy(make<double>(Dtype::float64, {}, {1}), path("c.npy").c_str());
  EXPECT_TRUE(contains(read("c.npy"), "'<f8', 'fortran_order': False, 'shape': (), }"));
}

TEST_F(NpyTest, EveryTypeSurvives) {
  for (int i = 0; i < dtype_count; ++i) {
    Dtype dtype = static_cast<Dtype>(i);
    Tensor tensor = cast(iota({3, 5}, Dtype::int64, cpu_device()), dtype);
    std::string file = path("x.npy");
    if (dtype == Dtype::bfloat16) {
      EXPECT_EQ(error_of([&] { save_npy(tensor, file.c_str()); }).code(), Code::unsupported);
      continue;
    }
    save_npy(tensor, file.c_str());
    Tensor back = load_npy(file.c_str(), cpu_device());
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), tensor.shape());
    EXPECT_EQ(bytes_of(back), bytes_of(tensor)) << name_of(dtype);
  }
}

TEST_F(NpyTest, ViewsAndEmptyTensorsSurvive) {
  Tensor x = make<float>(Dtype::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  save_npy(transpose(x), path("t.npy").c_str());
  EXPECT_EQ(values_of<float>(load_npy(path("t.npy").c_str(), cpu_device())),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  save_npy(full({0, 3}, 0, Dtype::int16, cpu_device()), path("e.npy").c_str());
  EXPECT_EQ(load_npy(path("e.npy").c_str(), cpu_device()).shape(), Shape({0, 3}));
}

TEST_F(NpyTest, ReadsOtherForms) {
  std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  std::string elements(reinterpret_cast<char*>(numbers.data()), 24);
  auto load = [&](const std::string& bytes) {
    return load_npy(write("x.npy", bytes).c_str(), cpu_device());
  };
  EXPECT_EQ(values_of<float>(load(header(describe("<f4", "(2, 3)", true)) + elements)),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(values_of<float>(load(header(describe("=f4", "(6,)"), 2) + elements)), numbers);
  EXPECT_EQ(values_of<float>(load(header(describe("f4", "( 6 , )"), 3) + elements)), numbers);
  EXPECT_EQ(values_of<float>(
                load(header("{\"shape\":(6L,),'fortran_order':False,'descr':'<f4'}") + elements)),
            numbers);
  std::string swapped = elements;
  for (size_t i = 0; i < swapped.size(); i += 4) {
    std::reverse(swapped.begin() + std::ptrdiff_t(i), swapped.begin() + std::ptrdiff_t(i) + 4);
  }
  EXPECT_EQ(values_of<float>(load(header(describe(">f4", "(6,)")) + swapped)), numbers);
  // Any byte of a bool that is not 0 is true.
  EXPECT_EQ(bytes_of(load(header(describe("|b1", "(3,)")) + std::string("\0\1\7", 3))),
            std::string("\0\1\1", 3));
}

TEST_F(NpyTest, RefusesWhatIsWrong) {
  auto error = [&](const std::string& bytes) {
    return error_of([&] { load_npy(write("bad.npy", bytes).c_str(), cpu_device()); });
  };
  auto expect = [&](const std::string& bytes, Code code, const char* fault) {
    Error found = error(bytes);
    EXPECT_EQ(found.code(), code) << found.what();
    EXPECT_TRUE(contains(found.what(), "bad.npy")) << found.what();
    EXPECT_TRUE(contains(found.what(), fault)) << found.what();
  };
  expect("", Code::io, "not a .npy file");
  expect("hello, this is no array", Code::io, "not a .npy file");
  expect(header(describe("<f4", "(1,)"), 4), Code::io, "version 4.0");
  expect(header(describe("<f4", "(6,)")), Code::io, "needs 24 bytes, the file has 0");
  expect(header(describe("<c8", "(6,)")), Code::unsupported, "<c8");
  expect(header(describe("|O", "(6,)")), Code::unsupported, "|O");
  expect(header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
         Code::unsupported, "records");
  expect(header(describe("<f4", "(-1,)")), Code::io, "no tuple of sizes");
  expect(header(describe("<f4", "(99999999999999999999,)")), Code::io, "too large");
  expect(header(describe("<f4", "(4294967296, 4294967296)")), Code::io, "impossible");
  expect(header(describe("<f4", "(0, 4294967296, 4294967296)")), Code::io, "impossible");
  expect(header(describe("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)")), Code::io, "16");
  expect(header("{'descr': '<f4', 'shape': (1,)}"), Code::io, "lacks");
  expect(header("{'descr': '<f4', 'descr': '<f4'}"), Code::io, "twice");
  expect(header("{'other': 1}"), Code::io, "unknown key");
  EXPECT_EQ(error_of([&] { load_npy(path("missing.npy").c_str(), cpu_device()); }).code(),
            Code::io);
  EXPECT_EQ(error_of([&] { load_npy("/tmp", cpu_device()); }).code(), Code::io);
}

TEST_F(NpyTest, SurvivesMutations) {
  save_npy(iota({4, 6}, Dtype::int32, cpu_device()), path("x.npy").c_str());
  expect_robust(path("y.npy"), read("x.npy"),
                [](const char* file) { load_npy(file, cpu_device()); });
}

TEST_F(NpyTest, Archives) {
  std::vector<NamedTensor> tensors = {{"weight", make<float>(Dtype::float32, {2, 2}, {1, 2, 3, 4})},
                                      {"größe", make<int64_t>(Dtype::int64, {}, {7})},
                                      {"zeros", full({1000}, 0, Dtype::float64, cpu_device())},
                                      {"empty", full({0}, 0, Dtype::uint8, cpu_device())}};
  for (bool compress : {false, true}) {
    std::string file = path("a.npz");
    save_npz(tensors, file.c_str(), compress);
    EXPECT_EQ(std::filesystem::file_size(file) < 4000, compress);
    std::vector<NamedTensor> back = load_npz(file.c_str(), cpu_device());
    ASSERT_EQ(back.size(), tensors.size());
    for (size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].name, tensors[i].name);
      EXPECT_EQ(back[i].value.shape(), tensors[i].value.shape());
      EXPECT_EQ(bytes_of(back[i].value), bytes_of(tensors[i].value));
    }
    std::string first = read("a.npz");
    save_npz(tensors, file.c_str(), compress);
    EXPECT_EQ(read("a.npz"), first);
    EXPECT_EQ(files(), std::vector<std::string>{"a.npz"});
  }
  save_npz({}, path("none.npz").c_str(), true);
  EXPECT_TRUE(load_npz(path("none.npz").c_str(), cpu_device()).empty());
}

TEST_F(NpyTest, ArchivesWithoutMemoryAreNotTheFilesFault) {
  libzip_has_memory = false;
  const Error error = error_of([&] {
    save_npz({{"a", iota({2}, Dtype::int32, cpu_device())}}, path("a.npz").c_str(), false);
  });
  libzip_has_memory = true;
  EXPECT_EQ(error.code(), Code::memory);
  EXPECT_EQ(error.what(), path("a.npz") + ": out of memory on the host");
  EXPECT_TRUE(files().empty());
}

TEST_F(NpyTest, ArchivesSurviveMutations) {
  std::vector<NamedTensor> tensors = {{"a", iota({5, 5}, Dtype::int32, cpu_device())},
                                      {"b", full({100}, 3, Dtype::float32, cpu_device())}};
  for (bool compress : {false, true}) {
    save_npz(tensors, path("x.npz").c_str(), compress);
    expect_robust(path("y.npz"), read("x.npz"),
                  [](const char* file) { load_npz(file, cpu_device()); });
  }
}

}  // namespace
}  // namespace mt
