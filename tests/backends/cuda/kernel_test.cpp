// SPDX-License-Identifier: Apache-2.0
// Kernels of the user's own in CUDA C: compiled by the host compiler and run on the simulated
// device, and, where it is, compiled by NVRTC.
#include <cstdlib>
#include <filesystem>

#include "api/support.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/simulated.h"
#include "base/error.h"

namespace {

namespace files = std::filesystem;

// Tiles in shared memory, each read by a whole block.
constexpr char tiled_matmul[] = R"(
constexpr int tile = 8;
__global__ void tiled_matmul(const float* a, const float* b, float* out, int rows, int inner,
                             int columns) {
  __shared__ float of_a[tile][tile], of_b[tile][tile];
  int i = blockIdx.y * tile + threadIdx.y, j = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < inner; start += tile) {
    int k = start + threadIdx.x, l = start + threadIdx.y;
    of_a[threadIdx.y][threadIdx.x] = i < rows && k < inner ? a[i * inner + k] : 0;
    of_b[threadIdx.y][threadIdx.x] = l < inner && j < columns ? b[l * columns + j] : 0;
    __syncthreads();
    for (int k = 0; k < tile; ++k) sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
    __syncthreads();
  }
  if (i < rows && j < columns) out[i * columns + j] = sum;
}
)";

constexpr char parts[] = R"(
extern "C" __global__ void parts(const double* x, signed char* whole, double* rest, bool* negative,
                                 long long n, double scale) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  double value = x[i] * scale;
  whole[i] = (signed char)floor(value);
  rest[i] = value - floor(value);
  negative[i] = value < 0;
}
)";

class CudaKernels : public Api {
 protected:
  static void SetUpTestSuite() {
    if (!simulated::is_there()) return;  // NVRTC compiles
    std::string folder = std::getenv("MT_CUDA_SIMULATED_FOLDER");
    files::remove_all(folder);
    files::create_directories(folder);
  }
};

struct Kernel {
  mt_kernel* kernel;
  Kernel(const char* name, const char* cuda, mt_cell_function cell = nullptr) {
    mt_kernel_definition definition{};
    definition.struct_size = sizeof definition;
    definition.name = name;
    definition.cuda = cuda;
    definition.cell = cell;
    kernel = mt_kernel_new(&definition);
  }
  ~Kernel() { mt_kernel_release(kernel); }
};

mt_tensor* on_gpu(mt_tensor* x, const char* device = "cuda:0") { return mt_to_device(x, device); }

mt_tensor* product(mt_kernel* kernel, mt_tensor* a, mt_tensor* b) {
  int64_t dims[] = {mt_dim(a, 0), mt_dim(b, 1)};
  mt_launch launch = {
      sizeof launch, {(dims[1] + 7) / 8, (dims[0] + 7) / 8, 1}, {8, 8, 1}, 0, nullptr};
  mt_tensor *inputs[] = {a, b}, *result = nullptr;
  double numbers[] = {static_cast<double>(dims[0]), static_cast<double>(mt_dim(a, 1)),
                      static_cast<double>(dims[1])};
  mt_kernel_result form = {dims, 2, MT_F32};
  mt_kernel_call(kernel, &launch, inputs, 2, numbers, 3, &form, &result, 1);
  return result;
}

void expect_near(const Numbers& found, const Numbers& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4) << i;
}

TEST_F(CudaKernels, RunOnAGrid) {
  Kernel matmul("tiled_matmul", tiled_matmul);
  for (const char* device : {"cuda:0", simulated::hopper()}) {
    mt_tensor* a = on_gpu(mt_normal(MT_DIMS(19, 21), 0, 1, MT_F32, "cpu"), device);
    mt_tensor* b = on_gpu(mt_normal(MT_DIMS(21, 10), 0, 1, MT_F32, "cpu"), device);
    mt_tensor* ours = product(matmul.kernel, a, b);
    ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
    EXPECT_STREQ(mt_device_of(ours), device);
    expect_near(numbers_of(ours), numbers_of(mt_matmul(a, b)));
    mt_tensor* transposed = product(matmul.kernel, mt_matrix_transpose(b), mt_matrix_transpose(a));
    expect_near(numbers_of(mt_matrix_transpose(transposed)), numbers_of(mt_matmul(a, b)));
  }
}

