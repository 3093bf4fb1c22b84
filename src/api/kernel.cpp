// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/kernel.h.
#include "mtorch/kernel.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "api/guard.h"
#include "backends/devices.h"
#include "backends/launch.h"
#include "mtorch/error.h"

namespace mt::api {
namespace {

class UserKernel final : public Kernel {
 public:
  UserKernel(const mt_kernel_definition& given)
      : Kernel(given.name, given.cuda ? given.cuda : "", given.cell != nullptr, given.serial),
        cell_(given.cell),
        user_(given.user) {}
  ~UserKernel() override {
    if (destroy_) destroy_(user_);
  }
  // From now on `user` is to be destroyed.
  void own(void (*destroy)(void*)) { destroy_ = destroy; }

  void run_block(const Launch& launch, const int64_t block[3], const void* const* inputs,
                 void* const* results) const override {
    mt_cell cell{};
    for (int d = 0; d < 3; ++d) {
      cell.block[d] = block[d];
      cell.block_size[d] = launch.block[d];
      cell.grid_size[d] = launch.grid[d];
    }
    int64_t* thread = cell.thread;
    for (thread[2] = 0; thread[2] < launch.block[2]; ++thread[2]) {
      for (thread[1] = 0; thread[1] < launch.block[1]; ++thread[1]) {
        for (thread[0] = 0; thread[0] < launch.block[0]; ++thread[0]) {
          mt_status status = cell_(user_, &cell, inputs, results, launch.numbers.data());
          if (status != MT_OK || error_pending()) fail_in(cell, status);
        }
      }
    }
  }

 private:
  // Whatever thread this is, its error goes along to the one that called.
  [[noreturn]] void fail_in(const mt_cell& cell, mt_status status) const {
    struct Clear {  // also where memory for the message runs out
      ~Clear() { mt_clear(); }
    } clear;
    std::string said = error_pending() ? mt_error_message() : "";
    if (said.empty()) said = "the function returned " + std::to_string(status);
    auto place = [](const int64_t at[3]) {
      return "(" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " +
             std::to_string(at[2]) + ")";
    };
    throw Error(Code::user, name + ": block " + place(cell.block) + ", thread " +
                                place(cell.thread) + ": " + said);
  }

  mt_cell_function cell_;
  void* user_;
  void (*destroy_)(void*) = nullptr;
};

bool is_identifier(const char* name) {
  if (!std::isalpha(static_cast<unsigned char>(*name)) && *name != '_') return false;
  for (; *name; ++name) {
    if (!std::isalnum(static_cast<unsigned char>(*name)) && *name != '_') return false;
  }
  return true;
}

// The device of the launch: that which it names, else the inputs', else the default.
Device& device_of(const mt_launch& launch, const std::vector<Tensor>& inputs) {
  if (launch.device || inputs.empty()) return find_device(launch.device);
  return inputs[0].device();
}

std::shared_ptr<Launch> launch_of(const std::shared_ptr<UserKernel>& kernel,
                                  const mt_launch& given) {
  auto launch = std::make_shared<Launch>();
  launch->kernel = kernel;
  std::copy_n(given.grid, 3, launch->grid);
  std::copy_n(given.block, 3, launch->block);
  launch->shared_bytes = given.shared_bytes;
  return launch;
}

}  // namespace
}  // namespace mt::api

using namespace mt;
using namespace mt::api;

struct mt_kernel {
  std::shared_ptr<UserKernel> shared;
};

mt_kernel* mt_kernel_new(const mt_kernel_definition* definition) {
  return read<mt_kernel*>("kernel_new", nullptr, [&] {
    mt_kernel_definition given =
        options(required(definition, "definition"), mt_kernel_definition{});
    if (!is_identifier(required(given.name, "the name"))) {
      fail(Code::invalid, "kernel_new: \"%s\" is not the name of a function", given.name);
    }
    if (!given.cuda && !given.cell) {
      fail(Code::invalid, "kernel_new: %s has neither CUDA C nor a function", given.name);
    }
    auto kernel = std::make_unique<mt_kernel>(mt_kernel{std::make_shared<UserKernel>(given)});
    kernel->shared->own(given.destroy);
    return kernel.release();
  });
}

void mt_kernel_release(mt_kernel* kernel) { delete kernel; }

mt_status mt_kernel_call(mt_kernel* kernel, const mt_launch* launch, mt_tensor* const* inputs,
                         size_t ninputs, const double* numbers, size_t nnumbers,
                         const mt_kernel_result* forms, mt_tensor** results, size_t nresults) {
  return change_all("kernel_call", results, nresults, [&] {
    const auto& shared = required(kernel, "kernel")->shared;
    if (nresults == 0) {
      fail(Code::invalid, "%s: a kernel without results does nothing", shared->name.c_str());
    }
    mt_launch given = options(required(launch, "launch"), mt_launch(MT_LAUNCH_INIT));
    std::vector<Tensor> tensors = values(inputs, ninputs);
    std::shared_ptr<Launch> made = launch_of(shared, given);
    if (nnumbers) required(numbers, "numbers");
    made->numbers.assign(numbers, numbers + nnumbers);
    required(forms, "forms");
    for (size_t i = 0; i < nresults; ++i) {
      made->results.push_back({shape(forms[i].dims, forms[i].ndim), dtype(forms[i].dtype)});
    }
    return launch_kernel(std::move(made), device_of(given, tensors), tensors);
  });
}
