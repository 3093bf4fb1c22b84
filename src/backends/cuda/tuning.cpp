// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/tuning.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "tensor/error.h"

namespace mt::cuda {
namespace {

[[noreturn]] void fail_with(const std::string& source, const char* what) {
  fail(Code::io, "%s: the file cannot be %s: %s", source.c_str(), what, std::strerror(errno));
}

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
  std::string text = read();
  if (text.empty() || text.back() != '\n') text += '\n';
  text += line + "\n";
  KernelTable table(text, source());
  replace(text);
  table_ = std::move(table);
}

// One that is to be written begins as an empty table.
std::string Tuning::read() const {
  std::unique_ptr<FILE, int (*)(FILE*)> in(std::fopen(file_.c_str(), "rb"), std::fclose);
  if (!in && errno == ENOENT && measures_) return std::string(table_heading) + "\n";
  if (!in) fail_with(source(), "read");
  std::string text;
  char part[4096];
  while (size_t count = std::fread(part, 1, sizeof part, in.get())) text.append(part, count);
  if (std::ferror(in.get())) fail_with(source(), "read");
  return text;
}

void Tuning::replace(const std::string& text) const {
  const std::string other = file_ + "." + std::to_string(getpid());
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
