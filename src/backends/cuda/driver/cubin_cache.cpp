// SPDX-License-Identifier: Apache-2.0
// Compiled kernels in files. A file holds the text that it was compiled from, which is compared in
// full, and a checksum of all it holds; one that is damaged is as good as none. Files are written
// under another name first, so that nobody reads half of one.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/cuda/build_version.h"
#include "backends/cuda/driver/nvrtc.h"

namespace mt::cuda {
namespace {

namespace files = std::filesystem;

uint64_t checksum(const std::string& bytes) {  // FNV-1a
  uint64_t sum = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
  return sum;
}

std::string folder() {
  if (const char* chosen = std::getenv("MT_CUDA_CACHE")) return chosen;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::string(cache) + "/mtorch";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/mtorch";
  return "";
}

// What must be the same for the kernel to be.
std::string key_of(const std::string& what, const std::string& source, int capability) {
  return "mtorch " MT_BUILD_VERSION ", nvrtc " + nvrtc_build() + ", sm_" +
         std::to_string(capability) + ", " + what + "\n" + source;
}

std::string contents(const std::string& key, const std::string& cubin) {
  std::ostringstream text;
  text << key.size() << ' ' << cubin.size() << '\n' << key << cubin;
  std::string body = text.str();
  return std::to_string(checksum(body)) + "\n" + body;
}

std::vector<char> read(const std::string& file, const std::string& key) {
  std::ifstream in(file, std::ios::binary);
  std::string all(std::istreambuf_iterator<char>(in), {});
  size_t line = all.find('\n'), second = all.find('\n', line + 1);
  if (line == all.npos || second == all.npos) return {};
  std::string body = all.substr(line + 1);
  if (std::to_string(checksum(body)) != all.substr(0, line)) return {};
  if (all.compare(second + 1, key.size(), key) != 0) return {};
  std::string cubin = all.substr(second + 1 + key.size());
  if (contents(key, cubin) != all) return {};
  return {cubin.begin(), cubin.end()};
}

void write(const std::string& file, const std::string& key, const std::vector<char>& cubin) {
  std::error_code error;
  files::path path(file);
  files::create_directories(path.parent_path(), error);
  if (error) return;
  chmod(path.parent_path().c_str(), S_IRWXU);
  std::string other = file + "." + std::to_string(getpid());
  std::ofstream out(other, std::ios::binary);
  out << contents(key, {cubin.begin(), cubin.end()});
  out.close();
  if (out) files::rename(other, file, error);
  if (!out || error) files::remove(other, error);
}

// The file's contents for that key, or what make() returns, which then becomes that.
template <class Make>
std::vector<char> cached(const std::string& key, Make&& make) {
  std::string where = folder();
  if (where.empty()) return make();
  std::string file = where + "/" + std::to_string(checksum(key)) + ".cubin";
  std::vector<char> found = read(file, key);
  if (!found.empty()) return found;
  found = make();
  write(file, key, found);
  return found;
}

}  // namespace

std::vector<char> cached_cubin(const std::string& source, int capability) {
  uint64_t included = 0;
  for (int i = 0; i < header_count; ++i)
    included ^= checksum(headers[i].text) * uint64_t(2 * i + 1);
  return cached(key_of("headers " + std::to_string(included), source, capability),
                [&] { return compile_cubin(source, capability); });
}

// Its names and the code are one file: "name\ntype\ncode".
UserText cached_user_text(const std::string& source, const char* name, int capability) {
  std::vector<char> all = cached(key_of(std::string("kernel ") + name, source, capability), [&] {
    UserText made = compile_user_text(source, name, capability);
    std::string names = made.function + "\n" + made.type + "\n";
    std::vector<char> bytes(names.begin(), names.end());
    bytes.insert(bytes.end(), made.cubin.begin(), made.cubin.end());
    return bytes;
  });
  auto type = std::find(all.begin(), all.end(), '\n') + 1,
       code = std::find(type, all.end(), '\n') + 1;
  return {{code, all.end()}, {all.begin(), type - 1}, {type, code - 1}};
}

}  // namespace mt::cuda
