// SPDX-License-Identifier: Apache-2.0
#include "points_data.h"

#include <math.h>
#include <strings.h>

const char* const points_names[6] = {"simple", "diag", "split", "xor", "circle", "spiral"};

// SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
// `state` starts as the seed; all arithmetic is modulo 2^64.
uint64_t random_bits(uint64_t* state) {
  *state += 0x9E3779B97F4A7C15u;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

// The upper 53 bits, times 2^-53.
double random_uniform(uint64_t* state) { return (double)(random_bits(state) >> 11) * 0x1p-53; }

static bool inside(size_t set, double x, double y) {
  switch (set) {
    case 0: return x < 0.5;
    case 1: return x + y < 0.5;
    case 2: return x < 0.2 || x > 0.8;
    case 3: return (x < 0.5 && y > 0.5) || (x > 0.5 && y < 0.5);
    default: return (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) > 0.1;
  }
}

// Two arms, half of the points each; the second is the first turned by a quarter, clockwise.
static void make_spiral(size_t count, float* x, float* label) {
  size_t half = count / 2;
  for (size_t i = 0; i < count; i++) {
    bool second = i >= half;
    double t = 10.0 * (double)((second ? i - half : i) + 5) / (double)(half ? half : 1);
    double a = t * cos(t) / 20, b = t * sin(t) / 20;
    x[2 * i] = (float)((second ? b : a) + 0.5);
    x[2 * i + 1] = (float)((second ? -a : b) + 0.5);
    label[i] = second;
  }
}

// Point i takes two numbers from the generator: x, then y. The label is of the double values.
bool points_make(const char* name, size_t count, uint64_t seed, float* x, float* label) {
  size_t set = 0;
  while (set < 6 && strcasecmp(name, points_names[set]) != 0) set++;
  if (set == 6) return false;
  if (set == 5) {
    make_spiral(count, x, label);
    return true;
  }
  uint64_t state = seed;
  for (size_t i = 0; i < count; i++) {
    double a = random_uniform(&state), b = random_uniform(&state);
    x[2 * i] = (float)a;
    x[2 * i + 1] = (float)b;
    label[i] = inside(set, a, b);
  }
  return true;
}
