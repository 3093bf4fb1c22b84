// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace mt {
namespace {

constexpr size_t longest_transfer = size_t{1} << 30;  // Linux moves at most 2 GiB a call

// Links are followed, so that the file they lead to is replaced and not the link.
std::string resolved(const char* path) {
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  std::unique_ptr<char, Free> real(realpath(path, nullptr));
  return real ? real.get() : path;
}

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The new name must survive a crash, too. Some file systems cannot say so; then nothing is lost.
void synchronize_folder(const std::string& path) {
  int folder = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace

void ByteSource::read(void* data, size_t bytes) {
  for (char* next = static_cast<char*>(data); bytes > 0;) {
    const size_t count = read_some(next, bytes);
    if (count == 0) fail(Code::io, "%s: ends too early", name().c_str());
    next += count;
    bytes -= count;
  }
}

void ByteSource::finish() {
  char byte;
  if (read_some(&byte, 1) > 0) fail(Code::io, "%s: goes on after its elements", name().c_str());
}

InputFile::InputFile(const char* path) : ByteSource(path), file_(open(path, O_RDONLY | O_CLOEXEC)) {
  struct stat status;
  if (file_ < 0 || fstat(file_, &status) != 0) {
    int error = errno;
    if (file_ >= 0) close(file_);
    fail(Code::io, "%s: cannot be opened: %s", path, std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    close(file_);
    fail(Code::io, "%s: is not a regular file", path);
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() { close(file_); }

size_t InputFile::read_some(void* data, size_t bytes) {
  ssize_t count;
  do {
    count = pread(file_, data, std::min(bytes, longest_transfer), static_cast<off_t>(position_));
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail(Code::io, "%s: cannot be read: %s", name().c_str(), std::strerror(errno));
  position_ += static_cast<uint64_t>(count);
  return static_cast<size_t>(count);
}

OutputFile::OutputFile(const char* path) : path_(path), target_(resolved(path)) {
  static std::atomic<unsigned> counter{0};
  struct stat old;
  bool exists = stat(target_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) fail(Code::io, "%s: is not a regular file", path);
  do {
    temporary_ = target_ + ".part" + std::to_string(getpid()) + "-" + std::to_string(counter++);
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail_with("cannot be written");
  // A replaced file keeps its permissions; where that is not allowed, those of a new one serve.
  if (exists && fchmod(file_, old.st_mode & 07777) != 0) errno = 0;
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void OutputFile::fail_with(const char* action) const {
  fail(Code::io, "%s: %s: %s", path_.c_str(), action, std::strerror(errno));
}

void OutputFile::write(const void* data, size_t bytes) {
  const char* source = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t count = ::write(file_, source, std::min(bytes, longest_transfer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with("cannot be written");
    source += count;
    bytes -= static_cast<size_t>(count);
  }
}

void OutputFile::commit() {
  // Opened anew, because a library may have put another file in its place.
  int written = open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  int failed = written < 0 || fsync(written) != 0;
  int error = errno;
  if (written >= 0) close(written);
  errno = error;
  if (failed) fail_with("cannot be written");
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail_with("cannot be replaced");
  close(file_);
  file_ = -1;
  synchronize_folder(target_);
}

}  // namespace mt
