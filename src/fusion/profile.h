// SPDX-License-Identifier: Apache-2.0
// Measures where time goes: how long each group of each evaluation takes, in all threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"

namespace mt {

class Backend;

class Profile {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  // Runs that did the same.
  struct Kind {
    std::string name;
    int64_t runs = 0;
    Clock::duration time{};            // of all runs together
    double bytes = 0, operations = 0;  // of one; 0: not known
  };
  struct Event {
    size_t kind;
    int thread;
    Clock::duration begin;  // since the start
    Clock::duration time;
  };

  // Begins to measure. Fails while another profile measures.
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  // Ends; later runs are not counted. A second call does nothing.
  void stop();

  // Whether any profile measures. While none does, this check is all that profiling costs.
  static bool measures() { return measures_.load(std::memory_order_relaxed); }
  // Adds a run to the profile that measures. Never fails: a run that there is no memory for is not
  // counted.
  static void add(const std::string& name, Time begin, Time end) noexcept;
  // When one group of a plan ran.
  struct Span {
    size_t group;
    Time begin, end;
  };
  static void add(const Plan& plan, const std::vector<Span>& spans) noexcept;

  // What was measured up to now: a table, the costliest first.
  std::string text() const;
  // The kinds of work that ran, and the single runs, of which the first million are kept.
  std::vector<Kind> kinds() const;
  std::vector<Event> events() const;

 private:
  // The kinds of a plan's groups, determined once.
  struct Named {
    std::shared_ptr<const void> plan;  // held, so that no other plan gets its address
    std::vector<size_t> kinds;
  };
  size_t kind_of(const Kind& kind);
  const std::vector<size_t>& kinds_of(const Plan& plan);
  void count(size_t kind, Time begin, Time end);
  // Calls f with the profile that measures; f's own time is not counted.
  template <class F>
  static void change(F&& f) noexcept;

  static std::atomic<bool> measures_;
  static std::mutex mutex_;  // of all profiles: `current_` and what it holds
  static Profile* current_;

  Time begin_, end_;
  Clock::duration own_{};  // spent in counting
  std::vector<Kind> kinds_;
  std::unordered_map<std::string, size_t> kind_of_;
  std::unordered_map<const void*, Named> plans_;
  std::vector<Event> events_;
  std::vector<uint64_t> threads_;  // as they appeared
};

// Measures the scope that it is in as one run, while a profile measures.
class Measured {
 public:
  explicit Measured(const char* name) : name_(Profile::measures() ? name : nullptr) {
    if (name_) begin_ = Profile::Clock::now();
  }
  ~Measured() {
    if (name_) Profile::add(name_, begin_, Profile::Clock::now());
  }
  Measured(const Measured&) = delete;

 private:
  const char* name_;
  Profile::Time begin_;
};

// Runs the plan and adds each of its groups.
void run_measured(Backend& backend, const Plan& plan, void* const* buffers,
                  const Immediates* immediates, void* scratch);

}  // namespace mt
