// SPDX-License-Identifier: Apache-2.0
// The loader through the C interface: what it is about errors, scopes and traces.
#include "api/support.h"

namespace {

class DataApi : public Api {};

mt_tensor* counted(double n) { return mt_arange(0, n, 1, MT_F32, nullptr); }

TEST_F(DataApi, ABatchBelongsToTheScope) {
  mt_tensor* data[] = {counted(10), counted(20)};
  mt_loader* bad = mt_loader_new(data, 2, 4, nullptr);
  EXPECT_EQ(bad, nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "loader: [10] and [20] differ in their number of rows"));
  data[1] = mt_mul(data[0], mt_number(2));
  mt_loader* loader = mt_loader_new(data, 2, 4, nullptr);
  ASSERT_NE(loader, nullptr);
  EXPECT_EQ(mt_loader_batches(loader), 3);
  for (int64_t i = 0; i < 2 * mt_loader_batches(loader); ++i) {
    EXPECT_EQ(mt_loader_epoch(loader), i / 3);
    EXPECT_EQ(mt_loader_position(loader), i % 3);
    MT_SCOPE {
      mt_tensor* batch[2];
      EXPECT_EQ(mt_loader_next(loader, batch), MT_OK);
      Numbers x = numbers_of(batch[0]), y = numbers_of(batch[1]);
      ASSERT_EQ(x.size(), i % 3 == 2 ? 2u : 4u);
      for (size_t k = 0; k < x.size(); ++k) {
        EXPECT_EQ(x[k], static_cast<float>(i % 3 * 4) + static_cast<float>(k));
        EXPECT_EQ(y[k], 2 * x[k]);
      }
    }
  }
  mt_loader_release(loader);
}

TEST_F(DataApi, AfterAnErrorItStandsWhereItWas) {
  mt_tensor* data = counted(6);
  mt_loader* loader = mt_loader_new(&data, 1, 2, nullptr);
  mt_tensor* batch = data;
  EXPECT_EQ(mt_loader_next(nullptr, &batch), MT_ENULL);  // nobody knows how many it has
  EXPECT_EQ(mt_loader_next(loader, &batch), MT_ENULL);   // an error is pending
  EXPECT_EQ(batch, nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "loader_next: the loader is NULL"));
  EXPECT_EQ(mt_loader_next(loader, nullptr), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "loader_next: results is NULL"));
  EXPECT_EQ(mt_loader_seek(loader, 0, 3), MT_EINDEX);
  EXPECT_TRUE(failed_with(MT_EINDEX, "loader_seek: there is no batch 3 of 3 in epoch 0"));
  EXPECT_EQ(mt_loader_position(loader), 0);
  EXPECT_EQ(mt_loader_next(loader, &batch), MT_OK);
  EXPECT_EQ(numbers_of(batch), (Numbers{0, 1}));
  mt_loader_release(loader);
  mt_loader_release(nullptr);
}

mt_status take_one(void* user, mt_tensor* const*, size_t, mt_tensor** results, size_t) {
  return mt_loader_next(static_cast<mt_loader*>(user), results);
}

TEST_F(DataApi, ATraceCannotTakeABatch) {
  mt_tensor *data = counted(6), *result = nullptr;
  mt_loader* loader = mt_loader_new(&data, 1, 2, nullptr);
  mt_trace* trace = mt_trace_new(take_one, loader);
  EXPECT_EQ(mt_trace_call(trace, nullptr, 0, &result, 1), MT_ETRACE);
  EXPECT_TRUE(failed_with(MT_ETRACE, "loader_next: a trace would repeat one batch"));
  EXPECT_EQ(mt_loader_position(loader), 0);
  mt_trace_release(trace);
  mt_loader_release(loader);
}

TEST_F(DataApi, ItsTensorsAreAsTheyWereThen) {
  mt_tensor* data = mt_require_grad(counted(6));
  mt_loader_options options = MT_LOADER_OPTIONS_INIT;
  options.prefetch = 2;
  options.device = "cpu";
  mt_loader* loader = mt_loader_new(&data, 1, 3, &options);
  mt_assign(data, mt_zeros_like(data));
  mt_tensor* batch;
  mt_loader_next(loader, &batch);
  EXPECT_EQ(numbers_of(batch), (Numbers{0, 1, 2}));
  EXPECT_FALSE(mt_requires_grad(batch));
  mt_loader_release(loader);
  options.device = "none";
  EXPECT_EQ(mt_loader_new(&data, 1, 3, &options), nullptr);
  EXPECT_EQ(mt_error(), MT_EDEVICE);
  mt_clear();
}

}  // namespace
