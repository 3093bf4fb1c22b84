// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/contract/contract_choice.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/contract/prepare_contract.h"

namespace mt::cuda {
namespace {

// The shortest of some rounds counts, each of several launches, so that the host's part of them is
// hidden behind the device's.
constexpr int rounds = 3, launches = 4;

// As the tables' lines can have it.
std::string plain_name(std::string device) {
  std::replace_if(
      device.begin(), device.end(), [](char c) { return c == ':' || c == '#' || c == '\n'; }, ' ');
  return device;
}

std::vector<std::string> names_of(const std::vector<ContractKernel>& kernels) {
  std::vector<std::string> names;
  for (ContractKernel kernel : kernels) names.push_back(name_of(kernel));
  return names;
}

}  // namespace

ContractChoice::ContractChoice(const ContractGroup& group, const ContractionShape& shape,
                               int device, const Properties& properties)
    : device_(plain_name(properties.name)),
      facts_(contraction_facts(group.contraction, shape, properties.processors)),
      tuning_(Tuning::chosen()) {
  const Contraction& c = group.contraction;
  const std::vector<ContractKernel> plain = plain_kernels(shape);
  kernels_ = tensor_core_kernels(c, shape, group.a, group.b, properties.capability == 90);
  // In a precision mode of bfloat16 the strict kernels make only what is refused.
  if (!is_split(c, shape)) kernels_.insert(kernels_.end(), plain.begin(), plain.end());
  BlasProduct product;
  const bool asks = tuning_ || built_in_table().names(name_of(ContractKernel::cublaslt));
  if (asks && suits_blas(c, group.a, group.b, &product)) {
    blas_ = plan_blas(device, product);
    if (blas_) kernels_.push_back(ContractKernel::cublaslt);
  }
  plain_ = find(plain);
  best_ = find(kernels_);
  const bool has_work = shape.batch * shape.m * shape.n * shape.k > 0;
  open_ = tuning_ && tuning_->measures() && has_work && kernels_.size() > 1 &&
          tuning_->find(device_, facts_.all, names_of(kernels_)).empty();
}

bool ContractChoice::knows_tensor_cores() const {
  return std::any_of(kernels_.begin(), kernels_.end(), on_tensor_cores);
}
bool ContractChoice::knows_hopper() const {
  return std::any_of(kernels_.begin(), kernels_.end(), is_hopper);
}

ContractKernel ContractChoice::find(const std::vector<ContractKernel>& kernels) const {
  const std::vector<std::string> names = names_of(kernels);
  std::string found = tuning_ ? tuning_->find(device_, facts_.all, names) : "";
  if (found.empty()) found = built_in_table().find(any_device, facts_.all, names);
  return contract_kernel(found);
}

ContractKernel ContractChoice::kernel(bool aligned, Stream stream,
                                      const std::function<void(ContractKernel)>& launch) {
  if (!aligned) return plain_;
  if (open_) {
    // Another plan may have measured it since.
    std::string known = tuning_->find(device_, facts_.all, names_of(kernels_));
    best_ = known.empty() ? measure(stream, launch) : contract_kernel(known);
    open_ = false;
  }
  return best_;
}

ContractKernel ContractChoice::measure(Stream stream,
                                       const std::function<void(ContractKernel)>& launch) {
  double least = std::numeric_limits<double>::infinity();
  ContractKernel fastest = best_;
  for (ContractKernel kernel : kernels_) {
    launch(kernel);  // which may have to be loaded first
    for (int round = 0; round < rounds; ++round) {
      double time = time_on_device(stream,
                                   [&] {
                                     for (int i = 0; i < launches; ++i) launch(kernel);
                                   }) /
                    launches;
      if (time > 2 * least) break;
      if (time < least) fastest = kernel;
      least = std::min(time, least);
    }
  }
  tuning_->add(table_line(device_, facts_.own, name_of(fastest), least));
  return fastest;
}

}  // namespace mt::cuda
