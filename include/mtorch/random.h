// SPDX-License-Identifier: Apache-2.0
/// @file random.h
/// Random numbers that depend on seed and position alone: the same on every device and for any
/// number of threads.
///
/// The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
/// as 1, 2, 3", 2011): element i of a draw is a pure function of the generator's key, its counter
/// when the draw was recorded, and i. Each draw moves the counter on. A replayed trace draws anew,
/// and does nothing else to a generator: inside a trace none is made, seeded or set (MT_ETRACE),
/// and one that is used there is given back.
#ifndef MTORCH_RANDOM_H_
#define MTORCH_RANDOM_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A source of random numbers: a key and a counter. Opaque.
typedef struct mt_generator mt_generator;

/// Restarts this thread's current generator: key `seed`, counter 0. Each thread has a generator of
/// its own, which begins, when the thread first uses it, with the seed last given in the process,
/// or 0. Threads that are to draw different numbers are each given a seed.
MT_API mt_status mt_seed(uint64_t seed);

/// A generator with key `seed` and counter 0. Released with mt_generator_release().
MT_API mt_generator* mt_generator_new(uint64_t seed);
/// NULL is harmless. A generator that is current somewhere lives on until it no longer is.
MT_API void mt_generator_release(mt_generator* generator);
/// Makes `generator` this thread's current one, that all draws come from; NULL is the thread's own.
MT_API mt_status mt_generator_use(mt_generator* generator);
/// Reads key and counter, enough to go on later from here. `generator` NULL is the current one.
MT_API mt_status mt_generator_state(mt_generator* generator, uint64_t* key, uint64_t* counter);
/// Sets key and counter. `generator` NULL is the current one.
MT_API mt_status mt_generator_set_state(mt_generator* generator, uint64_t key, uint64_t counter);

/// Floats uniform in [low, high). MT_EINVAL unless low <= high, both finite in the type.
MT_API mt_tensor* mt_uniform(const int64_t* dims, size_t ndim, double low, double high,
                             mt_dtype dtype, const char* device);
/// Floats of the normal distribution (Box and Muller, 1958). MT_EINVAL unless deviation >= 0.
MT_API mt_tensor* mt_normal(const int64_t* dims, size_t ndim, double mean, double deviation,
                            mt_dtype dtype, const char* device);
/// Integers uniform in [low, high). MT_EINVAL unless low < high and both fit the type.
MT_API mt_tensor* mt_integers(const int64_t* dims, size_t ndim, int64_t low, int64_t high,
                              mt_dtype dtype, const char* device);
/// 1 with the given probability, else 0, of any type. MT_EINVAL unless 0 <= probability <= 1.
MT_API mt_tensor* mt_bernoulli(const int64_t* dims, size_t ndim, double probability, mt_dtype dtype,
                               const char* device);
/// The int64 numbers 0 to n - 1 in random order: [n].
MT_API mt_tensor* mt_permutation(int64_t n, const char* device);

#ifdef __cplusplus
}
#endif
#endif
