// SPDX-License-Identifier: Apache-2.0
// Runs the vectors (README.md beside this file) through the C++ headers: vectors_cpp FOLDER. Each
// operator is called by its own function there, with what its parameters say.
#include <cmath>
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <mtorch/mtorch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <type_traits>

namespace {

using Json = nlohmann::json;
using mtorch::DType;
using mtorch::Tensor;
using mtorch::Tensors;

class Arguments;
using Function = Tensors (*)(Arguments&);
const std::map<std::string, Function>& functions();

// Hands out the arguments of one call as what the function's parameters are, in order.
class Arguments {
 public:
  Arguments(const Json& call, const char* member, const Tensors& inputs)
      : name_(call.at(member)), values_(call.at("arguments")), inputs_(inputs) {
    keep_ = name_.ends_with("_keep");
    if (keep_) name_.resize(name_.size() - 5);
  }

  Tensors call() {
    auto found = functions().find(name_);
    if (found == functions().end()) throw std::out_of_range("no function " + name_ + " in C++");
    return found->second(*this);
  }
  const std::string& name() const { return name_; }

  template <class P>
  P next() {
    // What C has as a second function is the last argument of a reduction here.
    if constexpr (std::is_same_v<P, bool>) {
      return next_ < values_.size() ? value().get<bool>() : keep_;
    } else if constexpr (std::is_same_v<P, Tensor>) {
      return tensor(value());
    } else if constexpr (std::is_same_v<P, Tensors>) {
      Tensors list;
      for (const Json& item : value()) list.push_back(tensor(item));
      return list;
    } else if constexpr (std::is_same_v<P, mtorch::Dims>) {
      return value().get<std::vector<int64_t>>();
    } else if constexpr (std::is_same_v<P, mtorch::Items>) {
      auto& items = items_.emplace_back();
      for (const Json& item : value()) items.push_back(index_item(item));
      return items;
    } else if constexpr (std::is_same_v<P, const char*> || std::is_same_v<P, mtorch::Device>) {
      const Json& json = value();
      const char* text = json.is_null() ? nullptr : json.get_ref<const std::string&>().c_str();
      return text;
    } else if constexpr (std::is_same_v<P, DType>) {
      return dtype(value());
    } else if constexpr (std::is_enum_v<P>) {
      return static_cast<P>(value().get<int32_t>());
    } else if constexpr (std::is_same_v<P, int64_t>) {
      const Json& json = value();
      return json.is_null() ? mtorch::open_end : json.get<int64_t>();
    } else if constexpr (std::is_arithmetic_v<P>) {
      return value().get<P>();
    } else {
      P options;
      const Json& json = value();
      if (json.is_object()) {
        for (const auto& [name, member] : json.items()) set(&options, name, member);
      }
      return options;
    }
  }

 private:
  const Json& value() { return values_.at(next_++); }

  Tensor tensor(const Json& json) {
    if (json.is_null()) return {};
    if (json.is_string()) return inputs_.at(std::stoul(json.get<std::string>().substr(1)));
    if (json.contains("number")) return json["number"].get<double>();
    return Arguments(json, "call", inputs_).call().at(json.value("part", size_t{0}));
  }

  DType dtype(const Json& json) {
    if (json.contains("dtype_of")) return tensor(json["dtype_of"]).dtype();
    for (DType each :
         {mtorch::boolean, mtorch::i8, mtorch::i32, mtorch::i64, mtorch::f32, mtorch::f64}) {
      if (json.at("dtype") == mt_dtype_name(static_cast<mt_dtype>(each))) return each;
    }
    throw std::out_of_range("no vector is of type " + json.dump());
  }

  mtorch::Item index_item(const Json& json) {
    if (json == "new_axis") return mtorch::new_axis();
    if (json == "ellipsis") return mtorch::ellipsis();
    if (json.contains("at")) return mtorch::at(json["at"]);
    if (json.contains("by")) return mtorch::by(kept_.emplace_back(tensor(json["by"])));
    auto end = [&](size_t i) {
      const Json& bound = json.at("range")[i];
      return bound.is_null() ? mtorch::open_end : bound.get<int64_t>();
    };
    return mtorch::range(end(0), end(1), end(2));
  }

