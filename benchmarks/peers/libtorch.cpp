// SPDX-License-Identifier: Apache-2.0
// PyTorch's C++ library, for rows in which the price of a call matters.
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "../module.h"

struct bench {
  std::string name;
  std::vector<torch::Tensor> inputs;
  int layers = 0;
  std::unique_ptr<torch::optim::SGD> optimizer;

  torch::Tensor value() const {
    if (name == "matmul") return torch::matmul(inputs[0], inputs[1]);
    torch::Tensor sum = torch::add(inputs[0], inputs[1]);
    for (int i = 1; name == "adds" && i < 64; ++i) sum = torch::add(sum, inputs[1]);
    return sum;
  }

  size_t parameters() const { return 2 * static_cast<size_t>(layers); }

  torch::Tensor perceptron(torch::Tensor x) const {
    for (size_t i = 0; i < parameters(); i += 2) {
      x = torch::linear(x, inputs[i], inputs[i + 1]);
      if (i + 2 < parameters()) x = torch::relu(x);
    }
    return x;
  }

  void step() {
    optimizer->zero_grad();
    torch::Tensor y = perceptron(inputs[parameters()]), t = inputs[parameters() + 1];
    torch::Tensor loss = name == "mnist" ? torch::nn::functional::cross_entropy(y, t)
                                         : torch::binary_cross_entropy_with_logits(y.view(-1), t);
    loss.backward();
    optimizer->step();
  }
};

namespace {

std::string message;

template <class F>
bool guarded(F&& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    message = error.what();
    return false;
  }
}

}  // namespace

const char* bench_version() { return TORCH_VERSION; }

void bench_set_threads(int threads) { at::set_num_threads(threads); }

bench* bench_open(const char* name, const bench_array* arrays, int64_t count) {
  auto made = std::make_unique<bench>();
  made->name = name;
  message.clear();
  made->layers = made->name == "minitorch" ? 3 : made->name == "mnist" ? 2 : 0;
  const std::array values = {"add4", "adds", "matmul"};
  if (made->layers == 0 && std::find(values.begin(), values.end(), made->name) == values.end()) {
    return nullptr;
  }
  bool opened = guarded([&] {
    for (int64_t i = 0; i < count; ++i) {
      const bench_array& a = arrays[i];
      const auto type = a.type == BENCH_I64   ? torch::kInt64
                        : a.type == BENCH_F64 ? torch::kFloat64
                                              : torch::kFloat32;
      made->inputs.push_back(
          torch::from_blob(const_cast<void*>(a.data),
                           torch::IntArrayRef(a.dims, static_cast<size_t>(a.ndim)), type)
              .clone());
    }
    if (made->layers == 0) return;
    std::vector<torch::Tensor> trained(made->inputs.begin(),
                                       made->inputs.begin() + 2 * made->layers);
    for (torch::Tensor& p : trained) p.requires_grad_();
    made->optimizer = std::make_unique<torch::optim::SGD>(trained, 0.05);
  });
  return opened ? made.release() : nullptr;
}

void bench_run(bench* bench, int64_t times) {
  guarded([&] {
    for (int64_t i = 0; i < times; ++i) {
      if (bench->optimizer) {
        bench->step();
      } else {
        torch::Tensor made = bench->value();
      }
    }
  });
}

int64_t bench_result(bench* bench, double* results, int64_t room) {
  std::vector<torch::Tensor> made(bench->inputs.begin(), bench->inputs.begin() + 2 * bench->layers);
  if (!bench->optimizer) made = {bench->value()};
  int64_t total = 0;
  for (const torch::Tensor& tensor : made) {
    if (total + tensor.numel() > room) return -1;
    torch::from_blob(results + total, tensor.sizes(), torch::kFloat64).copy_(tensor.detach());
    total += tensor.numel();
  }
  return message.empty() ? total : -1;
}

void bench_close(bench* bench) { delete bench; }

const char* bench_message() { return message.c_str(); }
