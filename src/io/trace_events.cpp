// SPDX-License-Identifier: Apache-2.0
#include "io/trace_events.h"

#include <nlohmann/json.hpp>

#include "io/file.h"

namespace mt {
namespace {

double microseconds(Profile::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// A string or a number as JSON. An object of them takes memory when it is destroyed, of all times.
std::string text_of(const nlohmann::json& value) {
  // A user's kernel may be called anything.
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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
    std::string known;
    auto add = [&](const char* name, double number) {
      if (number > 0) known += (known.empty() ? "\"" : ",\"") + (name + ("\":" + text_of(number)));
    };
    add("bytes", kind.bytes);
    add("operations", kind.operations);
    text += separator + ("{\"name\":" + text_of(kind.name)) +
            ",\"ph\":\"X\",\"pid\":1,\"tid\":" + text_of(event.thread + 1) +
            ",\"ts\":" + text_of(microseconds(event.begin)) +
            ",\"dur\":" + text_of(microseconds(event.time)) +
            (known.empty() ? "}" : ",\"args\":{" + known + "}}");
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
