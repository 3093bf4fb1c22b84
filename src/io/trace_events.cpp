// SPDX-License-Identifier: Apache-2.0
#include "io/trace_events.h"

#include <nlohmann/json.hpp>

#include "io/file.h"

namespace mt {
namespace {

double microseconds(Profile::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// A user's kernel may be called anything.
constexpr auto foreign_bytes = nlohmann::ordered_json::error_handler_t::replace;

}  // namespace

void save_trace_events(const Profile& profile, const char* path) {
  // Events first: of kinds there may be more by then, never fewer.
  const std::vector<Profile::Event> events = profile.events();
  const std::vector<Profile::Kind> kinds = profile.kinds();
  OutputFile file(path);
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  // Event by event: there may be a million.
  const char* separator = "\n";
  for (const Profile::Event& event : events) {
    const Profile::Kind& kind = kinds[event.kind];
    nlohmann::ordered_json json = {{"name", kind.name},
                                   {"ph", "X"},
                                   {"pid", 1},
                                   {"tid", event.thread + 1},
                                   {"ts", microseconds(event.begin)},
                                   {"dur", microseconds(event.time)}};
    if (kind.bytes > 0) json["args"]["bytes"] = kind.bytes;
    if (kind.operations > 0) json["args"]["operations"] = kind.operations;
    text += separator + json.dump(-1, ' ', false, foreign_bytes);
    separator = ",\n";
    if (text.size() > 1 << 20) {
      file.write(text.data(), text.size());
      text.clear();
    }
  }
  text += "\n]}\n";
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace mt
