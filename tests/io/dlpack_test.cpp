// SPDX-License-Identifier: Apache-2.0
#include "io/dlpack.h"

#include "graph/evaluate.h"
#include "io/dlpack_abi.h"
#include "io/support.h"
#include "ops/ops.h"

namespace mt {
namespace {

class DlpackTest : public testing::Test {
 protected:
  DlpackTest() { install_fusing_evaluator(); }
};

// A tensor of another library over `data`.
struct Foreign {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int deleted = 0;
  DLManagedTensorVersioned managed{
      {1, 0}, this, finish, 0, {data, {1, 0}, 2, {2, 32, 1}, shape, strides, 0}};

  static void finish(DLManagedTensorVersioned* self) {
    ++static_cast<Foreign*>(self->manager_ctx)->deleted;
  }
};

TEST_F(DlpackTest, ExportsWithoutCopy) {
  Tensor x = make<float>(Dtype::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  DLManagedTensorVersioned* managed = to_dlpack(transpose(x), 0);
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 1u);  // read-only
  const DLTensor& tensor = managed->dl_tensor;
  EXPECT_EQ(tensor.data, x->data());
  EXPECT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.device.device_type, 1);
  EXPECT_EQ(tensor.dtype.code, 2);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  EXPECT_EQ(tensor.shape[0], 3);
  EXPECT_EQ(tensor.strides[0], 1);
  EXPECT_EQ(tensor.strides[1], 3);
  EXPECT_EQ(tensor.byte_offset, 0u);
  // The memory stays as it is, even when a computation could take it over.
  Ref<Storage> storage = x->storage;
  EXPECT_TRUE(storage->pinned());
  storage = nullptr;
  x = x + 1.0;
  evaluate(x);
  EXPECT_EQ(static_cast<float*>(tensor.data)[5], 6);
  managed->deleter(managed);
}

TEST_F(DlpackTest, ExportsACopyThatMayBeWritten) {
  Tensor x = make<float>(Dtype::float32, {2}, {1, 2});
  DLManagedTensorVersioned* managed = to_dlpack(x, 2);
  EXPECT_EQ(managed->flags, 2u);
  static_cast<float*>(managed->dl_tensor.data)[0] = 9;
  EXPECT_EQ(values_of<float>(x), (std::vector<float>{1, 2}));
  managed->deleter(managed);
  EXPECT_EQ(error_of([&] { to_dlpack(x, 1); }).code(), Code::invalid);
}

TEST_F(DlpackTest, ExportsACopyOfNegativeStrides) {
  Tensor x = make<float>(Dtype::float32, {3}, {1, 2, 3});
  Tensor flipped = slice(x, 0, 2, 3, -1);
  DLManagedTensorVersioned* managed = to_dlpack(flipped, 0);
  DLManagedTensor* unversioned = to_dlpack_unversioned(flipped);
  EXPECT_EQ(managed->flags, 2u);
  for (const DLTensor& tensor : {managed->dl_tensor, unversioned->dl_tensor}) {
    EXPECT_EQ(tensor.strides[0], 1);
    EXPECT_EQ(static_cast<float*>(tensor.data)[0], 3);
    static_cast<float*>(tensor.data)[0] = 9;
  }
  EXPECT_EQ(values_of<float>(flipped), (std::vector<float>{3, 2, 1}));
  managed->deleter(managed);
  unversioned->deleter(unversioned);
}

TEST_F(DlpackTest, ImportsWithoutCopyAndGivesBackOnce) {
  Foreign foreign;
  {
    Tensor x = from_dlpack(&foreign.managed);
    EXPECT_EQ(x->data(), foreign.data);
    EXPECT_TRUE(x->storage->borrowed());
    Tensor y = x * 2.0;
    x = nullptr;
    EXPECT_EQ(foreign.deleted, 0);
    EXPECT_EQ(values_of<float>(y), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  }
  EXPECT_EQ(foreign.deleted, 1);
  EXPECT_EQ(foreign.data[5], 6);
}

TEST_F(DlpackTest, ImportsAnyStrides) {
  Foreign foreign;
  foreign.managed.dl_tensor.data = foreign.data + 2;
  foreign.managed.dl_tensor.byte_offset = 12;
  foreign.strides[0] = -3;
  foreign.strides[1] = -1;  // both axes backwards from the last element
  EXPECT_EQ(values_of<float>(from_dlpack(&foreign.managed)),
            (std::vector<float>{6, 5, 4, 3, 2, 1}));
  foreign.strides[0] = 0;
  foreign.strides[1] = -2;
  EXPECT_EQ(values_of<float>(from_dlpack(&foreign.managed)),
            (std::vector<float>{6, 4, 2, 6, 4, 2}));
  foreign.managed.dl_tensor = {foreign.data, {1, 0}, 2, {2, 32, 1}, foreign.shape, nullptr, 0};
  EXPECT_EQ(values_of<float>(from_dlpack(&foreign.managed)),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  foreign.shape[0] = 0;
  foreign.managed.dl_tensor.data = nullptr;
  EXPECT_TRUE(values_of<float>(from_dlpack(&foreign.managed)).empty());
  EXPECT_EQ(foreign.deleted, 4);
}

TEST_F(DlpackTest, RefusesWhatIsNotKnown) {
  auto expect = [](auto change, Code code) {
    Foreign foreign;
    change(foreign.managed, foreign);
    Error found = error_of([&] { from_dlpack(&foreign.managed); });
    EXPECT_EQ(found.code(), code) << found.what();
    EXPECT_EQ(foreign.deleted, 0);
  };
  expect([](auto& m, auto&) { m.version.major = 2; }, Code::unsupported);
  expect([](auto& m, auto&) { m.dl_tensor.device.device_type = 10; }, Code::unsupported);
  expect([](auto& m, auto&) { m.dl_tensor.dtype = {5, 64, 1}; }, Code::unsupported);
  expect([](auto& m, auto&) { m.dl_tensor.dtype.lanes = 4; }, Code::unsupported);
  expect([](auto& m, auto&) { m.dl_tensor.byte_offset = 2; }, Code::unsupported);
  expect([](auto& m, auto&) { m.dl_tensor.ndim = 17; }, Code::shape);
  expect([](auto& m, auto&) { m.dl_tensor.ndim = -1; }, Code::shape);
  expect([](auto& m, auto&) { m.dl_tensor.data = nullptr; }, Code::invalid);
  expect([](auto& m, auto&) { m.dl_tensor.shape = nullptr; }, Code::invalid);
  expect([](auto&, auto& f) { f.shape[1] = -1; }, Code::shape);
  expect([](auto&, auto& f) { f.shape[0] = f.shape[1] = int64_t{1} << 40; }, Code::shape);
  expect([](auto&, auto& f) { f.strides[0] = INT64_MAX; }, Code::shape);
  expect([](auto&, auto& f) { f.strides[0] = INT64_MIN; }, Code::shape);
}

TEST_F(DlpackTest, UnversionedRoundTrip) {
  Tensor x = make<int64_t>(Dtype::int64, {3}, {1, 2, 3});
  DLManagedTensor* managed = to_dlpack_unversioned(slice(x, 0, 1, 2, 1));
  EXPECT_EQ(managed->dl_tensor.data, static_cast<int64_t*>(x->data()) + 1);
  Tensor back = from_dlpack(managed);
  EXPECT_EQ(back->data(), managed->dl_tensor.data);
  EXPECT_EQ(values_of<int64_t>(back), (std::vector<int64_t>{2, 3}));
}

TEST_F(DlpackTest, EveryType) {
  for (int i = 0; i < dtype_count; ++i) {
    Tensor x = cast(iota({4}, Dtype::int64, cpu_device()), static_cast<Dtype>(i));
    Tensor back = from_dlpack(to_dlpack(x, 0));
    EXPECT_EQ(back.dtype(), x.dtype());
    EXPECT_EQ(bytes_of(back), bytes_of(x));
  }
}

}  // namespace
}  // namespace mt
