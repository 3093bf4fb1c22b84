// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/contract/tuning.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "base/error.h"

namespace mt::cuda {
namespace {

[[noreturn]] void fail_with(const std::string& source, const char* what) {
  fail(Code::io, "%s: the file cannot be %s: %s", source.c_str(), what, std::strerror(errno));
}

// Others who add to the file wait until this has gone. Where there is no file it makes one.
class Lock {
 public:
  Lock(const std::string& file, const std::string& source) {
    do {
      if (descriptor_ >= 0) close(descriptor_);
      descriptor_ = open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor_ < 0) fail_with(source, "written");
      while (flock(descriptor_, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        const int reason = errno;
        close(descriptor_);
        errno = reason;
        fail_with(source, "locked");
      }
    } while (!is(file));
  }
  ~Lock() { close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  // It may have been replaced while this waited.
  bool is(const std::string& file) const {
    struct stat own, there;
    return fstat(descriptor_, &own) == 0 && stat(file.c_str(), &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
  }

  int descriptor_ = -1;
};

}  // namespace

Tuning* Tuning::chosen() {
  static std::mutex mutex;
  static auto* known = new std::map<std::pair<std::string, bool>, Tuning*>;
  const char* file = std::getenv("MT_CUDA_TUNE");
  const bool measures = file && *file;
  if (!measures) file = std::getenv("MT_CUDA_TUNED");
  if (!file || !*file) return nullptr;
  std::lock_guard lock(mutex);
  auto found = known->find({file, measures});
  if (found != known->end()) return found->second;
  return (*known)[{file, measures}] = new Tuning(file, measures);
}

Tuning::Tuning(std::string file, bool measures)
    : file_(std::move(file)), measures_(measures), table_(read(), source()) {}

std::string Tuning::find(const std::string& device, const Facts& facts,
                         const std::vector<std::string>& kernels) {
  std::lock_guard lock(mutex_);
  return table_.find(device, facts, kernels);
}

void Tuning::add(const std::string& line) {
  std::lock_guard lock(mutex_);
  Lock alone(file_, source());
  std::string text = read();
  if (text.empty() || text.back() != '\n') text += '\n';
  text += line + "\n";
  KernelTable table(text, source());
  replace(text);
  table_ = std::move(table);
}

// One that is to be written may be missing or empty, and begins as an empty table.
std::string Tuning::read() const {
  std::unique_ptr<FILE, int (*)(FILE*)> in(std::fopen(file_.c_str(), "rb"), std::fclose);
  const std::string empty = std::string(table_heading) + "\n";
  if (!in && errno == ENOENT && measures_) return empty;
  if (!in) fail_with(source(), "read");
  std::string text;
  char part[4096];
  while (size_t count = std::fread(part, 1, sizeof part, in.get())) text.append(part, count);
  if (std::ferror(in.get())) fail_with(source(), "read");
  return text.empty() && measures_ ? empty : text;
}

void Tuning::replace(const std::string& text) const {
  const std::string other = file_ + ".new";
  std::ofstream out(other, std::ios::binary);
  out << text;
  out.close();
  if (out && std::rename(other.c_str(), file_.c_str()) == 0) return;
  const int reason = errno;
  std::remove(other.c_str());
  errno = reason;
  fail_with(source(), "written");
}

}  // namespace mt::cuda
