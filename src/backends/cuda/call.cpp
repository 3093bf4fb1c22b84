// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/call.h"

#include <algorithm>
#include <cstring>

#include "backends/cuda/call_kernels.h"
#include "backends/cuda/user_kernel.h"
#include "ops/naive.h"
#include "tensor/first_byte.h"

namespace mt::cuda {
namespace {

// An operand's elements and all that lies between them, on the host.
struct HostOperand {
  std::vector<char> bytes;
  NaiveArray array;

  HostOperand(const Operand& operand, const char* device, Stream stream) {
    int64_t size = static_cast<int64_t>(size_of(operand.dtype));
    Extent touched = extent(operand.layout);
    bytes.resize(static_cast<size_t>((touched.end - touched.begin) * size));
    copy_out(bytes.data(), device + touched.begin * size, bytes.size(), stream);
    array = {bytes.data(), operand.dtype, operand.layout};
    array.layout.offset -= touched.begin;
  }
};

void run_on_host(const CallGroup& group, const Run& run) {
  std::vector<NaiveArray> arrays;
  std::vector<HostOperand> inputs;
  inputs.reserve(group.inputs.size());
  for (const Operand& input : group.inputs) {
    inputs.emplace_back(input, static_cast<const char*>(run.buffers[input.buffer]), run.stream);
    arrays.push_back(inputs.back().array);
  }
  synchronize(run.stream, group.op->name);
  size_t size =
      static_cast<size_t>(element_count(group.output.layout.shape)) * size_of(group.output.dtype);
  std::vector<char> output(size);
  naive_value({*group.op,
               group.attributes,
               run.immediates[group.immediate],
               arrays,
               {output.data(), group.output.dtype, group.output.layout}});
  copy_in(run.buffers[group.output.buffer], output.data(), size, run.stream);
  synchronize(run.stream, group.op->name);
}

// One of the results that a kernel of the user's has put one after the other.
void copy_part(const Call& call) {
  size_t bytes = static_cast<size_t>(element_count(call.group.output.layout.shape)) *
                 size_of(call.group.output.dtype);
  if (bytes) copy_within(call.output, call.input + call.group.attributes[0], bytes, call.stream);
}

struct Entry {
  const char* name;
  void (*launch)(const Call& call);
  int64_t (*scratch)(const CallGroup& group) = nullptr;
  bool contiguous = false;  // it needs its first input to be that
};

// One line for each operator with a kernel.
constexpr Entry entries[] = {
    {"add_along_axis", launch_add_along_axis, add_along_axis_scratch},
    {"argmax", launch_argmax},
    {"argmin", launch_argmin},
    {"argsort", launch_argsort, argsort_scratch, true},
    {"attention", launch_attention},
    {"attention_gradient", launch_attention_gradient, attention_gradient_scratch},
    {"concat", launch_concat},
    {"cumulative_sum", launch_cumulative_sum, nullptr, true},
    {"pad", launch_pad},
    {"fold", launch_fold},
    {"gather", launch_gather},
    {"kernel_part", copy_part},
    {"last_writer", launch_last_writer, last_writer_scratch},
    {"nonzero", launch_nonzero, nonzero_scratch, true},
    {"overlay", launch_overlay},
    {"recurrence", launch_recurrence},
    {"scatter", launch_scatter, scatter_scratch},
    {"searchsorted", launch_searchsorted},
    {"sort", launch_sort, argsort_scratch, true},
    {"take_along_axis", launch_take_along_axis},
};

const Entry* find(const CallGroup& group) {
  for (const Entry& entry : entries) {
    if (std::strcmp(entry.name, group.op->name) != 0) continue;
    return entry.contiguous && !is_contiguous(group.inputs[0].layout) ? nullptr : &entry;
  }
  return nullptr;
}

char* first_element(const Operand& operand, const Run& run) {
  return static_cast<char*>(run.buffers[operand.buffer]) + first_byte(operand);
}

int64_t describe(const CallGroup& group, Block* block) {
  std::vector<ArrayView> inputs;
  for (const Operand& input : group.inputs) {
    inputs.push_back({nullptr, layout_view(input.layout), input.dtype});
  }
  int64_t at_inputs = block->add(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    block->show_buffer(at_inputs + static_cast<int64_t>(i * sizeof(ArrayView)),
                       group.inputs[i].buffer, first_byte(group.inputs[i]));
  }
  int64_t attributes = block->add(group.attributes.data(), group.attributes.size());
  CallView call{};
  call.output = {nullptr, layout_view(group.output.layout), group.output.dtype};
  call.input_count = static_cast<int32_t>(inputs.size());
  int64_t at = block->add(call);
  block->show_buffer(at + offsetof(CallView, output), group.output.buffer,
                     first_byte(group.output));
  block->show_block(at + offsetof(CallView, inputs), at_inputs);
  block->show_block(at + offsetof(CallView, attributes), attributes);
  block->take_immediate(at + offsetof(CallView, immediate), group.immediate);
  return at;
}

}  // namespace

static_assert(most_dimensions == max_rank);

LayoutView layout_view(const Layout& layout) {
  LayoutView view{};
  view.rank = layout.shape.rank();
  for (int d = 0; d < view.rank; ++d) {
    view.shape[d] = layout.shape[d];
    view.strides[d] = layout.strides[d];
  }
  return view;
}

std::function<void(const Run&)> prepare_call(const CallGroup& group, const Properties& device,
                                             Block* block, int64_t* scratch) {
  if (is_kernel(*group.op)) return [&group](const Run& run) { launch_user_kernel(group, run); };
  const Entry* entry = find(group);
  if (!entry) return [&group](const Run& run) { run_on_host(group, run); };
  if (entry->scratch) *scratch = std::max(*scratch, entry->scratch(group));
  int64_t at = describe(group, block);
  return [&group, &device, entry, at](const Run& run) {
    entry->launch({group, run.description<CallView>(at), first_element(group.inputs[0], run),
                   first_element(group.output, run), run.scratch, run.stream, run.buffers, device});
  };
}

}  // namespace mt::cuda
