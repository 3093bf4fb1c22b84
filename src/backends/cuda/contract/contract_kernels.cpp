// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/contract/contract_kernels.h"

#include <algorithm>
#include <map>

#include "backends/cuda/contract/prepare_contract.h"

namespace mt::cuda {
namespace {

// From what each kernel is made to come near (docs/cuda.md): none of it has been measured. Tensor
// cores are taken wherever they can be; 128 x 256 there where its tiles give each processor one.
// Hopper's want TF32 along k: what is not is turned around, which so much work has to be worth.
constexpr char built_in[] = R"(mtorch products 1
any GPU: mode=tf32 a=along_rows n<=1023 -> mma_128x128
any GPU: mode=tf32 b=along_rows m<=1023 -> mma_128x128
any GPU: n>=129 rounds>=1 -> hopper_128x256
any GPU: -> hopper_128x128
any GPU: -> mma_128x128
any GPU: -> lanes
any GPU: n<=16 m>=512 -> tile_256x16
any GPU: m<=16 n>=512 -> tile_16x256
any GPU: m<=32 -> tile_32x32
any GPU: n<=32 -> tile_32x32
any GPU: m>=128 n>=128 outputs>=2097152 -> tile_128x128
any GPU: -> tile_64x64
)";

// In the order of ContractKernel.
constexpr const char* names[] = {"lanes",          "tile_32x32",  "tile_64x64",  "tile_128x128",
                                 "tile_256x16",    "tile_16x256", "mma_128x128", "hopper_128x128",
                                 "hopper_128x256", "cublaslt"};

constexpr const char* modes[precision_count] = {"strict", "split", "bf16", "tf32"};

const char* lies(const ContractionShape& shape, bool along_k) {
  if (!shape.matrices) return "gathered";
  return along_k ? "along_k" : "along_rows";
}

}  // namespace

const char* name_of(ContractKernel kernel) { return names[static_cast<int>(kernel)]; }

bool is_contract_kernel(const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
ContractKernel contract_kernel(const std::string& name) {
  auto found = std::find(std::begin(names), std::end(names), name);
  return static_cast<ContractKernel>(found - std::begin(names));
}

std::vector<ContractKernel> plain_kernels(const ContractionShape& shape) {
  using enum ContractKernel;
  if (shape.lanes > 1) return {lanes};  // the order of sums asks for them
  if (shape.converts) return {tile_64x64};
  return {tile_32x32, tile_64x64, tile_128x128, tile_256x16, tile_16x256};
}
std::vector<ContractKernel> tensor_core_kernels(const Contraction& c, const ContractionShape& shape,
                                                const Operand& a, const Operand& b, bool hopper) {
  using enum ContractKernel;
  const bool split = is_split(c, shape), on_units = suits_matrix_units(c, a, b);
  if (!split && !on_units) return {};
  const bool in_bulk = split || suits_bulk_copies(c);
  if (!hopper || !suits_hopper(shape) || !in_bulk) return {mma_128x128};
  if (split && shape.parts == 3) return {mma_128x128, hopper_128x128};  // contract_hopper.cu
  const bool turns = !split && shape.factor == Factor::tf32;
  if (turns && turned_scratch(c, shape).end > most_product_scratch) return {mma_128x128};
  return {mma_128x128, hopper_128x128, hopper_128x256};
}

ContractionFacts contraction_facts(const Contraction& c, const ContractionShape& shape,
                                   int64_t processors) {
  auto divide_up = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
  const bool own = c.a == Dtype::float32 && c.b == Dtype::float32 &&
                   static_cast<int>(c.precision) < precision_count;
  ContractionFacts facts;
  facts.own = {{"numbers", 0, mt::name_of(c.a)},
               {"result", 0, mt::name_of(c.out)},
               {"mode", 0, modes[own ? static_cast<int>(c.precision) : 0]},
               {"batch", shape.batch, ""},
               {"m", shape.m, ""},
               {"n", shape.n, ""},
               {"k", shape.k, ""},
               {"a", 0, lies(shape, shape.a_along_k)},
               {"b", 0, lies(shape, shape.b_along_k)}};
  facts.all = facts.own;
  const int64_t slabs = shape.batch * shape.panels;
  const int64_t wide = divide_up(shape.m, 128) * divide_up(shape.n, 256) * slabs;
  facts.all.push_back({"outputs", slabs * shape.m * shape.n, ""});
  facts.all.push_back({"rounds", wide / processors, ""});
  return facts;
}

const std::vector<std::string>* fact_words(const std::string& name) {
  static const auto* words = [] {
    std::vector<std::string> dtypes;
    for (int i = 0; i < dtype_count; ++i) dtypes.push_back(mt::name_of(static_cast<Dtype>(i)));
    const std::vector<std::string> layouts{"along_k", "along_rows", "gathered"};
    auto* all = new std::map<std::string, std::vector<std::string>>{
        {"numbers", dtypes},
        {"result", dtypes},
        {"mode", {std::begin(modes), std::end(modes)}},
        {"a", layouts},
        {"b", layouts}};
    for (const char* number : {"batch", "m", "n", "k", "outputs", "rounds"}) (*all)[number];
    return all;
  }();
  auto found = words->find(name);
  return found == words->end() ? nullptr : &found->second;
}

const KernelTable& built_in_table() {
  static const auto* table = new KernelTable(built_in, "the built-in table");
  return *table;
}

}  // namespace mt::cuda
