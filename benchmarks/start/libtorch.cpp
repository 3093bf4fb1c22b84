// SPDX-License-Identifier: Apache-2.0
// The same program as ours.c, with PyTorch's C++ library.
#include <torch/torch.h>

#include <cstdio>

int main() {
  torch::Tensor x = torch::linspace(-1, 1, 64 * 64).reshape({64, 64});
  std::printf("%.9g\n", torch::matmul(x, x).abs().sum().item<double>());
}
