// SPDX-License-Identifier: Apache-2.0
// CUDA's run-time compiler, where it is installed. It needs no GPU.
#pragma once

#include <string>
#include <vector>

namespace mt::cuda {

// 13000 for 13.0; 0 when there is none.
int nvrtc_version();
// Which one exactly: the version does not tell one update from the next.
std::string nvrtc_build();
// Code for a GPU of that compute capability, which the driver loads. Fails with the compiler's
// words.
std::vector<char> compile_cubin(const std::string& source, int capability);
// The same, from the user's own folder of compiled kernels if it is there: $XDG_CACHE_HOME/mtorch,
// else ~/.cache/mtorch. MT_CUDA_CACHE names another folder; empty: none.
std::vector<char> cached_cubin(const std::string& source, int capability);

// The same for a text of the user's, in which `name` is a kernel.
struct UserText {
  std::vector<char> cubin;
  std::string function;  // the name that the kernel has there
  std::string type;      // of a pointer to it, as C++ writes it
};
UserText compile_user_text(const std::string& source, const char* name, int capability);
UserText cached_user_text(const std::string& source, const char* name, int capability);

// A source file that generated kernels may include.
struct Header {
  const char* name;
  const char* text;
};
extern const Header headers[];
extern const int header_count;

}  // namespace mt::cuda
