// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/user_kernel.h"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "base/error.h"
#include "tensor/first_byte.h"

namespace mt::cuda {
namespace {

struct Compiled {
  Kernel* kernel;
  std::vector<std::string> parameters;
};

// A launch with all that does not depend on where its tensors lie.
struct PreparedLaunch {
  Kernel* kernel;
  std::vector<uint64_t> numbers;  // as the kernel's types have them
};

struct Named {
  const char* name;
  Dtype dtype;
};
constexpr Named scalars[] = {
    {"bool", Dtype::boolean},
    {"char", Dtype::int8},
    {"signed char", Dtype::int8},
    {"unsigned char", Dtype::uint8},
    {"short", Dtype::int16},
    {"unsigned short", Dtype::uint16},
    {"int", Dtype::int32},
    {"unsigned int", Dtype::uint32},
    {"long", Dtype::int64},
    {"long long", Dtype::int64},
    {"unsigned long", Dtype::uint64},
    {"unsigned long long", Dtype::uint64},
    {"float", Dtype::float32},
    {"double", Dtype::float64},
    {"__half", Dtype::float16},
    {"__nv_bfloat16", Dtype::bfloat16},
};

const Named* find_scalar(const std::string& name) {
  for (const Named& scalar : scalars) {
    if (name == scalar.name) return &scalar;
  }
  return nullptr;
}

// Whether elements of that C type can be the tensor's. Of a structure of the user's own, or a
// vector, only he knows.
bool suits(const std::string& element, Dtype dtype) {
  const Named* scalar = find_scalar(element);
  if (!scalar || scalar->dtype == dtype) return true;
  if (size_of(dtype) == 1) return element == "char" || element == "unsigned char";
  return is_half(dtype) && element == "unsigned short";  // its bits
}

class Parameters {
 public:
  Parameters(const Launch& launch, const std::vector<std::string>& types)
      : name_(launch.kernel->name.c_str()), types_(types) {}

  void check_count(size_t inputs, size_t results, size_t numbers) const {
    if (types_.size() == inputs + results + numbers) return;
    fail(Code::invalid,
         "%s: the kernel has %zu parameters, and is called with %zu (inputs: %zu, results: %zu, "
         "numbers: %zu)",
         name_, types_.size(), inputs + results + numbers, inputs, results, numbers);
  }

  void take_tensor(const char* what, size_t i, Dtype dtype, bool written) {
    const std::string& type = types_[next_++];
    auto refuse = [&](const char* why) {
      fail(Code::dtype, "%s: %s %zu is %s, and parameter %zu of the kernel is \"%s\"%s", name_,
           what, i, name_of(dtype), next_ - 1, type.c_str(), why);
    };
    if (type.back() != '*') refuse(", no pointer");
    std::string element = type.substr(0, type.size() - 1);
    constexpr char constant[] = " const";
    const size_t length = sizeof constant - 1;
    bool is_constant =
        element.size() > length && element.compare(element.size() - length, length, constant) == 0;
    if (is_constant == written) {
      refuse(written ? ", which cannot be written"
                     : ": inputs are never written, so it must be const");
    }
    if (is_constant) element.resize(element.size() - length);
    if (!suits(element, dtype)) refuse("");
  }

  uint64_t take_number(size_t i, double number) {
    const std::string& type = types_[next_++];
    const Named* scalar = find_scalar(type);
    auto refuse = [&](const char* why) {
      fail(Code::dtype, "%s: number %zu is %g, and parameter %zu of the kernel is \"%s\"%s", name_,
           i, number, next_ - 1, type.c_str(), why);
    };
    if (!scalar || is_half(scalar->dtype)) refuse(", no number");
    switch (scalar->dtype) {
      case Dtype::float32: return bits(static_cast<float>(number));
      case Dtype::float64: return bits(number);
      case Dtype::boolean: return number != 0;
      default: break;
    }
    int width = static_cast<int>(size_of(scalar->dtype)) * 8;
    bool is_signed = type.compare(0, 8, "unsigned") != 0;
    double end = std::ldexp(1.0, is_signed ? width - 1 : width), begin = is_signed ? -end : 0;
    if (!(number >= begin && number < end)) refuse(", which cannot hold it");
    if (number != std::floor(number)) refuse(", no floating type");
    return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(number))
                     : static_cast<uint64_t>(number);
  }

 private:
  template <class T>
  static uint64_t bits(T number) {
    uint64_t result = 0;
    std::memcpy(&result, &number, sizeof number);
    return result;
  }

