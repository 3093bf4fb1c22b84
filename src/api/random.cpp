// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/random.h.
#include "mtorch/random.h"

#include "api/guard.h"
#include "backends/devices.h"
#include "ops/random.h"

using namespace mt::api;
using mt::find_device;
using mt::Generator;

struct mt_generator {
  mt::Ref<Generator> generator;
};

namespace {

Generator& chosen(mt_generator* generator) {
  return generator ? *generator->generator : Generator::current();
}

// A replay draws from the generators that there are, and does nothing else to them.
void refuse_in_trace(const char* name) {
  if (!mt::TraceLog::current()) return;
  mt::fail(mt::Code::trace,
           "%s: not inside a trace, whose replays only draw from a generator; do it before", name);
}

}  // namespace

mt_status mt_seed(uint64_t seed) {
  return change("seed", [&] {
    refuse_in_trace("seed");
    Generator::seed(seed);
  });
}

mt_generator* mt_generator_new(uint64_t seed) {
  return read<mt_generator*>("generator_new", nullptr, [&] {
    refuse_in_trace("generator_new");
    return new mt_generator{mt::Ref<Generator>(new Generator(seed))};
  });
}
void mt_generator_release(mt_generator* generator) { delete generator; }

mt_status mt_generator_use(mt_generator* generator) {
  return change("generator_use",
                [&] { Generator::use(generator ? generator->generator : nullptr); });
}

mt_status mt_generator_state(mt_generator* generator, uint64_t* key, uint64_t* counter) {
  return run("generator_state", [&] {
    mt::Immediates state = chosen(generator).state();
    *required(key, "key") = state.value[0];
    *required(counter, "counter") = state.value[1];
  });
}
mt_status mt_generator_set_state(mt_generator* generator, uint64_t key, uint64_t counter) {
  return change("generator_set_state", [&] {
    refuse_in_trace("generator_set_state");
    chosen(generator).set_state({{key, counter}});
  });
}

mt_tensor* mt_uniform(const int64_t* dims, size_t ndim, double low, double high, mt_dtype type,
                      const char* device) {
  return give("uniform", [&] {
    return mt::uniform(shape(dims, ndim), low, high, dtype(type), find_device(device));
  });
}
mt_tensor* mt_normal(const int64_t* dims, size_t ndim, double mean, double deviation, mt_dtype type,
                     const char* device) {
  return give("normal", [&] {
    return mt::normal(shape(dims, ndim), mean, deviation, dtype(type), find_device(device));
  });
}
mt_tensor* mt_integers(const int64_t* dims, size_t ndim, int64_t low, int64_t high, mt_dtype type,
                       const char* device) {
  return give("integers", [&] {
    return mt::integers(shape(dims, ndim), low, high, dtype(type), find_device(device));
  });
}
mt_tensor* mt_bernoulli(const int64_t* dims, size_t ndim, double probability, mt_dtype type,
                        const char* device) {
  return give("bernoulli", [&] {
    return mt::bernoulli(shape(dims, ndim), probability, dtype(type), find_device(device));
  });
}
mt_tensor* mt_permutation(int64_t n, const char* device) {
  return give("permutation", [&] { return mt::permutation(n, find_device(device)); });
}
