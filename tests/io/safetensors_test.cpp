// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "io/npz.h"
#include "io/support.h"
#include "ops/ops.h"

namespace mt {
namespace {

using SafetensorsTest = FileTest;

std::string with_length(const std::string& header) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> 8 * i);
  return file + header;
}

std::vector<NamedTensor> example() {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < dtype_count; ++i) {
    Dtype dtype = static_cast<Dtype>(i);
    tensors.push_back({name_of(dtype), cast(iota({3, 5}, Dtype::int64, cpu_device()), dtype)});
  }
  tensors.push_back({"a \"name\" — with all\n", full({}, 2, Dtype::float32, cpu_device())});
  tensors.push_back({"empty", full({0, 4}, 2, Dtype::float32, cpu_device())});
  return tensors;
}

TEST_F(SafetensorsTest, AreTakenForNoOtherFormat) {
  save_safetensors(example(), {}, path("x").c_str());
  save_npz({{"a", full({2}, 1, Dtype::float32, cpu_device())}}, path("y").c_str(), false);
  const Error of_npz = error_of([&] { load_npz(path("x").c_str(), cpu_device()); });
  EXPECT_TRUE(contains(of_npz.what(), "x: is a safetensors file")) << of_npz.what();
  const Error of_tensors = error_of([&] { load_safetensors(path("y").c_str(), cpu_device()); });
  EXPECT_TRUE(contains(of_tensors.what(), "y: is a ZIP archive")) << of_tensors.what();
}

TEST_F(SafetensorsTest, RoundTrip) {
  std::vector<NamedTensor> tensors = example();
  Metadata metadata = {{"format", "test"}, {"note", "\"quoted\""}};
  save_safetensors(tensors, metadata, path("x").c_str());
  EXPECT_EQ(Safetensors(path("x").c_str()).metadata(), metadata);
  std::vector<NamedTensor> back = load_safetensors(path("x").c_str(), cpu_device());
  ASSERT_EQ(back.size(), tensors.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].name, tensors[i].name);
    EXPECT_EQ(back[i].value.dtype(), tensors[i].value.dtype());
    EXPECT_EQ(back[i].value.shape(), tensors[i].value.shape());
    EXPECT_EQ(bytes_of(back[i].value), bytes_of(tensors[i].value)) << back[i].name;
  }
  // Elements begin at multiples of eight, and wide ones come first.
  Safetensors file(path("x").c_str());
  for (const Safetensors::Entry& entry : file.entries()) {
    EXPECT_EQ(entry.begin % size_of(entry.dtype), 0u) << entry.name;
  }
  EXPECT_EQ((read("x")[0] + 8) % 8, 0);
}

TEST_F(SafetensorsTest, NoTensors) {
  save_safetensors({}, {}, path("x").c_str());
  EXPECT_EQ(read("x"), with_length("{}      "));
  EXPECT_TRUE(load_safetensors(path("x").c_str(), cpu_device()).empty());
}

TEST_F(SafetensorsTest, ReadsAnotherWritersFile) {
  std::string header =
      R"({"b":{"shape":[2],"data_offsets":[0,8],"dtype":"F32"}, "__metadata__":{"format":"pt"},
          "a":{"dtype":"I16","shape":[1,1],"data_offsets":[8,10]}})";
  std::string data("\0\0\x80\x3f\0\0\0\x40\x05\0", 10);
  std::vector<NamedTensor> tensors =
      load_safetensors(write("x", with_length(header) + data).c_str(), cpu_device());
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "b");
  EXPECT_EQ(values_of<float>(tensors[0].value), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of<int16_t>(tensors[1].value), std::vector<int16_t>{5});
}