  const char* name_;
  const std::vector<std::string>& types_;
  size_t next_ = 0;
};

// Kernels stay for good: nobody knows when the device is through with one.
const Compiled& compile_once(int device, const mt::Kernel& kernel) {
  using Key = std::pair<int, std::pair<std::string, std::string>>;
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<Key, Compiled>;
  Key key{device, {kernel.name, kernel.cuda}};
  std::lock_guard lock(*mutex);
  auto found = known->find(key);
  if (found != known->end()) return found->second;
  UserCode code = compile_user(device, kernel.cuda, kernel.name.c_str());
  return known->emplace(std::move(key), Compiled{code.kernel, parameter_types(code.type)})
      .first->second;
}

const Launch& launch_of(const CallGroup& group, const Run& run) {
  return *static_cast<const Launch*>(run.buffers.launch(group.inputs.back().buffer));
}

}  // namespace

std::vector<std::string> parameter_types(const std::string& type) {
  constexpr char before[] = "(*)(";
  std::vector<std::string> types;
  size_t begin = type.find(before);
  if (begin == type.npos) return types;
  begin += sizeof before - 1;
  int depth = 0;
  for (size_t i = begin; i < type.size(); ++i) {
    char c = type[i];
    bool ends = c == ')' && depth == 0;
    if (ends || (c == ',' && depth == 0)) {
      std::string one = type.substr(begin, i - begin);
      if (!one.empty() && one != "void") types.push_back(one);
      begin = i + 2;  // after ", "
    }
    if (ends) break;
    depth += c == '(' || c == '<' || c == '[';
    depth -= c == ')' || c == '>' || c == ']';
  }
  return types;
}

void prepare_user_kernel(Launch* launch, const std::vector<Dtype>& inputs, int device,
                         size_t shared_memory) {
  const mt::Kernel& kernel = *launch->kernel;
  const char* name = kernel.name.c_str();
  if (kernel.cuda.empty()) {
    fail(Code::unsupported, "%s: the kernel has no CUDA C, which a GPU needs", name);
  }
  if (static_cast<size_t>(launch->shared_bytes) > shared_memory) {
    fail(Code::invalid, "%s: %lld bytes of shared memory; the GPU has %zu for a block", name,
         static_cast<long long>(launch->shared_bytes), shared_memory);
  }
  const Compiled& compiled = compile_once(device, kernel);
  Parameters parameters(*launch, compiled.parameters);
  parameters.check_count(inputs.size(), launch->results.size(), launch->numbers.size());
  auto prepared = std::make_shared<PreparedLaunch>();
  prepared->kernel = compiled.kernel;
  for (size_t i = 0; i < inputs.size(); ++i) parameters.take_tensor("input", i, inputs[i], false);
  for (size_t i = 0; i < launch->results.size(); ++i) {
    parameters.take_tensor("result", i, launch->results[i].dtype, true);
  }
  for (size_t i = 0; i < launch->numbers.size(); ++i) {
    prepared->numbers.push_back(parameters.take_number(i, launch->numbers[i]));
  }
  launch->prepared = prepared;
}

void launch_user_kernel(const CallGroup& group, const Run& run) {
  const Launch& launch = launch_of(group, run);
  const auto& prepared = *static_cast<const PreparedLaunch*>(launch.prepared.get());
  auto address = [&](const Operand& operand) {
    return static_cast<char*>(run.buffers[operand.buffer]) + first_byte(operand);
  };
  auto bytes = [](const Shape& shape, Dtype dtype) {
    return static_cast<size_t>(element_count(shape)) * size_of(dtype);
  };
  std::vector<Argument> arguments;
  for (size_t i = 0; i + 1 < group.inputs.size(); ++i) {
    const Operand& input = group.inputs[i];
    arguments.push_back({address(input), bytes(input.layout.shape, input.dtype), false, 0});
  }
  for (const Launch::Result& result : launch.results) {
    arguments.push_back(
        {address(group.output) + result.byte, bytes(result.shape, result.dtype), true, 0});
  }
  for (uint64_t number : prepared.numbers) arguments.push_back({nullptr, 0, false, number});
  Geometry geometry{};
  for (int d = 0; d < 3; ++d) {
    geometry.grid[d] = static_cast<unsigned>(launch.grid[d]);
    geometry.block[d] = static_cast<unsigned>(launch.block[d]);
  }
  geometry.shared_bytes = static_cast<size_t>(launch.shared_bytes);
  launch_user(prepared.kernel, group.op->name, geometry, run.stream, arguments);
}

}  // namespace mt::cuda
