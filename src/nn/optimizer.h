// SPDX-License-Identifier: Apache-2.0
// Steps of training. Everything that changes from one to the next is a tensor kept as state, the
// learning rate and the step among it, so that a traced step advances when it is replayed.
#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusion/trace.h"
#include "graph/variable.h"
#include "nn/parameters.h"
#include "nn/rules.h"

namespace mt {

// A rule for the parameters of one collection, and other optimizers whose steps are part of its
// own.
class Optimizer {
 public:
  Optimizer(Ref<Parameters> parameters, double rate, std::unique_ptr<Rule> rule);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;

  // From now on a group of this one, whose rate follows in proportion to it.
  void add(std::shared_ptr<Optimizer> group);
  void step();
  void record_step();            // the same as pending operators
  int64_t steps() const;         // reads a value
  double learning_rate() const;  // reads a value
  void set_learning_rate(double rate);
  // All that a later step depends on, computed.
  std::vector<NamedTensor> state();
  // All of it or, where a name, a shape, a dtype or a number does not fit, none.
  void set_state(const std::vector<NamedTensor>& given);
  void save(const char* path);
  void load(const char* path);

 private:
  using Slots = std::vector<std::unique_ptr<StateSlot>>;
  struct Group {
    std::shared_ptr<Optimizer> optimizer;
    double proportion = 1;                                    // as long as its rate is still
    double given = std::numeric_limits<double>::quiet_NaN();  // what it then got
    StateSlot written{};                                      // the proportion, in a state
  };
  struct Part {
    Optimizer* optimizer;
    Optimizer* lead;  // whose `group` it is
    Group* group;     // null: nobody's here
  };
  struct NewRate {
    Optimizer* optimizer;
    double rate;
    Group* group;
    double proportion;
  };
  struct Advance;             // of one part by one step, not yet made
  std::vector<Part> parts();  // this one, its groups and theirs
  void find_parts(Optimizer* lead, Group* group, std::vector<Part>* parts);
  double proportion_of(const Group& group) const;
  void find_rates(double rate, Group* group, double proportion, std::vector<NewRate>* rates);
  void note(const NewRate& given);
  static void check_rate(double rate);
  // Fails where two have the same parameter, or the same name for one.
  static void check_apart(const std::vector<Part>& parts);
  const Slots& slots_of(const Parameters::Entry& entry);
  void follow_numbers(Device& device);
  static bool replay_pays(const std::vector<Part>& parts);
  Advance advanced();
  void commit(Advance advance);
  struct NamedSlot {
    std::string name;
    StateSlot* slot;
  };
  std::vector<NamedSlot> named_slots();
  static std::vector<NamedTensor> values_of(const std::vector<NamedSlot>& slots);
  std::string rules();
  void bind_state(const std::vector<NamedSlot>& slots, std::vector<Tensor> values);

  Ref<Parameters> parameters_;
  std::unique_ptr<Rule> rule_;
  std::deque<Group> groups_;
  Optimizer* owner_ = nullptr;    // whose group it is
  StateSlot rate_, step_;         // float64, without dimensions
  double known_rate_ = 0;         // what rate_ is
  double last_nonzero_rate_ = 0;  // 0: there was none
  std::unordered_map<const Binding*, Slots> slots_;
  std::optional<Trace> replay_;             // of record_step(), for these parameters:
  std::vector<const void*> replay_trains_;  // as Binding::place()
};

}  // namespace mt
