// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own, on the CPU. tests/backends/cuda has the other half.
#include <atomic>
#include <cmath>

#include "api/support.h"

namespace {

class Kernels : public Api {};

// out[i, j] = sum over k of a[i, k] b[k, j], one cell an element; numbers: rows, inner, columns.
mt_status matmul_cell(void*, const mt_cell* at, const void* const* in, void* const* out,
                      const double* numbers) {
  auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  auto* c = static_cast<float*>(out[0]);
  int64_t rows = static_cast<int64_t>(numbers[0]), inner = static_cast<int64_t>(numbers[1]),
          columns = static_cast<int64_t>(numbers[2]);
  int64_t j = at->block[0] * at->block_size[0] + at->thread[0];
  int64_t i = at->block[1] * at->block_size[1] + at->thread[1];
  if (i >= rows || j >= columns) return MT_OK;
  float sum = 0;
  for (int64_t k = 0; k < inner; ++k) sum += a[i * inner + k] * b[k * columns + j];
  c[i * columns + j] = sum;
  return MT_OK;
}

mt_kernel_definition defined(const char* name, mt_cell_function cell) {
  mt_kernel_definition definition{};
  definition.struct_size = sizeof definition;
  definition.name = name;
  definition.cell = cell;
  return definition;
}

constexpr int64_t sizes[] = {1, 3, 5, 720, 4000};
constexpr int64_t column[] = {3, 1};
mt_kernel_result vector_of(size_t which, mt_dtype dtype) { return {&sizes[which], 1, dtype}; }

struct Kernel {
  mt_kernel* kernel;
  explicit Kernel(const mt_kernel_definition& definition) : kernel(mt_kernel_new(&definition)) {}
  ~Kernel() { mt_kernel_release(kernel); }
};

mt_launch launched(int64_t grid_x, int64_t grid_y, int64_t block_x, int64_t block_y) {
  return {sizeof(mt_launch), {grid_x, grid_y, 1}, {block_x, block_y, 1}, 0, nullptr};
}

mt_tensor* product(mt_kernel* kernel, mt_tensor* a, mt_tensor* b) {
  int64_t rows = mt_dim(a, 0), inner = mt_dim(a, 1), columns = mt_dim(b, 1);
  mt_launch launch = launched((columns + 7) / 8, (rows + 3) / 4, 8, 4);
  mt_tensor* inputs[] = {a, b};
  double numbers[] = {static_cast<double>(rows), static_cast<double>(inner),
                      static_cast<double>(columns)};
  int64_t dims[] = {rows, columns};
  mt_kernel_result form = {dims, 2, MT_F32};
  mt_tensor* result = nullptr;
  mt_kernel_call(kernel, &launch, inputs, 2, numbers, 3, &form, &result, 1);
  return result;
}

TEST_F(Kernels, RunForEveryCell) {
  Kernel matmul(defined("matmul", matmul_cell));
  for (const char* device : {"cpu", "cpu:reference"}) {
    mt_tensor* a = mt_to_device(mt_normal(MT_DIMS(13, 9), 0, 1, MT_F32, nullptr), device);
    mt_tensor* b = mt_to_device(mt_normal(MT_DIMS(9, 21), 0, 1, MT_F32, nullptr), device);
    mt_tensor* ours = product(matmul.kernel, a, b);
    ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
    EXPECT_STREQ(mt_device_of(ours), device);
    Numbers found = numbers_of(ours), wanted = numbers_of(mt_matmul(a, b));
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5);
    // Views come contiguous.
    mt_tensor* same =
        product(matmul.kernel, mt_copy(mt_matrix_transpose(b)), mt_matrix_transpose(a));
    EXPECT_EQ(numbers_of(mt_matrix_transpose(same)), found);
    EXPECT_EQ(numbers_of(mt_matrix_transpose(
                  product(matmul.kernel, mt_matrix_transpose(b), mt_matrix_transpose(a)))),
              found);
  }
}

// Where each cell is, and how many there are.
TEST_F(Kernels, KnowTheirPlace) {
  Kernel places(defined("places",
                        [](void*, const mt_cell* at, const void* const*, void* const* out,
                           const double*) -> mt_status {
                          int64_t number = 0, cell = 0;
                          for (int d = 2; d >= 0; --d)
                            cell = cell * at->grid_size[d] + at->block[d];
                          for (int d = 2; d >= 0; --d)
                            cell = cell * at->block_size[d] + at->thread[d];
                          for (int d = 0; d < 3; ++d) number = number * 10 + at->block[d];
                          for (int d = 0; d < 3; ++d) number = number * 10 + at->thread[d];
                          static_cast<int64_t*>(out[0])[cell] = number;
                          return MT_OK;
                        }));
  mt_launch launch = {sizeof launch, {2, 3, 4}, {5, 2, 3}, 0, nullptr};
  mt_kernel_result form = vector_of(3, MT_I64);
  mt_tensor* result;
  ASSERT_EQ(mt_kernel_call(places.kernel, &launch, nullptr, 0, nullptr, 0, &form, &result, 1),
            MT_OK);
  Numbers found = numbers_of(result);
  EXPECT_EQ(found.front(), 0);
  EXPECT_EQ(found[1], 100);
  EXPECT_EQ(found.back(), 123412);
  EXPECT_EQ(found[30], 100000);
}