  static void set(mtorch::ConvOptions* o, const std::string& name, const Json& json) {
    if (name == "groups") {
      o->groups = json;
    } else if (name == "same") {
      o->same = json;
    } else {
      set_axes(name == "stride"     ? &o->stride
               : name == "padding"  ? &o->padding
               : name == "dilation" ? &o->dilation
                                    : &o->output_padding,
               json);
    }
  }
  static void set(mtorch::PoolOptions* o, const std::string& name, const Json& json) {
    if (name == "exclude_padding") {
      o->exclude_padding = json;
    } else {
      set_axes(name == "stride"    ? &o->stride
               : name == "padding" ? &o->padding
                                   : &o->dilation,
               json);
    }
  }
  static void set(mtorch::BatchNormOptions* o, const std::string& name, const Json& json) {
    (name == "training" ? o->training = json : o->epsilon = json);
  }
  static void set(mtorch::AttentionOptions* o, const std::string& name, const Json& json) {
    (name == "causal" ? o->causal = json : o->scale = json);
  }
  static void set(mtorch::CrossEntropyOptions* o, const std::string& name, const Json& json) {
    (name == "ignore_index" ? void(o->ignore_index = json) : void(o->label_smoothing = json));
  }
  static void set_axes(std::array<int64_t, 3>* axes, const Json& json) {
    for (size_t i = 0; i < json.size(); ++i) (*axes)[i] = json[i];
  }

  std::string name_;
  const Json& values_;
  const Tensors& inputs_;
  bool keep_;
  size_t next_ = 0;
  std::list<Tensor> kept_;  // what items of an index look at
  std::list<std::vector<mtorch::Item>> items_;
};

// ---------------------------------------------------------------------------- Results as a list
Tensors parts(Tensor result) { return {std::move(result)}; }
Tensors parts(Tensors results) { return results; }
Tensors parts(std::pair<Tensor, Tensor> both) { return {both.first, both.second}; }
Tensors parts(mtorch::Unique u) { return {u.values, u.indices, u.inverse_indices, u.counts}; }
Tensors parts(mtorch::Slogdet s) { return {s.sign, s.logabsdet}; }
Tensors parts(mtorch::Qr qr) { return {qr.q, qr.r}; }
Tensors parts(mtorch::Eigh e) { return {e.values, e.vectors}; }
Tensors parts(mtorch::Svd s) { return {s.u, s.s, s.vh}; }

template <class Result, class... P>
Tensors apply_to(Result (*function)(P...), Arguments& arguments) {
  std::tuple<std::decay_t<P>...> all{arguments.next<std::decay_t<P>>()...};
  return parts(std::apply(function, all));
}
template <auto function>
Tensors from_arguments(Arguments& arguments) {
  return apply_to(function, arguments);
}

// The weight is one of the options in C++.
Tensor cross_entropy_with(const Tensor& logits, const Tensor& targets, int64_t axis,
                          mtorch::Reduction reduction, const Tensor& weight,
                          mtorch::CrossEntropyOptions options) {
  options.weight = weight;
  return mtorch::cross_entropy_with(logits, targets, options, axis, reduction);
}

template <class T>
using Draw = Tensor (*)(mtorch::Dims, T, T, mtorch::DType, const mtorch::Device&);

// The functions, by their names in C.
const std::map<std::string, Function>& functions() {
  // clang-format off
#define F(name) {#name, from_arguments<&mtorch::name>}
  static const std::map<std::string, Function> all{
      F(abs), F(acos), F(acosh), F(add), F(all), F(any), F(arange), F(argmax), F(argmin),
      F(argsort), F(asin), F(asinh), F(astype), F(atan), F(atan2), F(atanh), F(avg_pool1d),
      F(avg_pool2d), F(batch_norm), F(bce_with_logits), F(bce_with_logits_weighted), F(bernoulli), F(bitwise_and),
      F(bitwise_invert), F(bitwise_left_shift), F(bitwise_or), F(bitwise_right_shift),
      F(bitwise_xor), F(broadcast_to), F(categorical), F(ceil), F(cholesky), F(clip), F(concat), F(conv1d),
      F(conv2d), F(conv_transpose1d), F(conv_transpose2d), F(copy), F(copysign), F(cos), F(cosh),
      F(count_nonzero), F(cross), F(cumulative_prod), F(cumulative_sum), F(det),
      F(diff), F(div), F(dropout), F(eigh), F(eigvalsh), F(einsum), F(elu), F(embedding),
      F(equal), F(erf), F(exp), F(exp2), F(expand_dims), F(expm1), F(expression), F(eye), F(flip),
      F(floor), F(floor_divide), F(full), F(full_like), F(gelu), F(gelu_tanh), F(greater),
      F(greater_equal), F(group_norm), F(gru), F(huber_loss), F(hypot), F(index), F(index_select),
      F(inv), F(isfinite), F(isinf), F(isnan), F(l1_loss), F(layer_norm),
      F(leaky_relu), F(less), F(less_equal), F(linear), F(linspace), F(log), F(log10), F(log1p),
      F(log2), F(log_sigmoid), F(log_softmax), F(logaddexp), F(logical_and), F(logical_not),
      F(logical_or), F(logical_xor), F(logsumexp), F(lstm), F(masked_select), F(matmul),
      F(matrix_diagonal), F(matrix_norm), F(matrix_power), F(matrix_rank), F(matrix_trace),
      F(matrix_transpose), F(max), F(max_pool1d), F(max_pool2d), F(maximum), F(mean), F(min),
      F(minimum), F(mse_loss), F(mul), F(neg), F(nextafter), F(nonzero),
      F(not_equal), F(one_hot), F(ones), F(ones_like), F(outer), F(pad), F(pad_edge), F(pad_reflect), F(pad_wrap), F(permutation),
      F(permute_dims), F(pinv), F(pow), F(prod), F(qr), F(reciprocal), F(relu), F(remainder),
      F(repeat), F(repeat_by), F(reshape), F(resize_linear), F(resize_nearest), F(rms_norm), F(rnn), F(roll), F(round), F(rsqrt),
      F(scaled_dot_product_attention), F(scatter_add), F(searchsorted), F(select), F(sigmoid),
      F(sign), F(signbit), F(silu), F(sin), F(sinh), F(slice), F(slogdet), F(softmax),
      F(softplus), F(solve), F(solve_triangular), F(sort), F(split), F(sqrt), F(square),
      F(squeeze), F(stack), F(sub), F(sum), F(svd), F(svdvals), F(take_along_axis), F(tan),
      F(tanh), F(tensordot), F(tile), F(topk), F(transpose), F(tril), F(triu), F(trunc),
      F(unique_all), F(unique_values), F(var), F(vecdot), F(where), F(window),
      F(zeros), F(zeros_like),
      {"cross_entropy", from_arguments<&mtorch::cross_entropy>},
      {"cross_entropy_with", from_arguments<&cross_entropy_with>},
      {"norm", from_arguments<static_cast<Tensor (*)(const Tensor&, mtorch::Dims, double, bool)>(
                   &mtorch::norm)>},
      {"integers", from_arguments<static_cast<Draw<int64_t>>(&mtorch::integers)>},
      {"normal", from_arguments<static_cast<Draw<double>>(&mtorch::normal)>},
      {"uniform", from_arguments<static_cast<Draw<double>>(&mtorch::uniform)>},
      {"std", from_arguments<&mtorch::stddev>}};
#undef F
  // clang-format on
  return all;
}

// ------------------------------------------------------------------------------------- The cases
int faults = 0;

void fault(const std::string& where, const std::string& what) {
  std::cerr << where << ": " << what << "\n";
  ++faults;
}

void compare(const std::string& where, const Tensor& found, const Tensor& expected,
             double tolerance) {
  if (found.shape() != expected.shape() || found.dtype() != expected.dtype()) {
    return fault(where, "another shape or type");
  }
  auto ours = found.to_vector<double>(), theirs = expected.to_vector<double>();
  double largest = 1e-30;
  for (double value : theirs) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (!(std::fabs(ours[i] - theirs[i]) <= tolerance * largest)) {
      return fault(where, std::to_string(ours[i]) + " instead of " + std::to_string(theirs[i]));
    }
  }
}

