// SPDX-License-Identifier: Apache-2.0
#include "fusion/profile.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <thread>

#include "backends/backend.h"
#include "base/error.h"
#include "fusion/describe_group.h"

namespace mt {
namespace {

// Runs that are kept one by one (32 MiB); later ones are only counted in their kind.
constexpr size_t most_events = 1 << 20;
// Plans that are held, so that their groups need not be named again.
constexpr size_t most_plans = 1024;

double seconds(Profile::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

Profile::Clock::duration median(std::vector<Profile::Clock::duration>* times) {
  if (times->empty()) return {};
  auto middle = times->begin() + static_cast<std::ptrdiff_t>(times->size() / 2);
  std::nth_element(times->begin(), middle, times->end());
  return *middle;
}

class GroupTimes final : public GroupWatch {
 public:
  void begins(size_t) override { begin_ = Profile::Clock::now(); }
  void ends(size_t group) override {
    const Profile::Time end = Profile::Clock::now();
    try {
      spans_.push_back({group, begin_, end});
    } catch (const std::bad_alloc&) {  // not counted
    }
  }
  const std::vector<Profile::Span>& spans() const { return spans_; }

 private:
  std::vector<Profile::Span> spans_;
  Profile::Time begin_;
};

}  // namespace

std::atomic<bool> Profile::measures_{false};
std::mutex Profile::mutex_;
Profile* Profile::current_ = nullptr;

Profile::Profile() {
  std::lock_guard lock(mutex_);
  if (current_) fail(Code::invalid, "another profile has not been stopped");
  begin_ = Clock::now();
  current_ = this;
  measures_ = true;
}

Profile::~Profile() { stop(); }

void Profile::stop() {
  std::unordered_map<const void*, Named> plans;  // released without the lock
  std::lock_guard lock(mutex_);
  if (current_ != this) return;
  end_ = Clock::now();
  measures_ = false;
  current_ = nullptr;
  plans.swap(plans_);
}

template <class F>
void Profile::change(F&& f) noexcept {
  std::lock_guard lock(mutex_);
  if (!current_) return;
  const Time begin = Clock::now();
  try {
    f(*current_);
  } catch (const std::bad_alloc&) {  // not counted
  }
  current_->own_ += Clock::now() - begin;
}

void Profile::add(const std::string& name, Time begin, Time end) noexcept {
  change([&](Profile& profile) { profile.count(profile.kind_of({.name = name}), begin, end); });
}

void Profile::add(const Plan& plan, const std::vector<Span>& spans) noexcept {
  change([&](Profile& profile) {
    const std::vector<size_t>& kinds = profile.kinds_of(plan);
    for (const Span& span : spans) profile.count(kinds[span.group], span.begin, span.end);
  });
}

size_t Profile::kind_of(const Kind& kind) {
  const std::string key =
      kind.name + "|" + std::to_string(kind.bytes) + "|" + std::to_string(kind.operations);
  if (auto found = kind_of_.find(key); found != kind_of_.end()) return found->second;
  kinds_.push_back(kind);
  try {
    kind_of_.emplace(key, kinds_.size() - 1);
  } catch (...) {
    kinds_.pop_back();
    throw;
  }
  return kinds_.size() - 1;
}

const std::vector<size_t>& Profile::kinds_of(const Plan& plan) {
  if (plans_.size() >= most_plans) plans_.clear();
  Named& named = plans_[plan.prepared.get()];
  // If the backend prepares nothing, there is nothing to recognize a plan by.
  if (plan.prepared && named.kinds.size() == plan.groups.size()) return named.kinds;
  named.plan = plan.prepared;
  named.kinds.clear();
  for (const Group& group : plan.groups) {
    named.kinds.push_back(kind_of({.name = describe(group),
                                   .bytes = static_cast<double>(bytes_used(plan, group)),
                                   .operations = contraction_operations(group)}));
  }
  return named.kinds;
}

void Profile::count(size_t kind, Time begin, Time end) {
  if (begin < begin_) return;  // it began before the profile
  ++kinds_[kind].runs;
  kinds_[kind].time += end - begin;
  const uint64_t id = std::hash<std::thread::id>{}(std::this_thread::get_id());
  auto thread = std::find(threads_.begin(), threads_.end(), id);
  if (thread == threads_.end()) thread = threads_.insert(thread, id);
  if (events_.size() < most_events) {
    events_.push_back(
        {kind, static_cast<int>(thread - threads_.begin()), begin - begin_, end - begin});
  }
}

std::vector<Profile::Kind> Profile::kinds() const {
  std::lock_guard lock(mutex_);
  return kinds_;
}

std::vector<Profile::Event> Profile::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::string Profile::text() const {
  std::unique_lock lock(mutex_);
  const std::vector<Kind> kinds = kinds_;
  const std::vector<Event> events = events_;
  const double all = seconds((current_ == this ? Clock::now() : end_) - begin_ - own_);
  const bool one_thread = threads_.size() <= 1;
  lock.unlock();
  std::vector<std::vector<Clock::duration>> times(kinds.size());
  for (const Event& event : events) times[event.kind].push_back(event.time);
  std::vector<size_t> costliest_first(kinds.size());
  std::iota(costliest_first.begin(), costliest_first.end(), size_t{0});
  std::stable_sort(costliest_first.begin(), costliest_first.end(),
                   [&](size_t a, size_t b) { return kinds[a].time > kinds[b].time; });
  std::string result = " time ms  share    runs median us    GB/s  Gflop/s  what ran\n";
  auto rate = [](double amount, double time, int width) {
    char text[32];
    if (amount > 0 && time > 0) {
      std::snprintf(text, sizeof text, "%*.1f", width, amount / time * 1e-9);
    } else {
      std::snprintf(text, sizeof text, "%*s", width, "");
    }
    return std::string(text);
  };
  auto row = [&](double time) {
    char text[64];
    std::snprintf(text, sizeof text, "%8.3f %5.1f %%", time * 1e3, all > 0 ? time / all * 100 : 0);
    return std::string(text);
  };
  double inside = 0;
  for (size_t k : costliest_first) {
    const Kind& kind = kinds[k];
    if (kind.runs == 0) continue;
    const double each = seconds(median(&times[k]));
    char text[64];
    std::snprintf(text, sizeof text, " %7lld %9.2f ", static_cast<long long>(kind.runs),
                  each * 1e6);
    result += row(seconds(kind.time)) + text + rate(kind.bytes, each, 7) + " " +
              rate(kind.operations, each, 8) + "  " + kind.name + "\n";
    inside += seconds(kind.time);
  }
  if (one_thread) {
    result += row(std::max(0.0, all - inside)) + std::string(36, ' ') +
              "  all else: calls, your own code\n";
  }
  return result + row(all) + std::string(36, ' ') + "  from start to end\n";
}

void run_measured(Backend& backend, const Plan& plan, void* const* buffers,
                  const Immediates* immediates, void* scratch) {
  GroupTimes times;
  backend.run(plan, buffers, immediates, scratch, &times);
  Profile::add(plan, times.spans());
}

}  // namespace mt
