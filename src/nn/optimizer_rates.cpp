// SPDX-License-Identifier: Apache-2.0
// Learning rates: a group's follows that of the optimizer it is part of.
#include <cmath>

#include "base/error.h"
#include "io/host.h"
#include "nn/optimizer.h"

namespace mt {

void Optimizer::check_rate(double rate) {
  if (!(std::isfinite(rate) && rate >= 0)) {
    fail(Code::invalid, "optimizer: a learning rate of %g is not finite and >= 0", rate);
  }
}

// What a group's rate is to this one's: as it was, unless the group has got another rate on its
// own. Infinite to a rate that has always been 0.
double Optimizer::proportion_of(const Group& group) const {
  double own = group.optimizer->known_rate_;
  if (own == group.given || (own == 0 && known_rate_ == 0)) return group.proportion;
  return own / (known_rate_ != 0 ? known_rate_ : last_nonzero_rate_);
}

// The rates of all parts when this one's is `rate`. What is infinitely more than 0 stays, and
// follows from the first other rate on.
void Optimizer::find_rates(double rate, Group* group, double proportion,
                           std::vector<NewRate>* rates) {
  rates->push_back({this, rate, group, proportion});
  for (Group& part : groups_) {
    double factor = proportion_of(part), own = part.optimizer->known_rate_;
    if (std::isfinite(factor)) {
      own = rate * factor;
    } else if (rate != 0) {
      factor = own / rate;
    }
    part.optimizer->find_rates(own, &part, factor, rates);
  }
}

void Optimizer::note(const NewRate& given) {
  known_rate_ = given.rate;
  if (given.rate != 0) last_nonzero_rate_ = given.rate;
  if (!given.group) return;
  given.group->given = given.rate;
  given.group->proportion = given.proportion;
}

void Optimizer::set_learning_rate(double rate) {
  std::vector<NewRate> rates;
  find_rates(rate, nullptr, 1, &rates);
  std::vector<Tensor> values;
  for (const NewRate& given : rates) {
    check_rate(given.rate);
    Device& device = given.optimizer->rate_.cell().peek().device();
    values.push_back(from_host(&given.rate, Dtype::float64, {}, device));
  }
  for (size_t i = 0; i < rates.size(); ++i) {
    rates[i].optimizer->rate_.set(std::move(values[i]));
    rates[i].optimizer->note(rates[i]);
  }
}

}  // namespace mt
