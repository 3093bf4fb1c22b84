// SPDX-License-Identifier: Apache-2.0
#include "graph/switch.h"

#include <algorithm>
#include <utility>

namespace mt {
namespace {

thread_local Switch::Log* listening = nullptr;

void note(const std::shared_ptr<std::atomic<bool>>& of, bool read) {
  if (!listening) return;
  std::vector<Switch::Stand>& known = listening->stands;
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

Switch::Log::Log() : previous_(std::exchange(listening, this)) {}
Switch::Log::~Log() { listening = previous_; }

}  // namespace mt
