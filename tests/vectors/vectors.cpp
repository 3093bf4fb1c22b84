// SPDX-License-Identifier: Apache-2.0
// The test vectors: README.md beside this file says what they are.
//   vectors write FOLDER   makes them anew, from the cases of every_operator on the reference
//   vectors check FOLDER SCRATCH   runs them on the CPU; the cases are those that would be written,
//                                  which goes to SCRATCH
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "every_operator/cases.h"

namespace every_operator {
namespace {

int faults = 0;

void fault(const std::string& where, const std::string& what) {
  std::cerr << where << ": " << what << "\n";
  ++faults;
}

std::string identifier(const Case& one) {
  std::string id = one.variant.empty() ? one.name : one.name + "." + one.variant;
  std::replace(id.begin(), id.end(), ' ', '-');
  return id;
}

// The inputs that have a gradient.
std::vector<size_t> differentiable(const Case& one) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < one.inputs.size() && one.order > 0; ++i) {
    if (one.inputs[i].kind == Kind::floating) chosen.push_back(i);
  }
  return chosen;
}

// What a case computes from its inputs: the result, and the gradients of sum(result * weight).
struct Outcome {
  mt_tensor *result = nullptr, *weight = nullptr;
  std::vector<mt_tensor*> gradients;
};
Outcome compute(const Case& one, const std::vector<mt_tensor*>& inputs, mt_tensor* weight) {
  Outcome outcome;
  std::vector<mt_tensor*> wanted;
  for (size_t i : differentiable(one)) wanted.push_back(mt_require_grad(inputs[i]));
  outcome.result = one.call(inputs.data());
  if (wanted.empty()) return outcome;
  outcome.weight = weight;
  if (!weight) {  // numbers that look random, a different one for each element
    mt_tensor* place = mt_arange(1, static_cast<double>(mt_size(outcome.result) + 1), 1, MT_F32,
                                 mt_device_of(outcome.result));
    outcome.weight =
        mt_reshape(mt_sin(mt_square(place)), mt_dims(outcome.result), mt_ndim(outcome.result));
  }
  outcome.gradients.resize(wanted.size());
  mt_grad(&outcome.result, 1, wanted.data(), wanted.size(), &outcome.weight,
          outcome.gradients.data());
  return outcome;
}

void write(const std::string& folder) {
  mt_set_default_device("cpu:reference");
  mt_parameters* file = mt_parameters_new(MT_F32, nullptr);
  std::ofstream text(folder + "/cases.json");
  text << "[";
  const char* separator = "\n";
  std::vector<Case> all = cases();
  all.insert(all.end(), vectors_alone().begin(), vectors_alone().end());
  for (const Case& one : all) MT_SCOPE {
      std::string id = identifier(one);
      auto add = [&](const std::string& name, mt_tensor* tensor) {
        mt_parameters_add_buffer(file, (id + "/" + name).c_str(), mt_detach(tensor));
      };
      std::vector<mt_tensor*> inputs = one.make_inputs(MT_F32, "cpu:reference");
      for (size_t i = 0; i < inputs.size(); ++i) add("input" + std::to_string(i), inputs[i]);
      Outcome outcome = compute(one, inputs, nullptr);
      add("result", outcome.result);
      if (outcome.weight) add("weight", outcome.weight);
      std::vector<size_t> chosen = differentiable(one);
      for (size_t i = 0; i < chosen.size(); ++i) {
        add("gradient" + std::to_string(chosen[i]), outcome.gradients[i]);
      }
      // An object that keeps this order.
      nlohmann::ordered_json line = {{"id", id},
                                     {"operator", one.name},
                                     {"arguments", one.arguments},
                                     {"inputs", one.inputs.size()},
                                     {"gradients", chosen},
                                     {"tolerance", one.tolerance}};
      if (one.part) line["part"] = one.part;
      if (one.seed) line["seed"] = *one.seed;
      text << separator << line.dump();
      separator = ",\n";
      if (mt_error()) fault(id, mt_error_message());
      mt_clear();
    }
  text << "\n]\n";
  if (mt_parameters_save(file, (folder + "/values.safetensors").c_str()) != MT_OK || !text) {
    fault(folder, mt_error_message());
  }
  mt_parameters_release(file);
  mt_set_default_device("cpu");
}

