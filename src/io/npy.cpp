// SPDX-License-Identifier: Apache-2.0
// The header is a Python dictionary in ASCII: {'descr': '<f4', 'fortran_order': False,
// 'shape': (2, 3), }. Parsed here, because it is neither JSON nor worth a Python.
#include "io/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "graph/record.h"
#include "io/bytes.h"

namespace mt {
namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr size_t magic_size = 6;
constexpr size_t longest_header = 1 << 20;  // ours needs some hundred bytes

struct Header {
  Dtype dtype = Dtype::float32;
  bool swapped = false;  // the elements are big-endian
  bool column_major = false;
  Shape shape;
};

class HeaderParser {
 public:
  HeaderParser(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      bool* seen = key == "descr"           ? &has_descr_
                   : key == "fortran_order" ? &has_order_
                   : key == "shape"         ? &has_shape_
                                            : nullptr;
      if (!seen) malformed("has an unknown key");
      if (*seen) malformed("has a key twice");
      *seen = true;
      if (seen == &has_descr_) element_type();
      if (seen == &has_order_) header_.column_major = boolean();
      if (seen == &has_shape_) shape();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) malformed("goes on after its end");
    if (!has_descr_ || !has_order_ || !has_shape_) malformed("lacks descr, fortran_order or shape");
    return header_;
  }

 private:
  [[noreturn]] void malformed(const char* fault) const {
    fail(Code::io, "%s: the .npy header %s (at character %zu)", file_.c_str(), fault, position_);
  }
  void skip_space() {
    position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size());
  }
  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed("is not the dictionary it should be");
  }
  bool accept_word(const char* word) {
    skip_space();
    if (text_.compare(position_, std::strlen(word), word) != 0) return false;
    position_ += std::strlen(word);
    return true;
  }

  std::string quoted() {
    skip_space();
    char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') malformed("lacks a string");
    size_t end = text_.find(quote, ++position_);
    if (end == std::string::npos) malformed("has a string without end");
    std::string result = text_.substr(position_, end - position_);
    position_ = end + 1;
    return result;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    malformed("has a fortran_order that is neither True nor False");
  }

  void element_type() {
    skip_space();
    if (position_ < text_.size() && text_[position_] == '[') {
      fail(Code::unsupported, "%s: holds records; only plain element types can be read",
           file_.c_str());
    }
    std::string descr = quoted();
    struct Row {
      const char* code;
      Dtype dtype;
    };
    static constexpr Row rows[] = {
        {"b1", Dtype::boolean}, {"u1", Dtype::uint8},   {"u2", Dtype::uint16},
        {"u4", Dtype::uint32},  {"u8", Dtype::uint64},  {"i1", Dtype::int8},
        {"i2", Dtype::int16},   {"i4", Dtype::int32},   {"i8", Dtype::int64},
        {"f2", Dtype::float16}, {"f4", Dtype::float32}, {"f8", Dtype::float64}};
    bool has_order = !descr.empty() && std::strchr("<>=|", descr[0]);
    std::string code = has_order ? descr.substr(1) : descr;
    for (const Row& row : rows) {
      if (code != row.code) continue;
      header_.dtype = row.dtype;
      header_.swapped = descr[0] == '>' && size_of(row.dtype) > 1;
      return;
    }
    fail(Code::unsupported, "%s: elements of NumPy type '%.40s' cannot be held", file_.c_str(),
         descr.c_str());
  }

  void shape() {
    expect('(');
    while (!accept(')')) {
      if (header_.shape.rank() == max_rank) malformed("has a shape of more than 16 dimensions");
      header_.shape.push_back(size());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  int64_t size() {
    skip_space();
    size_t begin = position_;
    int64_t value = 0;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9';
         ++position_) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[position_] - '0', &value)) {
        malformed("has a size that is too large");
      }
    }
    if (position_ == begin) malformed("has a shape that is no tuple of sizes");
    accept('L');  // as Python 2 wrote them
    return value;
  }

  const std::string& text_;
  const std::string& file_;
  size_t position_ = 0;
  Header header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

