// SPDX-License-Identifier: Apache-2.0
// The instruction sets that contractions are compiled for; include before hwy/foreach_target.h.
// SSE has no fused multiply-add, so below AVX2 stands the plain fallback; SVE's vectors have no
// fixed size and cannot be kept in arrays, so NEON serves there.
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