std::vector<double> numbers(mt_tensor* tensor) {
  std::vector<double> values(tensor ? static_cast<size_t>(mt_size(tensor)) : 0);
  mt_copy_to_host(mt_astype(tensor, MT_F64), values.data(), values.size() * sizeof(double));
  return values;
}

void compare(const std::string& where, mt_tensor* found, mt_tensor* expected, double tolerance) {
  if (!found || !expected || mt_ndim(found) != mt_ndim(expected) ||
      !std::equal(mt_dims(found), mt_dims(found) + mt_ndim(found), mt_dims(expected)) ||
      mt_dtype_of(found) != mt_dtype_of(expected)) {
    return fault(where, "another shape or type");
  }
  std::vector<double> ours = numbers(found), theirs = numbers(expected);
  double largest = 1e-30;
  for (double value : theirs) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (!(std::fabs(ours[i] - theirs[i]) <= tolerance * largest)) {
      return fault(where, std::to_string(ours[i]) + " instead of " + std::to_string(theirs[i]));
    }
  }
}

// Runs what the files say, with nothing taken from the table of cases but functions by name.
void check(const std::string& folder) {
  std::ifstream text(folder + "/cases.json");
  Json all = Json::parse(text);
  mt_parameters* file = mt_load_safetensors((folder + "/values.safetensors").c_str(), "cpu");
  for (const Json& entry : all) MT_SCOPE {
      std::string id = entry.at("id");
      auto get = [&](const std::string& name) {
        return mt_parameters_get(file, (id + "/" + name).c_str());
      };
      Case one{entry.at("operator"),  "", {}, find_function(entry.at("operator")),
               entry.at("arguments"), 0};
      one.part = entry.value("part", 0);
      if (entry.contains("seed")) one.seed = entry["seed"];
      one.inputs.resize(entry.at("inputs"), Input{{}, 0, 0, Kind::boolean});
      for (size_t i : entry.at("gradients")) one.inputs[i].kind = Kind::floating, one.order = 1;
      std::vector<mt_tensor*> inputs;
      for (size_t i = 0; i < one.inputs.size(); ++i) {
        inputs.push_back(mt_copy(get("input" + std::to_string(i))));
      }
      Outcome outcome = compute(one, inputs, one.order > 0 ? get("weight") : nullptr);
      double tolerance = entry.at("tolerance");
      compare(id, outcome.result, get("result"), tolerance);
      for (size_t i = 0; i < outcome.gradients.size(); ++i) {
        std::string name = "gradient" + std::to_string(entry.at("gradients")[i].get<size_t>());
        compare(id + " " + name, outcome.gradients[i], get(name), 10 * tolerance);
      }
      if (mt_error()) fault(id, mt_error_message());
      mt_clear();
    }
  mt_parameters_release(file);
  std::cout << all.size() << " cases\n";
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace
}  // namespace every_operator

int main(int argc, char** argv) {
  using namespace every_operator;
  bool writes = argc == 3 && std::strcmp(argv[1], "write") == 0;
  bool checks = argc == 4 && std::strcmp(argv[1], "check") == 0;
  if (!writes && !checks) {
    std::cerr << "vectors write FOLDER | vectors check FOLDER SCRATCH_FOLDER\n";
    return 2;
  }
  if (writes) write(argv[2]);
  if (checks) {
    check(argv[2]);
    write(argv[3]);
    if (contents(argv[2] + std::string("/cases.json")) !=
        contents(argv[3] + std::string("/cases.json"))) {
      fault("cases.json", "not what tests/every_operator/*cases.cpp say now: run ./dev vectors");
    }
  }
  return faults > 0;
}
