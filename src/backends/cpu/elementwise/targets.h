// SPDX-License-Identifier: Apache-2.0
// The instruction sets that kernels are built for: AVX3 (AVX-512), AVX2, NEON, and the baseline.
// SVE is left out, as its vectors cannot be members of a class; such machines run NEON.
#pragma once

#define HWY_DISABLED_TARGETS                                                              \
  (HWY_AVX3_DL | HWY_SSE4 | HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   HWY_RVV | HWY_PPC8 | MT_AVX3_ZEN4 | MT_AVX3_SPR)

#include "hwy/detect_targets.h"

// Targets that only newer versions of Highway have.
#ifdef HWY_AVX3_ZEN4
#define MT_AVX3_ZEN4 HWY_AVX3_ZEN4
#else
#define MT_AVX3_ZEN4 0
#endif
#ifdef HWY_AVX3_SPR
#define MT_AVX3_SPR HWY_AVX3_SPR
#else
#define MT_AVX3_SPR 0
#endif