Header read_header(ByteSource& source) {
  const std::string& file = source.name();
  unsigned char start[magic_size + 2];
  if (source.remaining() < sizeof start) fail(Code::io, "%s: is not a .npy file", file.c_str());
  source.read(start, sizeof start);
  if (std::memcmp(start, magic, magic_size) != 0) {
    fail(Code::io, "%s: is not a .npy file", file.c_str());
  }
  int version = start[magic_size];
  if (version < 1 || version > 3 || start[magic_size + 1] != 0) {
    fail(Code::io, "%s: .npy version %d.%d is not known", file.c_str(), version,
         start[magic_size + 1]);
  }
  unsigned char length_bytes[4] = {0, 0, 0, 0};
  source.read(length_bytes, version == 1 ? 2 : 4);
  size_t length = load_little_endian<uint32_t>(length_bytes);
  if (length > longest_header || length > source.remaining()) {
    fail(Code::io, "%s: the .npy header claims %zu bytes, more than there are", file.c_str(),
         length);
  }
  std::string text(length, '\0');
  source.read(text.data(), length);
  return HeaderParser(text, file).parse();
}

}  // namespace

Tensor read_npy(ByteSource& source, Device& device) {
  Header header = read_header(source);
  const char* file = source.name().c_str();
  uint64_t bytes = checked_bytes(header.shape, header.dtype, file);
  if (bytes > source.remaining()) {
    fail(Code::io, "%s: %s%s needs %llu bytes, the file has %llu", file, name_of(header.dtype),
         to_string(header.shape).c_str(), static_cast<unsigned long long>(bytes),
         static_cast<unsigned long long>(source.remaining()));
  }
  Shape stored = header.shape;
  Dims reversed;
  for (int i = stored.rank() - 1; i >= 0; --i) reversed.push_back(i);
  if (header.column_major) {
    for (int i = 0; i < stored.rank(); ++i) stored[i] = header.shape[stored.rank() - 1 - i];
  }
  HostBuffer buffer(file, header.dtype, stored, device);
  source.read(buffer.data(), buffer.bytes());
  if (header.swapped) swap_bytes(buffer.data(), buffer.bytes(), size_of(header.dtype));
  if (header.dtype == Dtype::boolean) make_boolean(buffer.data(), buffer.bytes());
  Tensor value = buffer.take();
  if (!header.column_major) return value;
  // The same elements, seen with their axes in the opposite order.
  return make_leaf(value->storage, header.dtype, permute(value->layout(), reversed));
}

std::string npy_header(const Tensor& tensor, const char* name) {
  static_assert(std::endian::native == std::endian::little);
  Dtype dtype = tensor.dtype();
  if (dtype == Dtype::bfloat16) {
    fail(Code::unsupported, "%s: NumPy files cannot hold bfloat16; cast it first", name);
  }
  char kind = dtype == Dtype::boolean ? 'b'
              : is_floating(dtype)    ? 'f'
              : is_unsigned(dtype)    ? 'u'
                                      : 'i';
  std::string text = "{'descr': '";
  text += size_of(dtype) == 1 ? '|' : '<';
  text += kind + std::to_string(size_of(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < tensor.rank(); ++i) {
    if (i) text += ", ";
    text += std::to_string(tensor.shape()[i]);
  }
  text += tensor.rank() == 1 ? ",), }" : "), }";
  // Padded with spaces, so that the elements begin at a multiple of 64.
  size_t before = magic_size + 4;
  text.append((64 - (before + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string header(magic, magic_size);
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Tensor load_npy(const char* path, Device& device) {
  InputFile file(path);
  return read_npy(file, device);
}

void save_npy(const Tensor& tensor, const char* path) {
  std::string header = npy_header(tensor, path);
  const HostArray value = contiguous_host_array(tensor);
  OutputFile file(path);
  file.write(header.data(), header.size());
  file.write(value.data(), value.bytes());
  file.commit();
}

}  // namespace mt
