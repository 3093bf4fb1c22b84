// SPDX-License-Identifier: Apache-2.0
// Parameters with options and a rate of their own: an optimizer whose steps are part of another's.
#include <unordered_map>

#include "base/error.h"
#include "nn/optimizer.h"

namespace mt {

std::vector<Optimizer::Part> Optimizer::parts() {
  std::vector<Part> parts;
  find_parts(nullptr, nullptr, &parts);
  return parts;
}

void Optimizer::find_parts(Optimizer* lead, Group* group, std::vector<Part>* parts) {
  parts->push_back({this, lead, group});
  for (Group& own : groups_) own.optimizer->find_parts(this, &own, parts);
}

// Collections grow and tensors are shared after they have become groups, too.
void Optimizer::check_apart(const std::vector<Part>& parts) {
  if (parts.size() == 1) return;
  struct Owner {
    const Optimizer* optimizer;
    const Parameters::Entry* entry;
  };
  std::unordered_map<std::string, const Optimizer*> names;
  std::unordered_map<const void*, Owner> places;
  for (const Part& part : parts) {
    for (const Parameters::Entry& entry : part.optimizer->parameters_->entries()) {
      if (entry.is_buffer) continue;
      const Owner own{part.optimizer, &entry};
      const Owner& first = places.emplace(entry.binding->place(), own).first->second;
      if (first.optimizer != own.optimizer) {
        fail(Code::invalid, "optimizer: \"%s\" of one group is \"%s\" of another",
             first.entry->name.c_str(), entry.name.c_str());
      }
      if (names.emplace(entry.name, own.optimizer).first->second != own.optimizer) {
        fail(Code::invalid, "optimizer: two groups have a parameter \"%s\"", entry.name.c_str());
      }
    }
  }
}

Optimizer::~Optimizer() {
  for (Group& group : groups_) group.optimizer->owner_ = nullptr;
}

// A group has one owner, so that nothing is stepped twice; and whatever owns this one, too, gets
// the group's parameters, so that all of them must be apart.
void Optimizer::add(std::shared_ptr<Optimizer> group) {
  if (TraceLog::current()) fail(Code::trace, "optimizer: no group is added inside a trace");
  Optimizer* outermost = this;
  while (outermost->owner_) outermost = outermost->owner_;
  std::vector<Part> all = outermost->parts();
  for (const Part& own : all) {
    if (own.optimizer == group.get()) fail(Code::invalid, "optimizer: it has that group");
  }
  if (group->owner_) fail(Code::invalid, "optimizer: that is a group of another");
  for (const Part& part : group->parts()) all.push_back(part);
  check_apart(all);
  groups_.emplace_back().optimizer = std::move(group);
  groups_.back().optimizer->owner_ = this;
  for (Optimizer* owner = this; owner; owner = owner->owner_) owner->replay_.reset();
}

}  // namespace mt
