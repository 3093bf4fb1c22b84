// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/profile.h.
#include "mtorch/profile.h"

#include "api/guard.h"
#include "api/strings.h"
#include "fusion/profile.h"
#include "io/trace_events.h"

struct mt_profile {
  mt::Profile profile;
};

using namespace mt::api;

mt_profile* mt_profile_start(void) {
  return read<mt_profile*>("profile_start", nullptr, [] { return new mt_profile; });
}

mt_status mt_profile_stop(mt_profile* profile) {
  return run("profile_stop", [&] { required(profile, "profile")->profile.stop(); });
}

char* mt_profile_text(mt_profile* profile) {
  return read<char*>("profile_text", nullptr,
                     [&] { return give_text(required(profile, "profile")->profile.text()); });
}

mt_status mt_profile_save(mt_profile* profile, const char* path) {
  return change("profile_save", [&] {
    mt::save_trace_events(required(profile, "profile")->profile, required(path, "the path"));
  });
}

void mt_profile_release(mt_profile* profile) { delete profile; }
