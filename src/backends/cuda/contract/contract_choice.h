// SPDX-License-Identifier: Apache-2.0
// Which of the kernels that can make a contraction makes it: what a file of measurements says
// (tuning.h), what is measured at its first run where that is asked for, or the built-in table.
#pragma once

#include <functional>

#include "backends/cuda/contract/contract_kernels.h"
#include "backends/cuda/contract/tuning.h"
#include "backends/cuda/driver/blas.h"

namespace mt::cuda {

class ContractChoice {
 public:
  ContractChoice(const ContractGroup& group, const ContractionShape& shape, int device,
                 const Properties& properties);

  // What takes any operands.
  ContractKernel plain() const { return plain_; }
  // `aligned`: they lie as the tensor cores need them. launch(kernel) puts the product alone into
  // the stream, as often as it is called.
  ContractKernel kernel(bool aligned, Stream stream,
                        const std::function<void(ContractKernel)>& launch);
  // Whether it is to be measured; whether a kernel may be on the tensor cores, on Hopper's.
  bool is_open() const { return open_; }
  bool may_be(ContractKernel kernel) const { return open_ || kernel == best_; }
  bool may_be_hopper() const {
    return may_be(ContractKernel::hopper_128x128) || may_be(ContractKernel::hopper_128x256);
  }
  // For cuBLASLt, if it may be that.
  const BlasPlan& blas() const { return *blas_; }
  bool knows_tensor_cores() const;
  bool knows_hopper() const;

 private:
  ContractKernel find(const std::vector<ContractKernel>& kernels) const;
  ContractKernel measure(Stream stream, const std::function<void(ContractKernel)>& launch);

  const std::string device_;
  const ContractionFacts facts_;
  std::vector<ContractKernel> kernels_;
  std::shared_ptr<const BlasPlan> blas_;
  ContractKernel plain_, best_;
  Tuning* tuning_;  // nullptr: none
  bool open_ = false;
};

}  // namespace mt::cuda
