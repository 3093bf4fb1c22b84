// SPDX-License-Identifier: Apache-2.0
// Calls an operator of the C interface with arguments that are data (JSON), as every language's
// tests can read them: tests/vectors/README.md says how each argument is written.
#pragma once

#include <mtorch/mtorch.h>

#include <array>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace every_operator {

using Json = nlohmann::json;

class Arguments;
using Function = mt_tensor* (*)(Arguments&);

// The function with this name; `cases()` knows them all.
Function find_function(const std::string& name);

// Hands out the arguments of one call as what the C function's parameters are, in order.
class Arguments {
 public:
  // `part` says which one is wanted of several results.
  Arguments(const Json& values, mt_tensor* const* inputs, size_t ninputs, int part = 0)
      : values_(values), inputs_(inputs), ninputs_(ninputs), part_(part) {}

  mt_tensor* result() const { return results_[static_cast<size_t>(part_)]; }

  template <class P>
  P next() {
    if constexpr (std::is_same_v<P, mt_tensor*>) {
      return tensor(value());
    } else if constexpr (std::is_same_v<P, mt_tensor* const*>) {
      return list(&tensors_, [this](const Json& item) { return tensor(item); });
    } else if constexpr (std::is_same_v<P, const int64_t*>) {
      return list(&integers_, [](const Json& item) { return item.get<int64_t>(); });
    } else if constexpr (std::is_same_v<P, const mt_index_item*>) {
      return list(&items_, [this](const Json& item) { return index_item(item); });
    } else if constexpr (std::is_same_v<P, mt_tensor**>) {
      return &results_[result_++];  // or as many as the function has
    } else if constexpr (std::is_same_v<P, const char*>) {
      const Json& json = value();
      return json.is_null() ? nullptr : json.get_ref<const std::string&>().c_str();
    } else if constexpr (std::is_same_v<P, size_t>) {
      if (!count_) return value().get<size_t>();
      return *std::exchange(count_, std::nullopt);
    } else if constexpr (std::is_same_v<P, int32_t>) {
      return small(value());
    } else if constexpr (std::is_same_v<P, int64_t>) {
      const Json& json = value();
      return json.is_null() ? MT_OPEN : json.get<int64_t>();
    } else if constexpr (std::is_pointer_v<P>) {
      return options(static_cast<std::remove_const_t<std::remove_pointer_t<P>>*>(nullptr));
    } else {
      return value().get<P>();
    }
  }

 private:
  const Json& value() { return values_.at(next_++); }

  // A list is two parameters, of which the second is its length.
  template <class T, class Convert>
  const T* list(std::list<std::vector<T>>* kept, Convert convert) {
    auto& items = kept->emplace_back();
    for (const Json& item : value()) items.push_back(convert(item));
    count_ = items.size();
    return items.empty() ? nullptr : items.data();
  }

  mt_tensor* tensor(const Json& json) {
    if (json.is_null()) return nullptr;
    if (json.is_string()) {
      size_t i = std::stoul(json.get_ref<const std::string&>().substr(1));
      return i < ninputs_ ? inputs_[i] : throw std::out_of_range("no such input");
    }
    if (json.contains("number")) return mt_number(json["number"].get<double>());
    Arguments inner(json.at("arguments"), inputs_, ninputs_, json.value("part", 0));
    return find_function(json.at("call"))(inner);
  }

  // An element type, or a constant.
  int32_t small(const Json& json) {
    if (json.is_number()) return json.get<int32_t>();
    if (json.contains("dtype")) return dtype(json["dtype"]);
    return mt_dtype_of(tensor(json.at("dtype_of")));
  }

  static mt_dtype dtype(const std::string& name) {
    for (mt_dtype each : {MT_BOOL, MT_I8, MT_I32, MT_I64, MT_F32, MT_F64}) {
      if (name == mt_dtype_name(each)) return each;
    }
    throw std::out_of_range("no vector is of type " + name);
  }

  mt_index_item index_item(const Json& json) {
    if (json == "new_axis") return MT_NEW_AXIS;
    if (json == "ellipsis") return MT_ELLIPSIS;
    if (json.contains("at")) return MT_AT(json["at"].get<int64_t>());
    if (json.contains("by")) return MT_BY(tensor(json["by"]));
    auto end = [&](int i) {
      const Json& bound = json.at("range")[static_cast<size_t>(i)];
      return bound.is_null() ? MT_OPEN : bound.get<int64_t>();
    };
    return MT_RANGE(end(0), end(1), end(2));
  }

  // Structs of options: an object with what differs from the defaults, or null.
  template <class T>
  const T* options(T*) {
    const Json& json = value();
    if (json.is_null()) return nullptr;
    auto& options = std::get<T>(options_);
    for (const auto& [name, member] : json.items()) set(&options, name, member);
    return &options;
  }
  static void set(mt_conv_options* o, const std::string& name, const Json& json) {
    if (name == "groups") {
      o->groups = json;
    } else if (name == "same") {
      o->same = json;
    } else {
      set_axes(name == "stride"     ? o->stride
               : name == "padding"  ? o->padding
               : name == "dilation" ? o->dilation
                                    : o->output_padding,
               json);
    }
  }
  static void set(mt_pool_options* o, const std::string& name, const Json& json) {
    if (name == "exclude_padding") {
      o->exclude_padding = json;
    } else {
      set_axes(name == "stride" ? o->stride : name == "padding" ? o->padding : o->dilation, json);
    }
  }
  static void set(mt_batch_norm_options* o, const std::string& name, const Json& json) {
    (name == "training" ? o->training = json : o->epsilon = json);
  }
  static void set(mt_attention_options* o, const std::string& name, const Json& json) {
    (name == "causal" ? o->causal = json : o->scale = json);
  }
  static void set(mt_cross_entropy_options* o, const std::string& name, const Json& json) {
    (name == "ignore_index" ? void(o->ignore_index = json) : void(o->label_smoothing = json));
  }
  static void set_axes(int64_t* axes, const Json& json) {
    for (size_t i = 0; i < json.size(); ++i) axes[i] = json[i];
  }

  const Json& values_;
  mt_tensor* const* inputs_;
  size_t ninputs_, next_ = 0;
  int part_;
  std::array<mt_tensor*, 32> results_{};
  size_t result_ = 0;
  std::optional<size_t> count_;
  std::list<std::vector<mt_tensor*>> tensors_;
  std::list<std::vector<int64_t>> integers_;
  std::list<std::vector<mt_index_item>> items_;
  std::tuple<mt_conv_options, mt_pool_options, mt_batch_norm_options, mt_attention_options,
             mt_cross_entropy_options>
      options_{MT_CONV_OPTIONS_INIT, MT_POOL_OPTIONS_INIT, MT_BATCH_NORM_OPTIONS_INIT,
               MT_ATTENTION_OPTIONS_INIT, MT_CROSS_ENTROPY_OPTIONS_INIT};
};

template <class... P>
mt_tensor* apply_to(mt_tensor* (*function)(P...), Arguments& arguments) {
  return std::apply(function, std::tuple<P...>{arguments.next<P>()...});
}

template <class... P>
mt_tensor* apply_to(mt_status (*function)(P...), Arguments& arguments) {
  std::apply(function, std::tuple<P...>{arguments.next<P>()...});
  return arguments.result();
}

// A C function as one that takes Arguments.
template <auto function>
mt_tensor* from_arguments(Arguments& arguments) {
  return apply_to(function, arguments);
}

}  // namespace every_operator