TEST_F(Kernels, GiveSeveralResultsOfSeveralTypes) {
  Kernel parts(defined("parts",
                       [](void*, const mt_cell* at, const void* const* in, void* const* out,
                          const double*) -> mt_status {
                         int64_t i = at->block[0];
                         double x = static_cast<const double*>(in[0])[i], whole = std::floor(x);
                         static_cast<int8_t*>(out[0])[i] = static_cast<int8_t>(whole);
                         static_cast<double*>(out[1])[i] = x - whole;
                         static_cast<bool*>(out[2])[i] = x < 0;
                         return MT_OK;
                       }));
  mt_tensor* x = doubles({1.25, -0.5, 7});
  mt_launch launch = launched(3, 1, 1, 1);
  mt_kernel_result forms[] = {vector_of(1, MT_I8), {column, 2, MT_F64}, vector_of(1, MT_BOOL)};
  mt_tensor* results[3];
  ASSERT_EQ(mt_kernel_call(parts.kernel, &launch, &x, 1, nullptr, 0, forms, results, 3), MT_OK);
  EXPECT_EQ(numbers_of(results[0]), Numbers({1, -1, 7}));
  EXPECT_EQ(numbers_of(results[1]), Numbers({0.25, 0.5, 0}));
  EXPECT_EQ(numbers_of(results[2]), Numbers({0, 1, 0}));
  EXPECT_EQ(dims_of(results[1]), std::vector<int64_t>({3, 1}));
}

mt_status fail_at_five(void*, const mt_cell* at, const void* const*, void* const* out,
                       const double* numbers) {
  int64_t i = at->block[0] * at->block_size[0] + at->thread[0];
  static_cast<float*>(out[0])[i] = 1;
  if (i >= 5 && numbers[0] != 0) return mt_set_error(MT_EUSER, "five is too many");
  return MT_OK;
}

TEST_F(Kernels, TellWhichCellFails) {
  Kernel kernel(defined("counted", fail_at_five));
  mt_launch launch = launched(1000, 1, 4, 1);
  mt_kernel_result form = vector_of(4, MT_F32);
  double fails = 1;
  mt_tensor* result;
  for (int round = 0; round < 20; ++round) {  // whichever thread is first
    EXPECT_EQ(mt_kernel_call(kernel.kernel, &launch, nullptr, 0, &fails, 1, &form, &result, 1),
              MT_EUSER);
    EXPECT_EQ(result, nullptr);
    EXPECT_TRUE(
        failed_with(MT_EUSER, "counted: block (1, 0, 0), thread (1, 0, 0): five is too many"));
  }
  EXPECT_EQ(mt_item(mt_sum(mt_ones(MT_DIMS(4), MT_F32, nullptr), nullptr, 0)), 4);  // life goes on
}