TEST_F(CudaKernels, GiveSeveralResults) {
  Kernel kernel("parts", parts);
  mt_tensor* x = on_gpu(doubles({0.625, -0.25, 3.5}));
  mt_launch launch = {sizeof launch, {2, 1, 1}, {2, 1, 1}, 0, nullptr};
  int64_t n = 3;
  mt_kernel_result forms[] = {{&n, 1, MT_I8}, {&n, 1, MT_F64}, {&n, 1, MT_BOOL}};
  double numbers[] = {3, 2};
  mt_tensor* results[3];
  ASSERT_EQ(mt_kernel_call(kernel.kernel, &launch, &x, 1, numbers, 2, forms, results, 3), MT_OK)
      << mt_error_message();
  EXPECT_EQ(numbers_of(results[0]), Numbers({1, -1, 7}));
  EXPECT_EQ(numbers_of(results[1]), Numbers({0.25, 0.5, 0}));
  EXPECT_EQ(numbers_of(results[2]), Numbers({0, 1, 0}));
}

TEST_F(CudaKernels, RefuseWhatDoesNotFit) {
  Kernel kernel("parts", parts);
  mt_tensor* x = on_gpu(doubles({1, 2, 3}));
  int64_t n = 3;
  mt_kernel_result forms[] = {{&n, 1, MT_I8}, {&n, 1, MT_F64}, {&n, 1, MT_BOOL}};
  double numbers[] = {3, 2, 1};
  mt_launch launch = {sizeof launch, {1, 1, 1}, {3, 1, 1}, 0, nullptr};
  mt_tensor* results[3];
  auto call = [&](mt_tensor* input, size_t nnumbers) {
    mt_kernel_call(kernel.kernel, &launch, &input, 1, numbers, nnumbers, forms, results, 3);
  };
  call(x, 3);
  EXPECT_TRUE(failed_with(MT_EINVAL,
                          "parts: the kernel has 6 parameters, and is called with 7 (inputs: 1, "
                          "results: 3, numbers: 3)"));
  call(on_gpu(floats({1, 2, 3})), 2);
  EXPECT_TRUE(failed_with(
      MT_EDTYPE, "parts: input 0 is float32, and parameter 0 of the kernel is \"double const*\""));
  forms[1].dtype = MT_F32;
  call(x, 2);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "result 1 is float32, and parameter 2 of the kernel is"));
  forms[1].dtype = MT_F64;
  numbers[0] = 2.5;
  call(x, 2);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "number 0 is 2.5, and parameter 4 of the kernel is \"long"));
  numbers[0] = 1e30;
  call(x, 2);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "which cannot hold it"));
  numbers[0] = 3;
  launch.shared_bytes = 1 << 20;
  call(x, 2);
  EXPECT_TRUE(failed_with(MT_EINVAL, "1048576 bytes of shared memory"));
  launch.shared_bytes = 0;
  call(x, 2);
  EXPECT_EQ(numbers_of(results[0]), Numbers({2, 4, 6}));

  Kernel writes("writes", "__global__ void writes(float* in, const float* out) {}");
  mt_tensor* y = on_gpu(floats({1, 2, 3}));
  mt_kernel_result form = {&n, 1, MT_F32};
  mt_kernel_call(writes.kernel, &launch, &y, 1, nullptr, 0, &form, results, 1);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "inputs are never written, so it must be const"));
  Kernel reads("reads", "__global__ void reads(const float* in, const float* out) {}");
  mt_kernel_call(reads.kernel, &launch, &y, 1, nullptr, 0, &form, results, 1);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "which cannot be written"));
  Kernel wrong("wrong", "__global__ void wrong(float* out) { out[0] = missing; }");
  mt_kernel_call(wrong.kernel, &launch, nullptr, 0, nullptr, 0, &form, results, 1);
  EXPECT_TRUE(failed_with(MT_EUNSUPPORTED, "the kernel is for a GPU"));
  launch.device = "cuda:0";
  mt_kernel_call(wrong.kernel, &launch, nullptr, 0, nullptr, 0, &form, results, 1);
  EXPECT_EQ(mt_error(), MT_EINVAL);
  EXPECT_NE(std::string(mt_error_message()).find("wrong.cu"), std::string::npos)
      << mt_error_message();
  EXPECT_TRUE(failed_with(MT_EINVAL, "missing"));
  Kernel cell("cell", nullptr, [](auto...) -> mt_status { return MT_OK; });
  mt_kernel_call(cell.kernel, &launch, nullptr, 0, nullptr, 0, &form, results, 1);
  EXPECT_TRUE(failed_with(MT_EUNSUPPORTED, "cell: the kernel has no CUDA C, which a GPU needs"));
}

