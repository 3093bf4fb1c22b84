// SPDX-License-Identifier: Apache-2.0
// Layers: operators over named parameters of a collection. Names and layouts are PyTorch's. Weights
// begin uniform within +- 1 / sqrt(fan_in), and so do biases; embeddings normal; norms with weight
// 1 and bias 0. Either all tensors of a layer are added or none.
#pragma once

#include "nn/parameters.h"
#include "ops/ops.h"

namespace mt {

Layer& add_linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
                  bool bias);
Layer& add_convolution(Parameters& parameters, const std::string& name, int64_t in, int64_t out,
                       const Dims& kernel, const Convolution& how, bool transposed, bool bias);
Layer& add_layer_norm(Parameters& parameters, const std::string& name, const Shape& shape,
                      double epsilon);
Layer& add_rms_norm(Parameters& parameters, const std::string& name, const Shape& shape,
                    double epsilon);
Layer& add_group_norm(Parameters& parameters, const std::string& name, int64_t groups,
                      int64_t channels, double epsilon);
Layer& add_batch_norm(Parameters& parameters, const std::string& name, int64_t channels,
                      double momentum, double epsilon);
Layer& add_embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t size);
Layer& add_dropout(Parameters& parameters, double probability);
Layer& add_attention(Parameters& parameters, const std::string& name, int64_t width, int64_t heads,
                     const Attention& how, bool bias);
// All of a transformer block's options but its width and heads.
struct Transformer {
  int64_t hidden = 0;  // 0: 4 times the width
  double dropout = 0;
  std::string activation = "relu(a)";  // an expression
  bool norm_first = true, causal = false;
  double epsilon = 1e-5;
};
Layer& add_transformer(Parameters& parameters, const std::string& name, int64_t width,
                       int64_t heads, const Transformer& how);
Layer& add_recurrent(Parameters& parameters, const std::string& name, RecurrentKind kind,
                     int64_t in, int64_t hidden, int64_t layers, bool bias);

}  // namespace mt
