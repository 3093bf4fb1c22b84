// SPDX-License-Identifier: Apache-2.0
// Marks functions that CUDA compiles for both sides.
#pragma once

#ifdef __CUDACC__
#define MT_HOST_DEVICE __host__ __device__
#else
#define MT_HOST_DEVICE
#endif
