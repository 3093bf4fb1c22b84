// SPDX-License-Identifier: Apache-2.0
// Six classic sets of labelled points in the unit square (those of the MiniTorch course), from
// easy to hard. The same seed gives the same points in every language: see points_data.c.
#ifndef EXAMPLES_SUPPORT_POINTS_DATA_H
#define EXAMPLES_SUPPORT_POINTS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char* const points_names[6];  // "simple", "diag", "split", "xor", "circle", "spiral"

// Fills x (count x 2) and label (count, 0 or 1). False: no set has this name (any case will do).
// Spiral is the same for every seed, and reaches a little beyond the unit square.
bool points_make(const char* name, size_t count, uint64_t seed, float* x, float* label);

// SplitMix64: the next 64 random bits, and a uniform double in [0, 1).
uint64_t random_bits(uint64_t* state);
double random_uniform(uint64_t* state);

#endif