TEST_F(Kernels, RefuseWhatCannotBe) {
  mt_kernel_definition nothing = defined("nothing", nullptr);
  EXPECT_EQ(mt_kernel_new(&nothing), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "neither CUDA C nor a function"));
  mt_kernel_definition sum = defined("a + b", fail_at_five);
  EXPECT_EQ(mt_kernel_new(&sum), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "\"a + b\" is not the name of a function"));
  EXPECT_EQ(mt_kernel_new(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL));

  mt_kernel_definition only_gpu = defined("only_gpu", nullptr);
  only_gpu.cuda = "__global__ void only_gpu(float* out) {}";
  Kernel gpu(only_gpu), matmul(defined("matmul", matmul_cell));
  mt_kernel_result form = vector_of(0, MT_F32);
  mt_tensor* result;
  auto call = [&](mt_kernel* kernel, mt_launch launch, mt_tensor* input, mt_kernel_result wanted) {
    return mt_kernel_call(kernel, &launch, &input, input ? 1 : 0, nullptr, 0, &wanted, &result, 1);
  };
  call(gpu.kernel, launched(1, 1, 1, 1), nullptr, form);
  EXPECT_TRUE(failed_with(MT_EUNSUPPORTED, "only_gpu: the kernel is for a GPU"));
  call(matmul.kernel, launched(0, 1, 1, 1), nullptr, form);
  EXPECT_TRUE(failed_with(MT_EINVAL, "matmul: a grid of 0 x 1 x 1"));
  call(matmul.kernel, launched(1, 70000, 1, 1), nullptr, form);
  EXPECT_TRUE(failed_with(MT_EINVAL, "65535"));
  call(matmul.kernel, launched(1, 1, 64, 32), nullptr, form);
  EXPECT_TRUE(failed_with(MT_EINVAL, "has 2048 threads; at most 1024"));
  call(matmul.kernel, launched(1, 1, 1, -1), nullptr, form);
  EXPECT_TRUE(failed_with(MT_EINVAL, "a block of 1 x -1 x 1"));
  mt_launch elsewhere = launched(1, 1, 1, 1);
  elsewhere.device = "cpu:reference";
  call(matmul.kernel, elsewhere, floats({1}), form);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "matmul: an operand lies on cpu"));
  elsewhere.device = "gpu";
  call(matmul.kernel, elsewhere, nullptr, form);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "gpu"));
  int64_t negative = -1;
  call(matmul.kernel, launched(1, 1, 1, 1), nullptr, {&negative, 1, MT_F32});
  EXPECT_TRUE(failed_with(MT_ESHAPE));
  call(matmul.kernel, launched(1, 1, 1, 1), nullptr, vector_of(0, 77));
  EXPECT_TRUE(failed_with(MT_EINVAL));
  mt_launch launch = launched(1, 1, 1, 1);
  EXPECT_EQ(mt_kernel_call(matmul.kernel, &launch, nullptr, 0, nullptr, 0, &form, &result, 0),
            MT_EINVAL);
  mt_clear();
  EXPECT_EQ(mt_kernel_call(nullptr, &launch, nullptr, 0, nullptr, 0, &form, &result, 1), MT_ENULL);
  mt_clear();
  EXPECT_EQ(mt_kernel_call(matmul.kernel, &launch, nullptr, 0, nullptr, 3, &form, &result, 1),
            MT_ENULL);
  mt_clear();
}

TEST_F(Kernels, LiveAsLongAsTheyAreNeeded) {
  static std::atomic<int> destroyed;
  destroyed = 0;
  mt_kernel_definition definition = defined("kept", fail_at_five);
  definition.destroy = [](void* user) { *static_cast<std::atomic<int>*>(user) += 1; };
  definition.user = &destroyed;
  mt_kernel* kernel = mt_kernel_new(&definition);
  struct Context {
    mt_kernel* kernel;
  } context{kernel};
  mt_trace* trace = mt_trace_new(
      [](void* user, mt_tensor* const*, size_t, mt_tensor** results, size_t) -> mt_status {
        mt_launch launch = launched(1, 1, 5, 1);
        mt_kernel_result form = vector_of(2, MT_F32);
        double fails = 1;
        return mt_kernel_call(static_cast<Context*>(user)->kernel, &launch, nullptr, 0, &fails, 1,
                              &form, results, 1);
      },
      &context);
  mt_tensor* result;
  ASSERT_EQ(mt_trace_call(trace, nullptr, 0, &result, 1), MT_OK) << mt_error_message();
  mt_kernel_release(kernel);
  EXPECT_EQ(destroyed, 0);
  ASSERT_EQ(mt_trace_call(trace, nullptr, 0, &result, 1), MT_OK) << mt_error_message();
  EXPECT_EQ(numbers_of(result), Numbers({1, 1, 1, 1, 1}));
  EXPECT_EQ(mt_trace_count(trace), 1u);
  mt_trace_release(trace);
  EXPECT_EQ(destroyed, 1);
}