void check_case(const Json& entry, const mtorch::Parameters& file, std::set<std::string>* called) {
  const std::string id = entry.at("id");
  auto get = [&](const std::string& name) { return file[(id + "/" + name).c_str()]; };
  Tensors inputs, wanted;
  for (size_t i = 0; i < entry.at("inputs"); ++i) {
    inputs.push_back(mtorch::copy(get("input" + std::to_string(i))));
  }
  for (size_t i : entry.at("gradients")) wanted.push_back(inputs.at(i).require_grad());
  if (entry.contains("seed")) mtorch::seed(entry["seed"]);
  Arguments arguments(entry, "operator", inputs);
  called->insert(arguments.name());
  Tensor result = arguments.call().at(entry.value("part", size_t{0}));
  const double tolerance = entry.at("tolerance");
  compare(id, result, get("result"), tolerance);
  if (wanted.empty()) return;
  Tensors gradients = mtorch::grad({result}, wanted, {get("weight")});
  for (size_t i = 0; i < gradients.size(); ++i) {
    std::string name = "gradient" + std::to_string(entry.at("gradients")[i].get<size_t>());
    compare(id + " " + name, gradients[i], get(name), 10 * tolerance);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "vectors_cpp FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  std::ifstream text(folder + "/cases.json");
  const Json all = Json::parse(text);
  mtorch::Parameters file = mtorch::load_safetensors(folder + "/values.safetensors", "cpu");
  std::set<std::string> called;
  for (const Json& entry : all) {
    try {
      check_case(entry, file, &called);
    } catch (const std::exception& error) {
      fault(entry.at("id"), error.what());
    }
  }
  for (const auto& [name, function] : functions()) {
    if (!called.contains(name)) fault(name, "has no vector");
  }
  std::cout << all.size() << " cases\n";
  return faults > 0;
}
