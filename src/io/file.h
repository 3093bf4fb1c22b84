// SPDX-License-Identifier: Apache-2.0
// Reading files without trusting them, and writing them whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mt {

// Deflate shrinks by no more than this. What claims more is malformed, and is refused before memory
// is taken for it.
constexpr uint64_t largest_ratio = 1032;

// Bytes read in order. Reading past the end fails.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  void read(void* data, size_t bytes);
  // Fails when there is more. Of what is compressed the checksum is compared only here.
  void finish();
  // An upper bound for the bytes that are left: what a header may claim at most.
  virtual uint64_t remaining() const = 0;
  // For messages: the path, or "archive.npz: member".
  const std::string& name() const { return name_; }

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}

 private:
  // The next bytes, at most as many, some of them or, at the end, none; returns how many.
  virtual size_t read_some(void* data, size_t bytes) = 0;

  std::string name_;
};

class InputFile final : public ByteSource {
 public:
  explicit InputFile(const char* path);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;

  uint64_t remaining() const override { return size_ - position_; }
  uint64_t size() const { return size_; }
  void seek(uint64_t position) { position_ = position; }

 private:
  size_t read_some(void* data, size_t bytes) override;

  int file_;
  uint64_t size_, position_ = 0;
};

// A file that appears under its name only by commit(): until then it is written beside it, and
// without commit() it is removed.
class OutputFile {
 public:
  explicit OutputFile(const char* path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;

  void write(const void* data, size_t bytes);
  // The file being written, for a library that writes files itself. What it makes under this name,
  // in place of ours, is what commit() takes.
  const std::string& temporary() const { return temporary_; }
  void commit();

 private:
  [[noreturn]] void fail_with(const char* action) const;

  std::string path_, target_, temporary_;
  int file_ = -1;
};

}  // namespace mt