// A replay whose function fails leaves parameters and random numbers as they were.
TEST_F(Kernels, FailInATraceWithoutChangingAnything) {
  static bool failing;
  failing = false;
  Kernel kernel(defined("fallible",
                        [](void*, const mt_cell*, const void* const* in, void* const* out,
                           const double*) -> mt_status {
                          *static_cast<float*>(out[0]) = *static_cast<const float*>(in[0]);
                          return failing ? MT_EUSER : MT_OK;
                        }));
  struct Context {
    mt_kernel* kernel;
    mt_tensor* w;
  } context{kernel.kernel, mt_require_grad(floats({1, 2, 3}))};
  mt_trace* trace = mt_trace_new(
      [](void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) -> mt_status {
        auto* self = static_cast<Context*>(user);
        mt_tensor* noise = mt_uniform(MT_DIMS(3), 0, 1, MT_F32, nullptr);
        MT_NO_GRAD { mt_assign(self->w, mt_add(self->w, mt_number(1))); }
        mt_launch launch = MT_LAUNCH_INIT;
        mt_kernel_result form = vector_of(0, MT_F32);
        mt_status status =
            mt_kernel_call(self->kernel, &launch, inputs, 1, nullptr, 0, &form, results, 1);
        results[1] = noise;
        return status;
      },
      &context);
  mt_tensor *x = floats({7}), *results[2];
  mt_seed(3);
  ASSERT_EQ(mt_trace_call(trace, &x, 1, results, 2), MT_OK) << mt_error_message();
  Numbers first = numbers_of(results[1]);
  failing = true;
  EXPECT_EQ(mt_trace_call(trace, &x, 1, results, 2), MT_EUSER);
  EXPECT_TRUE(failed_with(MT_EUSER, "the function returned -6"));
  failing = false;
  EXPECT_EQ(numbers_of(context.w), Numbers({2, 3, 4}));
  ASSERT_EQ(mt_trace_call(trace, &x, 1, results, 2), MT_OK);
  EXPECT_EQ(mt_item(results[0]), 7);
  EXPECT_EQ(numbers_of(context.w), Numbers({3, 4, 5}));
  Numbers second = numbers_of(results[1]);
  mt_seed(3);
  mt_uniform(MT_DIMS(3), 0, 1, MT_F32, nullptr);
  EXPECT_EQ(numbers_of(mt_uniform(MT_DIMS(3), 0, 1, MT_F32, nullptr)), second);
  EXPECT_NE(first, second);
  mt_trace_release(trace);
}

// Nor does one that fails beside a pending update, which is computed with it or later, once.
TEST_F(Kernels, FailWithoutChangingWhatIsUpdated) {
  Kernel kernel(defined("counted", fail_at_five));
  for (int64_t size : {3, 5000}) {
    mt_tensor* w = mt_zeros(&size, 1, MT_F32, nullptr);
    mt_eval(&w, 1);
    for (int step = 1; step <= 3; ++step) {
      MT_SCOPE { mt_assign(w, mt_add(w, mt_number(1))); }
      mt_launch launch = launched(2, 1, 4, 1);
      mt_kernel_result form = vector_of(4, MT_F32);
      double fails = step > 1;
      mt_tensor* result;
      EXPECT_EQ(mt_kernel_call(kernel.kernel, &launch, nullptr, 0, &fails, 1, &form, &result, 1),
                fails ? MT_EUSER : MT_OK);
      mt_clear();
      EXPECT_EQ(mt_item(mt_mean(w, nullptr, 0)), step);
    }
  }
}

struct Linear {
  mt_kernel* matmul;

  static mt_status forward(void* user, mt_tensor* const* x, size_t, mt_tensor** y, size_t) {
    y[0] = product(static_cast<Linear*>(user)->matmul, x[0], x[1]);
    return mt_error();
  }
  static mt_status backward(void* user, mt_tensor* const* x, size_t, mt_tensor* const*, size_t,
                            mt_tensor* const* dy, mt_tensor** dx) {
    mt_kernel* kernel = static_cast<Linear*>(user)->matmul;
    dx[0] = product(kernel, dy[0], mt_matrix_transpose(x[1]));
    dx[1] = product(kernel, mt_matrix_transpose(x[0]), dy[0]);
    return mt_error();
  }
};

TEST_F(Kernels, HaveGradientsWithinCustomOperators) {
  Kernel kernel(defined("matmul", matmul_cell));
  Linear linear{kernel.kernel};
  mt_operator operation{sizeof operation, "linear", Linear::forward,
                        Linear::backward, nullptr,  &linear};
  mt_tensor* x = mt_normal(MT_DIMS(6, 4), 0, 1, MT_F32, nullptr);
  mt_tensor* w = mt_require_grad(mt_normal(MT_DIMS(4, 3), 0, 1, MT_F32, nullptr));
  mt_tensor *inputs[] = {x, w}, *y;
  ASSERT_EQ(mt_custom(&operation, inputs, 2, &y, 1), MT_OK) << mt_error_message();
  mt_backward(mt_sum(mt_square(y), nullptr, 0));
  Numbers found = numbers_of(mt_gradient(w));
  mt_zero_grad(&w, 1);
  mt_backward(mt_sum(mt_square(mt_matmul(x, w)), nullptr, 0));
  Numbers wanted = numbers_of(mt_gradient(w));
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4);

  // By itself it has none, and says so.
  mt_backward(mt_sum(product(kernel.kernel, x, w), nullptr, 0));
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "matmul is a kernel, which has no gradient"));
}

}  // namespace
