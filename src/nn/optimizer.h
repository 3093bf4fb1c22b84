// SPDX-License-Identifier: Apache-2.0
// Update rules. Everything that changes from step to step is a tensor kept as state, the learning
// rate and the step among it, so that a traced step advances when it is replayed.
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

namespace mt {

struct SgdOptions {
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW's decay
};
struct RmspropOptions {
  double smoothing = 0.99, epsilon = 1e-8, momentum = 0, weight_decay = 0;
};
struct AdagradOptions {
  double epsilon = 1e-10, initial = 0, weight_decay = 0;
};

// The numbers of one step in one dtype, without dimensions; each is recorded once for all
// parameters.
class Numbers {
 public:
  Numbers(Dtype dtype, Device& device, const std::vector<Tensor>& shared);
  const Tensor& operator[](size_t i) const { return shared_[i]; }  // Rule::shared
  const Tensor& operator()(double value);                          // a constant

 private:
  struct Constant {
    double value;
    Tensor tensor;
  };
  Dtype dtype_;
  Device& device_;
  std::vector<Tensor> shared_;
  std::deque<Constant> constants_;
};

// One rule. A step asks it once for the numbers that all parameters share, then for each
// parameter's update; all of them are plain operators.
class Rule {
 public:
  struct StateKind {
    const char* name;
    double initial;
  };
  virtual ~Rule() = default;
  virtual const char* name() const = 0;
  virtual std::vector<StateKind> states() const = 0;
  // Numbers without dimensions, float64, from the learning rate and the step (from 1).
  virtual std::vector<Tensor> shared(const Tensor& rate, const Tensor& step) const = 0;
  // The new weight; `states` are replaced. All in one dtype, float32 or float64.
  virtual Tensor update(Tensor weight, Tensor gradient, Numbers& numbers,
                        std::vector<Tensor>* states) const = 0;
};

std::unique_ptr<Rule> make_rule(const SgdOptions& options);
std::unique_ptr<Rule> make_rule(const AdamOptions& options);
std::unique_ptr<Rule> make_rule(const RmspropOptions& options);
std::unique_ptr<Rule> make_rule(const AdagradOptions& options);

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