struct Linear {
  mt_kernel* matmul;
  mt_tensor* w;

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
  static mt_status step(void* user, mt_tensor* const* x, size_t, mt_tensor** loss, size_t) {
    auto* self = static_cast<Linear*>(user);
    mt_operator operation{sizeof operation, "linear", forward, backward, nullptr, self};
    mt_tensor *inputs[] = {x[0], self->w}, *y;
    mt_custom(&operation, inputs, 2, &y, 1);
    loss[0] = mt_mean(mt_square(mt_sub(y, x[1])), nullptr, 0);
    mt_zero_grad(&self->w, 1);
    mt_backward(loss[0]);
    mt_sgd(&self->w, 1, 0.1);
    return mt_error();
  }
};

// A whole training step whose products are a user's kernel, traced and replayed.
TEST_F(CudaKernels, TrainWithinATrace) {
  Kernel matmul("tiled_matmul", tiled_matmul);
  mt_seed(1);
  mt_tensor* x = on_gpu(mt_normal(MT_DIMS(12, 5), 0, 1, MT_F32, "cpu"));
  mt_tensor* wanted = on_gpu(mt_normal(MT_DIMS(5, 2), 0, 1, MT_F32, "cpu"));
  mt_tensor* data[] = {x, mt_matmul(x, wanted)};
  Linear linear{matmul.kernel, mt_require_grad(mt_zeros(MT_DIMS(5, 2), MT_F32, "cuda:0"))};
  mt_trace* trace = mt_trace_new(Linear::step, &linear);
  mt_tensor* loss = nullptr;
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(mt_trace_call(trace, data, 2, &loss, 1), MT_OK) << mt_error_message();
  }
  EXPECT_EQ(mt_trace_count(trace), 1u);
  EXPECT_LT(mt_item(loss), 0.05);
  mt_tensor* replayed = mt_detach(linear.w);
  linear.w = mt_require_grad(mt_zeros(MT_DIMS(5, 2), MT_F32, "cuda:0"));
  for (int i = 0; i < 60; ++i) Linear::step(&linear, data, 2, &loss, 1);
  expect_near(numbers_of(linear.w), numbers_of(replayed));
  mt_trace_release(trace);
}

TEST_F(CudaKernels, CompileWithNvrtc) {
#ifdef MT_HAVE_NVRTC
  if (mt::cuda::nvrtc_version() == 0) GTEST_SKIP() << "NVRTC is not installed";
  for (int capability : {80, 90}) {
    mt::cuda::UserText text = mt::cuda::compile_user_text(tiled_matmul, "tiled_matmul", capability);
    EXPECT_GT(text.cubin.size(), 1000u);
    EXPECT_NE(text.function.find("tiled_matmul"), std::string::npos);
    EXPECT_NE(text.type.find("(*)(float const*, float const*, float*, int, int, int)"),
              std::string::npos)
        << text.type;
    text = mt::cuda::compile_user_text(parts, "parts", capability);
    EXPECT_EQ(text.function, "parts");
    EXPECT_NE(text.type.find("(double const*, signed char*, double*, bool*, long long, double)"),
              std::string::npos)
        << text.type;
  }
  // For a GPU that this NVRTC does not know: text, which that GPU's driver compiles.
  mt::cuda::UserText later = mt::cuda::compile_user_text(parts, "parts", 990);
  EXPECT_NE(std::string(later.cubin.begin(), later.cubin.end()).find(".entry parts"),
            std::string::npos);
  auto refusal = [](const char* source, const char* name) -> std::string {
    try {
      mt::cuda::compile_user_text(source, name, 80);
      return "";
    } catch (const mt::Error& error) {
      EXPECT_EQ(error.code(), mt::Code::invalid);
      return error.what();
    }
  };
  std::string said = refusal("\n__global__ void f(float* out) { out[0] = missing; }", "f");
  EXPECT_EQ(said.find("f: the kernel does not compile:\nf.cu(2): error:"), 0u) << said;
  EXPECT_NE(said.find("\"missing\" is undefined"), std::string::npos) << said;
  said = refusal("__global__ void f(float* out) {}", "g");
  EXPECT_NE(said.find("\"g\""), std::string::npos) << said;
  // Half floats, where the toolkit's headers are.
  try {
    mt::cuda::UserText half = mt::cuda::compile_user_text(
        "#include <cuda_fp16.h>\n__global__ void h(const __half* x, __half* y) { y[0] = x[0]; }",
        "h", 80);
    EXPECT_NE(half.type.find("(__half const*, __half*)"), std::string::npos) << half.type;
  } catch (const mt::Error& error) {
    EXPECT_NE(std::string(error.what()).find("cuda_fp16.h"), std::string::npos) << error.what();
  }
#else
  GTEST_SKIP() << "built without CUDA";
#endif
}

}  // namespace
