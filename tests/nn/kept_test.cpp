// SPDX-License-Identifier: Apache-2.0
// Causal blocks that go on from what they kept, through the C interface.
#include "nn/c_api.h"

namespace mt {
namespace {

class KeptTest : public NnApiTest {};

// Two causal blocks that continue a sequence from what they kept.
struct Writer {
  mt_parameters* parameters = mt_parameters_new(MT_F32, NULL);
  mt_layer* blocks[2];
  mt_tensor* kept[2];
  Writer() {
    mt_transformer_options how = MT_TRANSFORMER_OPTIONS_INIT;
    how.causal = true;
    for (int i = 0; i < 2; ++i) {
      blocks[i] = mt_layer_transformer(parameters, i ? "second" : "first", 8, 2, &how);
      kept[i] = mt_take(mt_kept_zeros(blocks[i], MT_DIMS(2), 6));
    }
  }
  ~Writer() {
    mt_release(kept[0]);
    mt_release(kept[1]);
    mt_parameters_release(parameters);
  }
  mt_tensor* all(mt_tensor* x) { return mt_apply(blocks[1], mt_apply(blocks[0], x)); }
  mt_tensor* next(mt_tensor* x, mt_tensor* places) {
    for (int i = 0; i < 2; ++i) x = mt_apply_kept(blocks[i], x, kept[i], places);
    return x;
  }
  static mt_status step(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
    results[0] = static_cast<Writer*>(user)->next(inputs[0], inputs[1]);
    return mt_error();
  }
};

TEST_F(KeptTest, ContinuesInATraceAsWhenCalled) {
  Writer called, replayed;
  mt_trace* trace = mt_trace_new(Writer::step, &replayed);
  MT_NO_GRAD MT_SCOPE {
    for (size_t i = 0; i < mt_parameters_count(called.parameters); ++i) {
      mt_assign(mt_parameters_tensor(replayed.parameters, i),
                mt_parameters_tensor(called.parameters, i));
    }
    mt_tensor* x = mt_normal(MT_DIMS(2, 6, 8), 0, 1, MT_F32, NULL);
    mt_tensor* all = called.all(x);
    auto call = [&](int64_t from, int64_t to) {
      mt_tensor* inputs[] = {mt_slice(x, 1, from, to, 1),
                             mt_arange(double(from), double(to), 1, MT_I64, NULL)};
      mt_tensor* result = NULL;
      mt_trace_call(trace, inputs, 2, &result, 1);
      return result;
    };
    for (auto [from, to] : {std::pair<int64_t, int64_t>{0, 3}, {3, 4}, {4, 5}, {5, 6}}) {
      mt_tensor* places = mt_arange(double(from), double(to), 1, MT_I64, NULL);
      std::vector<float> now = floats(called.next(mt_slice(x, 1, from, to, 1), places));
      EXPECT_EQ(floats(call(from, to)), now);
      std::vector<float> expected = floats(mt_slice(all, 1, from, to, 1));
      for (size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], expected[i], 1e-5f);
    }
    EXPECT_EQ(mt_trace_count(trace), 2u);  // of three and of one
    // The context is full: a replay says so too, and nothing changes.
    std::vector<float> before = floats(replayed.kept[0]);
    x = mt_normal(MT_DIMS(2, 7, 8), 0, 1, MT_F32, NULL);
    EXPECT_EQ(call(6, 7), nullptr);
    expect_error(MT_EINDEX, "index 6");
    EXPECT_EQ(floats(replayed.kept[0]), before);
    EXPECT_NE(call(0, 1), nullptr);
    EXPECT_NE(floats(replayed.kept[0]), before);
  }
  mt_trace_release(trace);
}

TEST_F(KeptTest, GradientsReachWhatWasKept) {
  Writer writer;
  MT_SCOPE {
    mt_tensor* x = mt_normal(MT_DIMS(2, 5, 8), 0, 1, MT_F32, NULL);
    mt_tensor* weight = mt_parameters_get(writer.parameters, "first.self_attn.in_proj_weight");
    mt_tensor* wanted = NULL;
    mt_tensor* loss = mt_sum(mt_square(mt_slice(writer.all(x), 1, 3, 5, 1)), NULL, 0);
    mt_grad(&loss, 1, &weight, 1, NULL, &wanted);
    writer.next(mt_slice(x, 1, 0, 3, 1), mt_arange(0, 3, 1, MT_I64, NULL));
    EXPECT_TRUE(mt_requires_grad(writer.kept[0]));
    mt_tensor* y = writer.next(mt_slice(x, 1, 3, 5, 1), mt_arange(3, 5, 1, MT_I64, NULL));
    loss = mt_sum(mt_square(y), NULL, 0);
    mt_tensor* found = NULL;
    mt_grad(&loss, 1, &weight, 1, NULL, &found);
    std::vector<float> ours = floats(found), theirs = floats(wanted);
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-4f) << i;
    // Nothing is kept by a call that fails, nor by one while an error is pending.
    mt_tensor* leaf = mt_require_grad(mt_kept_zeros(writer.blocks[0], MT_DIMS(2), 5));
    mt_tensor* places = mt_arange(0, 5, 1, MT_I64, NULL);
    EXPECT_EQ(mt_apply_kept(writer.blocks[0], x, leaf, places), nullptr);
    expect_error(MT_EINVAL, "history");
    EXPECT_EQ(mt_apply_kept(writer.blocks[0], x, NULL, places), nullptr);
    expect_error(MT_ENULL, "NULL");
    std::vector<float> before = floats(writer.kept[0]);
    mt_set_error(MT_EUSER, "mine");
    EXPECT_EQ(mt_apply_kept(writer.blocks[0], x, writer.kept[0], places), nullptr);
    expect_error(MT_EUSER, "mine");
    EXPECT_EQ(floats(writer.kept[0]), before);
  }
}

}  // namespace
}  // namespace mt
