// SPDX-License-Identifier: Apache-2.0
#include "graph/switch.h"

#include <algorithm>
#include <utility>

namespace mt {
namespace {

thread_local Switch::Log* current_log = nullptr;

void note(const std::shared_ptr<std::atomic<bool>>& of, bool read) {
  if (!current_log) return;
  std::vector<Switch::Stand>& known = current_log->stands;
  auto same = [&](const Switch::Stand& stand) { return stand.of == of; };
  if (std::none_of(known.begin(), known.end(), same)) known.push_back({of, *of, read});
}

}  // namespace

bool Switch::on() const {
  note(on_, true);
  return *on_;
}

void Switch::set(bool on) {
  note(on_, false);
  *on_ = on;
}

Switch::Log::Log() : previous_(std::exchange(current_log, this)) {}
Switch::Log::~Log() { current_log = previous_; }

}  // namespace mt
