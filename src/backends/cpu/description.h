// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace mt::cpu {

std::string model_name();            // "AMD EPYC 9654 96-Core Processor"
std::string instruction_set_name();  // "AVX-512", "AVX2", "NEON": the widest that kernels use here

}  // namespace mt::cpu
