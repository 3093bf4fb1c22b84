// SPDX-License-Identifier: Apache-2.0
#include "io/safetensors.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>

#include "base/error.h"
#include "io/bytes.h"

namespace mt {
namespace {

constexpr uint64_t longest_header = 100'000'000;  // the format's own limit
constexpr char metadata_key[] = "__metadata__";

struct TypeName {
  const char* name;
  Dtype dtype;
};
constexpr TypeName type_names[] = {
    {"BOOL", Dtype::boolean}, {"U8", Dtype::uint8},      {"U16", Dtype::uint16},
    {"U32", Dtype::uint32},   {"U64", Dtype::uint64},    {"I8", Dtype::int8},
    {"I16", Dtype::int16},    {"I32", Dtype::int32},     {"I64", Dtype::int64},
    {"F16", Dtype::float16},  {"BF16", Dtype::bfloat16}, {"F32", Dtype::float32},
    {"F64", Dtype::float64}};

// Reads the header event by event: no document is built, so that neither depth nor repeated names
// can harm, and entries keep their order.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const char* file, std::vector<Safetensors::Entry>* entries, Metadata* metadata)
      : file_(file), entries_(entries), metadata_(metadata) {}

  bool start_object(size_t) override {
    if (place_ == Place::before)
      place_ = Place::names;
    else if (place_ == Place::names)
      enter();
    else
      malformed("an object where none belongs");
    return true;
  }
  bool end_object() override {
    if (place_ == Place::names)
      place_ = Place::after;
    else
      leave();
    return true;
  }
  bool key(string_t& text) override {
    if (place_ == Place::names) {
      name_ = text;
      if (text.find('\0') != std::string::npos) malformed("a NUL in its name");
      if (!names_.insert(text).second) malformed("the name twice");
    } else if (place_ == Place::metadata) {
      metadata_->emplace_back(text, "");
    } else {
      field_ = text == "dtype"          ? Field::dtype
               : text == "shape"        ? Field::shape
               : text == "data_offsets" ? Field::offsets
                                        : Field::none;
      if (field_ == Field::none) malformed("an unknown key");
      if (seen_ & 1u << static_cast<int>(field_)) malformed("a key twice");
      seen_ |= 1u << static_cast<int>(field_);
    }
    return true;
  }
  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      metadata_->back().second = text;
    } else if (place_ == Place::entry && field_ == Field::dtype) {
      set_dtype(text);
    } else {
      malformed("a string where none belongs");
    }
    return true;
  }
  bool start_array(size_t) override {
    if (place_ != Place::entry || (field_ != Field::shape && field_ != Field::offsets)) {
      malformed("a list where none belongs");
    }
    place_ = Place::list;
    return true;
  }
  bool end_array() override {
    place_ = Place::entry;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::list) malformed("a number where none belongs");
    if (field_ == Field::shape) {
      if (entry_.shape.rank() == max_rank) malformed("a shape of more than 16 dimensions");
      if (value > INT64_MAX) malformed("a size that is too large");
      entry_.shape.push_back(static_cast<int64_t>(value));
    } else {
      if (offsets_ == 2) malformed("more than two data_offsets");
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    }
    return true;
  }
  bool number_integer(number_integer_t) override { malformed("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { malformed("a fraction"); }
  bool boolean(bool) override { malformed("a bool where none belongs"); }
  bool null() override { malformed("null where it does not belong"); }
  bool binary(binary_t&) override { malformed("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(Code::io, "%s: the safetensors header is no JSON (at byte %zu)", file_, position);
  }

 private:
  enum class Place { before, names, entry, list, metadata, after };
  enum class Field { none, dtype, shape, offsets };

  [[noreturn]] void malformed(const char* fault) const {
    fail(Code::io, "%s: \"%.100s\" in the safetensors header has %s", file_, name_.c_str(), fault);
  }
  void enter() {
    if (name_ == metadata_key) {
      place_ = Place::metadata;
      return;
    }
    place_ = Place::entry;
    entry_ = {name_, Dtype::float32, {}, 0, 0};
    seen_ = 0;
    offsets_ = 0;
  }
  void leave() {
    if (place_ == Place::entry) {
      if (seen_ != 0b1110 || offsets_ != 2) malformed("no dtype, shape or data_offsets");
      entries_->push_back(std::move(entry_));
    }
    place_ = Place::names;
  }
  void set_dtype(const std::string& text) {
    for (const TypeName& row : type_names) {
      if (text != row.name) continue;
      entry_.dtype = row.dtype;
      return;
    }
    fail(Code::unsupported, "%s: \"%.100s\" has elements of type %.40s, which cannot be held",
         file_, name_.c_str(), text.c_str());
  }

  const char* file_;
  std::vector<Safetensors::Entry>* entries_;
  Metadata* metadata_;
  Place place_ = Place::before;
  Field field_ = Field::none;
  std::string name_;
  std::unordered_set<std::string> names_;
  Safetensors::Entry entry_;
  unsigned seen_ = 0;
  int offsets_ = 0;
};

// Each tensor fits its bytes, and together they cover the data without gap or overlap.
void check_extents(const std::vector<Safetensors::Entry>& entries, uint64_t bytes,
                   const char* file) {
  std::vector<const Safetensors::Entry*> order;
  for (const Safetensors::Entry& entry : entries) {
    uint64_t needed = checked_bytes(entry.shape, entry.dtype, file);
    if (entry.begin > entry.end || entry.end > bytes || entry.end - entry.begin != needed) {
      fail(Code::io, "%s: \"%.100s\": bytes %llu to %llu of %llu do not hold %s%s", file,
           entry.name.c_str(), static_cast<unsigned long long>(entry.begin),
           static_cast<unsigned long long>(entry.end), static_cast<unsigned long long>(bytes),
           name_of(entry.dtype), to_string(entry.shape).c_str());
    }
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t position = 0;
  for (const Safetensors::Entry* entry : order) {
    if (entry->begin != position) {
      fail(Code::io, "%s: \"%.100s\" begins at byte %llu, not at %llu where the one before ends",
           file, entry->name.c_str(), static_cast<unsigned long long>(entry->begin),
           static_cast<unsigned long long>(position));
    }
    position = entry->end;
  }
  if (position != bytes) {
    fail(Code::io, "%s: %llu bytes at the end belong to no tensor", file,
         static_cast<unsigned long long>(bytes - position));
  }
}

std::string quoted(const std::string& text, const char* what = "save") {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(Code::invalid, "%s: the name or text \"%.100s\" is not UTF-8", what, text.c_str());
  }
}

const char* type_name(Dtype dtype) {
  return std::find_if(std::begin(type_names), std::end(type_names),
                      [&](const TypeName& row) { return row.dtype == dtype; })
      ->name;
}

// The elements' order: wide types first, so that each is aligned; else the given one.
std::vector<size_t> data_order(const std::vector<NamedTensor>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return size_of(tensors[a].value.dtype()) > size_of(tensors[b].value.dtype());
  });
  return order;
}

