// SPDX-License-Identifier: Apache-2.0
#include "io/npz.h"

#include <zip.h>

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "base/error.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace mt {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

[[noreturn]] void refuse(const char* shown, zip_error_t* error) {
  if (zip_error_code_zip(error) == ZIP_ER_MEMORY) {
    fail(Code::memory, "%s: out of memory on the host", shown);
  }
  fail(Code::io, "%s: %s", shown, zip_error_strerror(error));
}

struct OwnError {
  explicit OwnError(int code) { zip_error_init_with_code(&error, code); }
  ~OwnError() { zip_error_fini(&error); }
  OwnError(const OwnError&) = delete;
  zip_error_t error;
};

Archive open_archive(const char* path, const char* shown, int flags) {
  int code = 0;
  Archive archive(zip_open(path, flags, &code));
  if (!archive) {
    if (code == ZIP_ER_NOZIP && is_safetensors(path)) {
      fail(Code::io, "%s: is a safetensors file, and no .npz file", shown);
    }
    OwnError own(code);
    refuse(shown, &own.error);
  }
  return archive;
}

class Member final : public ByteSource {
 public:
  Member(zip_t* archive, zip_uint64_t index, const zip_stat_t& status, std::string name)
      : ByteSource(std::move(name)),
        file_(zip_fopen_index(archive, index, 0)),
        remaining_(status.size) {
    if (!file_) refuse(this->name().c_str(), zip_get_error(archive));
    uint64_t most = status.comp_size > UINT64_MAX / largest_ratio - 64
                        ? UINT64_MAX
                        : (status.comp_size + 64) * largest_ratio;
    if (status.size > most) {
      fail(Code::io, "%s: claims %llu bytes, more than it can hold", this->name().c_str(),
           static_cast<unsigned long long>(status.size));
    }
  }

  uint64_t remaining() const override { return remaining_; }

 private:
  size_t read_some(void* data, size_t bytes) override {
    const zip_int64_t count = zip_fread(file_.get(), data, bytes);
    if (count < 0) refuse(name().c_str(), zip_file_get_error(file_.get()));
    remaining_ -= std::min(remaining_, static_cast<uint64_t>(count));
    return static_cast<size_t>(count);
  }

  std::unique_ptr<zip_file_t, Discard> file_;
  uint64_t remaining_;
};

constexpr char suffix[] = ".npy";
constexpr size_t suffix_size = 4;

}  // namespace

std::vector<NamedTensor> load_npz(const char* path, Device& device) {
  Archive archive = open_archive(path, path, ZIP_RDONLY);
  std::vector<NamedTensor> tensors;
  std::unordered_set<std::string> names;
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_uint64_t index = static_cast<zip_uint64_t>(i);
    zip_stat_t status;
    zip_stat_init(&status);
    const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(archive.get(), index, 0, &status) != 0 ||
        (status.valid & needed) != needed) {
      fail(Code::io, "%s: member %llu: %s", path, static_cast<unsigned long long>(index),
           zip_strerror(archive.get()));
    }
    std::string name = status.name;
    Member member(archive.get(), index, status, std::string(path) + ": " + name);
    if (name.size() > suffix_size &&
        name.compare(name.size() - suffix_size, suffix_size, suffix) == 0) {
      name.resize(name.size() - suffix_size);
    }
    if (name.empty() || !names.insert(name).second) {
      fail(Code::io, "%s: two members have the name \"%s\"", path, name.c_str());
    }
    Tensor value = read_npy(member, device);
    member.finish();
    tensors.push_back({std::move(name), std::move(value)});
  }
  return tensors;
}

void save_npz(const std::vector<NamedTensor>& tensors, const char* path, bool compress) {
  // Both stay until the archive is closed, which is when it reads them.
  std::vector<std::string> headers;
  for (const NamedTensor& tensor : tensors) headers.push_back(npy_header(tensor.value, path));
  std::vector<HostArray> values = to_host(tensors);
  OutputFile file(path);
  if (tensors.empty()) {  // libzip makes no file then: the end record alone is an empty archive
    const char end_record[22] = {'P', 'K', 5, 6};
    file.write(end_record, sizeof end_record);
    file.commit();
    return;
  }
  Archive archive = open_archive(file.temporary().c_str(), path, ZIP_CREATE | ZIP_TRUNCATE);
  auto broken = [&] { refuse(path, zip_get_error(archive.get())); };
  for (size_t i = 0; i < tensors.size(); ++i) {
    auto bytes_of = [](const void* data) {
      return static_cast<zip_uint8_t*>(const_cast<void*>(data));
    };
    zip_buffer_fragment_t parts[2] = {{bytes_of(headers[i].data()), headers[i].size()},
                                      {bytes_of(values[i].data()), values[i].bytes()}};
    std::string name = tensors[i].name + suffix;
    zip_source_t* source =
        zip_source_buffer_fragment(archive.get(), parts, values[i].bytes() ? 2 : 1, 0);
    if (!source) broken();
    zip_int64_t index = zip_file_add(archive.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      broken();
    }
    zip_uint64_t member = static_cast<zip_uint64_t>(index);
    // The time is fixed, so that the same tensors make the same file: 1 January 1980.
    if (zip_set_file_compression(archive.get(), member, compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 0) != 0 ||
        zip_file_set_dostime(archive.get(), member, 0, 1 << 5 | 1, 0) != 0) {
      broken();
    }
  }
  if (zip_close(archive.get()) != 0) broken();
  archive.release();  // closing has freed it
  file.commit();
}

}  // namespace mt
