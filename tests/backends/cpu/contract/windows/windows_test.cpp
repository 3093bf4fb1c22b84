// SPDX-License-Identifier: Apache-2.0
// Contractions that read sliding windows where they lie: convolutions and their gradients.
#include <gtest/gtest.h>

#include <utility>

#include "backends/cpu/contract/contract_check.h"

namespace mt::cpu {
namespace {

// Convolutions of every geometry, forward and backward, read through the sliding windows that they
// are, with either operand as the windows.
TEST(Contract, ConvolutionsReadWindowsInPlace) {
  Random random(6);
  for (int i = 0; i < 60; ++i) {
    const int64_t images = pick(random, {1, 2, 3}), groups = pick(random, {1, 1, 2});
    const int64_t channels = pick(random, {1, 3, 6, i % 10 == 0 ? 130 : 8});
    const int64_t outputs = pick(random, {1, 4, 6, 13, 17, 32, 40});
    const int64_t high = pick(random, {1, 2, 3, 5}), wide = pick(random, {1, 2, 3, 5});
    const int64_t step = pick(random, {1, 1, 1, 2}), dilation = pick(random, {1, 1, 2});
    const int64_t rows = pick(random, {1, 4, 10, 28}), columns = pick(random, {1, 7, 8, 24, 70});
    const int64_t width = (columns - 1) * step + (wide - 1) * dilation + 1;
    const int64_t plane = ((rows - 1) * step + (high - 1) * dilation + 1) * width;
    const int64_t area = high * wide, taps = channels * area, places = rows * columns;
    const bool flipped = random() % 2;
    const int64_t sign = flipped ? -1 : 1;
    Contraction forward{
        {{images, 0, groups * channels * plane}, {groups, outputs * taps, channels * plane}},
        {{outputs, flipped ? area : taps, 0}},
        {{rows, 0, step * width}, {columns, 0, step}},
        {{channels, flipped ? outputs * area : area, plane},
         {high, sign * wide, dilation * width},
         {wide, sign, dilation}},
        Dtype::float32,
        Dtype::float32,
        Dtype::float32};
    Contraction weights{{{groups, outputs * places, channels * plane}},
                        {{outputs, places, 0}},
                        {{channels, 0, plane}, {high, 0, dilation * width}, {wide, 0, dilation}},
                        {{images, groups * outputs * places, groups * channels * plane},
                         {rows, columns, step * width},
                         {columns, 1, step}},
                        Dtype::float32,
                        Dtype::float32,
                        Dtype::float32};
    for (Contraction* c : {&forward, &weights}) {
      if (i % 4 == 0) c->a = c->b = c->out = Dtype::float64;
      if (i % 9 == 1) c->a = c->b = c->out = Dtype::bfloat16;
      if (i % 9 == 2) c->a = Dtype::float16;
      check(*c, random, {1, 3});
      if (HasFatalFailure()) return;
      if (i % 3) continue;
      std::swap(c->m, c->n);
      for (auto* group : {&c->batch, &c->m, &c->n, &c->k}) {
        for (auto& dim : *group) std::swap(dim.a_stride, dim.b_stride);
      }
      std::swap(c->a, c->b);
      check(*c, random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

// The gradient of a weight whose outputs are few and whose windows are short.
Contraction few_outputs(int64_t outputs, int64_t channels, int64_t high, int64_t wide,
                        int64_t images, int64_t rows, int64_t columns) {
  const int64_t width = columns + wide - 1, plane = (rows + high - 1) * width;
  const int64_t places = rows * columns;
  return {{},
          {{outputs, places, 0}},
          {{channels, 0, plane}, {high, 0, width}, {wide, 0, 1}},
          {{images, outputs * places, channels * plane}, {rows, columns, width}, {columns, 1, 1}},
          Dtype::float32,
          Dtype::float32,
          Dtype::float32};
}

TEST(Contract, AFewOutputsOverShortWindows) {
  Random random(8);
  for (int64_t outputs : {5, 6, 7, 8, 13, 16}) {
    for (int64_t wide : {3, 4, 5, 6, 7, 8}) {
      const int64_t channels = pick(random, {1, 2, 3}), high = pick(random, {1, 3, 5});
      const int64_t images = wide == 5 ? 12 : 2, columns = pick(random, {16, 19, 28});
      check(few_outputs(outputs, channels, high, wide, images, 20, columns), random, {1, 3});
      if (HasFatalFailure()) return;
    }
  }
}

// As many elements as leave every number of columns beside whole vectors.
TEST(Contract, AFewOutputsOverWindowsOfEverySize) {
  Random random(28);
  for (int64_t outputs : {6, 8}) {
    for (int64_t wide = 3; wide <= 8; ++wide) {
      for (int64_t high = 1; high <= 7; ++high) {
        check(few_outputs(outputs, 1, high, wide, 1, 3, 17), random, {1});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Lines of positions that take more than one strip of windows' lines, and panels that begin in one.
TEST(Contract, AFewOutputsOverLongLinesOfShortWindows) {
  Random random(18);
  for (int64_t channels : {1, 3, 7}) {
    for (int64_t columns : {500, 1500, 6000}) {
      check(few_outputs(6, channels, 3, 5, 2, 3, columns), random, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Contract, DepthwiseConvolutionsGoLineByLine) {
  Random random(7);
  for (int64_t columns : {3, 9, 16, 20, 33, 47, 56, 70, 130}) {
    // The last has so many lines that threads begin within one.
    for (int64_t lines : {3, 9, columns == 70 ? 1000 : 6}) {
      const int64_t images = lines == 1000 ? 1 : 2, channels = lines == 1000 ? 1 : 2;
      const int64_t width = columns + 2, plane = (lines + 2) * width, places = lines * columns;
      Contraction forward{{{images, 0, channels * plane}, {channels, 9, plane}},
                          {{1, 0, 0}},
                          {{lines, 0, width}, {columns, 0, 1}},
                          {{3, 3, width}, {3, 1, 1}},
                          Dtype::float32,
                          Dtype::float32,
                          Dtype::float32};
      Contraction weights{
          {{channels, places, plane}},
          {{1, 0, 0}},
          {{3, 0, width}, {3, 0, 1}},
          {{images, channels * places, channels * plane}, {lines, columns, width}, {columns, 1, 1}},
          Dtype::float32,
          Dtype::float32,
          Dtype::float32};
      for (Contraction* c : {&forward, &weights}) {
        if (lines == 9) c->a = c->b = c->out = Dtype::float64;
        check(*c, random, {1, 3});
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace mt::cpu
