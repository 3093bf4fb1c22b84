// SPDX-License-Identifier: Apache-2.0
/// @file profile.hpp
/// Where time goes. See mtorch.hpp and profile.h.
#ifndef MTORCH_PROFILE_HPP_
#define MTORCH_PROFILE_HPP_

#include <memory>
#include <string>

#include "profile.h"
#include "tensor.hpp"

namespace mtorch {

/// Measures what each group of operators takes, from when it is made until stop().
///
/// @code
/// Profile profile;
/// for (int i = 0; i < 10; ++i) train_step();
/// profile.stop();
/// std::cout << profile.text();
/// @endcode
class Profile {
 public:
  /// Starts. Throws while another one measures.
  Profile() : handle_(detail::required(mt_profile_start()), mt_profile_release) {}
  /// Ends it; what runs later is not counted.
  void stop() { check(mt_profile_stop(handle_.get())); }
  /// What was measured, as a table.
  std::string text() const { return detail::take_string(mt_profile_text(handle_.get())); }
  /// Writes the single runs as Chrome's trace events, for ui.perfetto.dev.
  void save(const std::string& path) const {
    check(mt_profile_save(handle_.get(), detail::text(path)));
  }

 private:
  std::unique_ptr<mt_profile, void (*)(mt_profile*)> handle_;
};

}  // namespace mtorch
#endif
