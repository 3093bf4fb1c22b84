// SPDX-License-Identifier: Apache-2.0
/// @file kernel.hpp
/// Kernels of your own. See mtorch.hpp and kernel.h.
#ifndef MTORCH_KERNEL_HPP_
#define MTORCH_KERNEL_HPP_

#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kernel.h"
#include "tensor.hpp"

namespace mtorch {

/// A kernel: a function of one cell of a grid, CUDA C for a GPU, or both.
///
/// @code
/// Kernel twice({.name = "twice",
///               .cell = [](const mt_cell& at, const void* const* in, void* const* out,
///                          const double*) {
///                 int64_t i = at.block[0] * at.block_size[0] + at.thread[0];
///                 if (i < 1000) static_cast<float*>(out[0])[i] = static_cast<const
///                 float*>(in[0])[i] * 2;
///               }});
/// Tensor y = twice({x}, {.grid = {4}, .block = {256}}, {{{1000}, f32}})[0];
/// @endcode
class Kernel {
 public:
  /// What it is: the members of mt_kernel_definition. `cell` may throw, which fails the call.
  struct Definition {
    std::string name;
    std::function<void(const mt_cell& cell, const void* const* inputs, void* const* results,
                       const double* numbers)>
        cell = nullptr;
    std::string cuda = {};
    bool serial = false;
  };
  /// The geometry of a call: x, y, z; what is left out is 1.
  struct Launch {
    std::array<int64_t, 3> grid = {1, 1, 1};
    std::array<int64_t, 3> block = {1, 1, 1};
    int64_t shared_bytes = 0;
    std::string device = {};
  };
  /// Shape and type of a result.
  struct Form {
    Dims shape;
    DType dtype = f32;
  };

  explicit Kernel(Definition definition) : handle_(nullptr, mt_kernel_release) {
    auto kept = std::make_unique<Definition>(std::move(definition));
    mt_kernel_definition c{};
    c.struct_size = sizeof c;
    c.name = detail::text(kept->name);
    c.cuda = kept->cuda.empty() ? nullptr : detail::text(kept->cuda);
    if (kept->cell) c.cell = call_cell;
    c.serial = kept->serial;
    c.destroy = [](void* user) { delete static_cast<Definition*>(user); };
    c.user = kept.get();
    handle_.reset(detail::required(mt_kernel_new(&c)));
    kept.release();
  }

  /// mt_kernel_call(): new tensors of the given forms.
  Tensors operator()(const Tensors& inputs, const Launch& launch, const std::vector<Form>& forms,
                     const std::vector<double>& numbers = {}) const {
    mt_launch c = MT_LAUNCH_INIT;
    for (size_t d = 0; d < 3; ++d) {  // {4} leaves zeros behind
      c.grid[d] = d && launch.grid[d] == 0 ? 1 : launch.grid[d];
      c.block[d] = d && launch.block[d] == 0 ? 1 : launch.block[d];
    }
    c.shared_bytes = launch.shared_bytes;
    c.device = launch.device.empty() ? nullptr : detail::text(launch.device);
    std::vector<mt_kernel_result> results;
    for (const Form& form : forms) {
      results.push_back({form.shape.data(), form.shape.size(), static_cast<mt_dtype>(form.dtype)});
    }
    auto x = detail::handles(inputs);
    return detail::filled(forms.size(), [&](mt_tensor** y) {
      return mt_kernel_call(handle_.get(), &c, x.data(), x.size(), numbers.data(), numbers.size(),
                            results.data(), y, forms.size());
    });
  }

 private:
  static mt_status call_cell(void* user, const mt_cell* cell, const void* const* inputs,
                             void* const* results, const double* numbers) {
    try {
      static_cast<Definition*>(user)->cell(*cell, inputs, results, numbers);
      return MT_OK;
    } catch (const std::exception& error) {
      return mt_set_error(MT_EUSER, error.what());
    } catch (...) {
      return mt_set_error(MT_EUSER, "an exception");
    }
  }

  std::unique_ptr<mt_kernel, void (*)(mt_kernel*)> handle_;
};

}  // namespace mtorch

#endif