std::string header_of(const std::vector<NamedTensor>& tensors, const std::vector<size_t>& order,
                      const Metadata& metadata) {
  std::vector<uint64_t> begin(tensors.size());
  uint64_t position = 0;
  for (size_t i : order) {
    begin[i] = position;
    position += static_cast<uint64_t>(tensors[i].value->bytes());
  }
  std::string text = "{";
  if (!metadata.empty()) {
    text += '"' + std::string(metadata_key) + "\":{";
    for (const auto& [key, value] : metadata) {
      if (text.back() != '{') text += ',';
      text += quoted(key) + ':' + quoted(value);
    }
    text += '}';
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& value = tensors[i].value;
    check_name(tensors[i].name, "save");
    if (text.size() > 1) text += ',';
    text += quoted(tensors[i].name) + ":{\"dtype\":\"" + type_name(value.dtype()) +
            "\",\"shape\":" + to_string(value.shape()) + ",\"data_offsets\":[" +
            std::to_string(begin[i]) + ',' +
            std::to_string(begin[i] + static_cast<uint64_t>(value->bytes())) + "]}";
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace

void check_name(const std::string& name, const char* what) {
  if (name == metadata_key) {
    fail(Code::invalid, "%s: a safetensors file has no tensor named %s", what, metadata_key);
  }
  quoted(name, what);
}

Safetensors::Safetensors(const char* path) : file_(path) {
  unsigned char bytes[8];
  if (file_.size() < sizeof bytes) fail(Code::io, "%s: is not a safetensors file", path);
  file_.read(bytes, sizeof bytes);
  uint64_t length = load_little_endian<uint64_t>(bytes);
  if (length > longest_header || length > file_.remaining()) {
    if (bytes[0] == 'P' && bytes[1] == 'K') {
      fail(Code::io, "%s: is a ZIP archive, as .npz files are, and no safetensors file", path);
    }
    fail(Code::io, "%s: the safetensors header claims %llu bytes, more than there are", path,
         static_cast<unsigned long long>(length));
  }
  std::string header(static_cast<size_t>(length), '\0');
  file_.read(header.data(), header.size());
  if (header.empty() || header[0] != '{') fail(Code::io, "%s: is not a safetensors file", path);
  HeaderReader reader(path, &entries_, &metadata_);
  nlohmann::json::sax_parse(header, &reader);
  data_begin_ = sizeof bytes + length;
  check_extents(entries_, file_.size() - data_begin_, path);
}

bool is_safetensors(const char* path) {
  InputFile file(path);
  unsigned char bytes[9];
  if (file.size() < sizeof bytes) return false;
  file.read(bytes, sizeof bytes);
  return bytes[8] == '{' && load_little_endian<uint64_t>(bytes) <= longest_header;
}

const Safetensors::Entry* Safetensors::find(const std::string& name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Tensor Safetensors::read(const Entry& entry, Device& device) {
  HostBuffer buffer(file_.name().c_str(), entry.dtype, entry.shape, device);
  file_.seek(data_begin_ + entry.begin);
  file_.read(buffer.data(), buffer.bytes());
  if (entry.dtype == Dtype::boolean) make_boolean(buffer.data(), buffer.bytes());
  return buffer.take();
}

std::vector<NamedTensor> load_safetensors(const char* path, Device& device) {
  Safetensors file(path);
  std::vector<NamedTensor> tensors;
  for (const Safetensors::Entry& entry : file.entries()) {
    tensors.push_back({entry.name, file.read(entry, device)});
  }
  return tensors;
}

void save_safetensors(const std::vector<NamedTensor>& tensors, const Metadata& metadata,
                      const char* path) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<size_t> order = data_order(tensors);
  std::string header = header_of(tensors, order, metadata);
  std::vector<HostArray> values = to_host(tensors);
  unsigned char length[8];
  for (size_t i = 0; i < sizeof length; ++i) {
    length[i] = static_cast<unsigned char>(static_cast<uint64_t>(header.size()) >> 8 * i);
  }
  OutputFile file(path);
  file.write(length, sizeof length);
  file.write(header.data(), header.size());
  for (size_t i : order) file.write(values[i].data(), values[i].bytes());
  file.commit();
}

}  // namespace mt