TEST_F(SafetensorsTest, RefusesWhatIsWrong) {
  auto expect_file = [&](const std::string& bytes, Code code, const char* fault) {
    Error found = error_of([&] { load_safetensors(write("bad", bytes).c_str(), cpu_device()); });
    EXPECT_EQ(found.code(), code) << found.what() << fault;
    EXPECT_TRUE(contains(found.what(), "bad")) << found.what();
    EXPECT_TRUE(contains(found.what(), fault)) << found.what();
  };
  auto expect = [&](const std::string& header, size_t bytes, Code code, const char* fault) {
    expect_file(with_length(header) + std::string(bytes, '\0'), code, fault);
  };
  expect_file("", Code::io, "not a safetensors file");
  expect_file(std::string(8, '\xff'), Code::io, "claims");
  expect_file(with_length("{}").substr(0, 9), Code::io, "claims");
  expect("", 0, Code::io, "not a safetensors file");
  expect("[]", 0, Code::io, "not a safetensors file");
  expect("{} x", 0, Code::io, "no JSON");
  expect("{\"a\xff\":{}}", 0, Code::io, "no JSON");
  expect("{", 0, Code::io, "no JSON");
  expect("{\"a\":" + std::string(100000, '[') + "}", 0, Code::io, "list");
  expect(R"({"a":1})", 0, Code::io, "number");
  expect(R"({"a\u0000b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, Code::io, "a NUL");
  expect(R"({"a":{"dtype":"F32","shape":[1]}})", 4, Code::io, "no dtype");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, Code::io, "no dtype");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 4, Code::io, "two");
  expect(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, Code::io, "negative");
  expect(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, Code::io, "fraction");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, Code::io, "do not hold");
  expect(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, Code::io, "do not hold");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, Code::io, "do not hold");
  expect(R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4, Code::io,
         "impossible");
  expect(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
         Code::io, "too large");
  expect(R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,9],"data_offsets":[0,0]}})", 0,
         Code::io, "impossible");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
             "b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
         4, Code::io, "begins");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
             "b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
         12, Code::io, "begins");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, Code::io, "belong to no");
  expect(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
             "a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
         8, Code::io, "twice");
  expect(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, Code::io,
         "twice");
  expect(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1, Code::unsupported,
         "F8_E4M3");
  expect(R"({"__metadata__":{"a":{"b":"c"}}})", 0, Code::io, "object");
}

TEST_F(SafetensorsTest, SurvivesMutations) {
  save_safetensors(example(), {{"key", "value"}}, path("x").c_str());
  std::string bytes = read("x");
  expect_robust(path("y"), bytes, [](const char* file) { load_safetensors(file, cpu_device()); });
}

TEST_F(SafetensorsTest, FailingToWriteKeepsTheOldFile) {
  std::string file = path("model");
  save_safetensors({{"a", full({10}, 1, Dtype::float32, cpu_device())}}, {}, file.c_str());
  std::string old = read("model");
  Tensor large = full({1 << 20}, 2, Dtype::float32, cpu_device());

  // A full disk, as a limit on the file's size.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before, limit;
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = 100000;
  setrlimit(RLIMIT_FSIZE, &limit);
  Error found = error_of([&] { save_safetensors({{"a", large}}, {}, file.c_str()); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(found.code(), Code::io);
  EXPECT_TRUE(contains(found.what(), file)) << found.what();
  EXPECT_EQ(read("model"), old);
  EXPECT_EQ(files(), std::vector<std::string>{"model"});

  found = error_of([&] { save_safetensors({{"a", large}}, {}, path("no/such").c_str()); });
  EXPECT_EQ(found.code(), Code::io);
  found = error_of([&] { save_safetensors({{"__metadata__", large}}, {}, file.c_str()); });
  EXPECT_EQ(found.code(), Code::invalid);
  found = error_of([&] { save_safetensors({{"\xff", large}}, {}, file.c_str()); });
  EXPECT_EQ(found.code(), Code::invalid);
  EXPECT_EQ(read("model"), old);
  EXPECT_EQ(files(), std::vector<std::string>{"model"});
}

TEST_F(SafetensorsTest, ReplacesThroughLinksAndKeepsPermissions) {
  write("model", "old");
  chmod(path("model").c_str(), 0640);
  ASSERT_EQ(symlink("model", path("link").c_str()), 0);
  save_safetensors({}, {}, path("link").c_str());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read("model"), with_length("{}      "));
  struct stat status;
  stat(path("model").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

}  // namespace
}  // namespace mt
