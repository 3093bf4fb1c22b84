// SPDX-License-Identifier: Apache-2.0
// Two zero bytes, a type, the number of dimensions; each size as a big-endian uint32; the elements,
// big-endian.
#include "io/idx.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "io/bytes.h"
#include "io/file.h"

namespace mt {
namespace {

constexpr size_t longest_transfer = size_t{1} << 30;  // what zlib counts fits in an int

// zlib reads plain files as they are.
class GzipFile final : public ByteSource {
 public:
  explicit GzipFile(const char* path) : ByteSource(path), remaining_(upper_bound(path)) {
    errno = 0;
    file_ = gzopen(path, "rb");
    if (!file_) fail(Code::io, "%s: cannot be opened: %s", path, std::strerror(errno));
  }
  ~GzipFile() override { gzclose(file_); }
  GzipFile(const GzipFile&) = delete;

  uint64_t remaining() const override { return remaining_; }

 private:
  size_t read_some(void* data, size_t bytes) override {
    const int count = gzread(file_, data, static_cast<unsigned>(std::min(bytes, longest_transfer)));
    int code = Z_OK;
    const char* fault = gzerror(file_, &code);
    if (count < 0) fail(Code::io, "%s: %s", name().c_str(), fault);
    if (count == 0 && code == Z_BUF_ERROR) fail(Code::io, "%s: ends too early", name().c_str());
    remaining_ -= std::min(remaining_, static_cast<uint64_t>(count));
    return static_cast<size_t>(count);
  }
  static uint64_t upper_bound(const char* path) {
    uint64_t size = InputFile(path).size();
    return size > UINT64_MAX / largest_ratio ? UINT64_MAX : size * largest_ratio;
  }
  gzFile file_;
  uint64_t remaining_;
};

Dtype dtype_of(unsigned char code, const char* path) {
  switch (code) {
    case 0x08: return Dtype::uint8;
    case 0x09: return Dtype::int8;
    case 0x0b: return Dtype::int16;
    case 0x0c: return Dtype::int32;
    case 0x0d: return Dtype::float32;
    case 0x0e: return Dtype::float64;
    default: fail(Code::io, "%s: is not an IDX file (element type 0x%02x)", path, code);
  }
}

}  // namespace

Tensor load_idx(const char* path, Device& device) {
  GzipFile file(path);
  unsigned char start[4];
  file.read(start, sizeof start);
  if (start[0] != 0 || start[1] != 0) fail(Code::io, "%s: is not an IDX file", path);
  Dtype dtype = dtype_of(start[2], path);
  if (start[3] > max_rank) {
    fail(Code::io, "%s: has %d dimensions; at most %d can be held", path, start[3], max_rank);
  }
  Shape shape;
  for (int i = 0; i < start[3]; ++i) {
    unsigned char size[4];
    file.read(size, sizeof size);
    shape.push_back(load_big_endian<uint32_t>(size));
  }
  uint64_t bytes = checked_bytes(shape, dtype, path);
  if (bytes > file.remaining()) {
    fail(Code::io, "%s: %s%s needs %llu bytes, more than there are", path, name_of(dtype),
         to_string(shape).c_str(), static_cast<unsigned long long>(bytes));
  }
  HostBuffer buffer(path, dtype, shape, device);
  file.read(buffer.data(), buffer.bytes());
  file.finish();
  swap_bytes(buffer.data(), buffer.bytes(), size_of(dtype));
  return buffer.take();
}

}  // namespace mt
