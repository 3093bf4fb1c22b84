// SPDX-License-Identifier: Apache-2.0
// What the C++ examples share with those in C: data, options, a progress line, pictures.
#pragma once

#include <cstdio>
#include <mtorch/mtorch.hpp>

extern "C" {
#include "digits_data.h"
#include "history.h"
#include "options.h"
#include "picture.h"
#include "points_data.h"
#include "progress.h"
#include "text_data.h"
}

inline common_options usual_options() {
  common_options common{};
  common.device = "cpu";
  return common;
}

// Device, threads and seed as the command line says.
inline void apply_options(const common_options& common) {
  mtorch::set_default_device(common.device);
  if (common.threads > 0) mtorch::set_threads(common.threads);
  mtorch::seed(common.seed);
}

// What main() returns; an error is said on stderr.
template <class Run>
int report(const char* name, Run run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

inline int report_weights(const common_options& common, bool same) {
  std::printf("weights:     %s, %s\n", common.weights,
              same ? "reloaded, the same" : "NOT THE SAME");
  return !same;
}
