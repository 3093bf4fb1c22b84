// SPDX-License-Identifier: Apache-2.0
// Tensors by name, in the order they were added: parameters, which are trained, and buffers, which
// are only saved. Layers belong to the collection that holds their tensors.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ref.h"
#include "graph/switch.h"
#include "io/host.h"
#include "nn/binding.h"

namespace mt {

class Layer {
 public:
  virtual ~Layer() = default;
  virtual Tensor apply(const Tensor& x) = 0;
  // Where `query` sees `value` by `key`, as far as `mask` lets it; null: what apply() takes. Only
  // layers with attention can.
  virtual Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                        const Tensor& mask);
  // All states of the last layer, and the last states and cells of all. Only recurrent ones can.
  struct Run {
    Tensor y, states, cells;
  };
  virtual Run run(const Tensor& x, const Tensor& states, const Tensor& cells);
  // What stands at `places` [n] sees the keys and values kept up to there, of which its own become
  // part. Only causal attention can.
  struct Continued {
    Tensor y, kept;
  };
  virtual Continued proceed(const Tensor& x, const Tensor& kept, const Tensor& places);
  // Room for what it keeps of `context` places in sequences of shape `lead`.
  virtual Tensor kept_zeros(const Shape& lead, int64_t context);
};

class Parameters : public Counted<Parameters> {
 public:
  using MakeBinding = std::unique_ptr<Binding> (*)(Tensor value);

  struct Entry {
    std::string name;
    std::unique_ptr<Binding> binding;
    bool is_buffer;
    bool repeats = false;  // what a parameter before it is bound to as well
  };

  // `make` makes the bindings of tensors that layers create.
  Parameters(Dtype dtype, Device& device, MakeBinding make)
      : dtype(dtype), device(device), make_(make) {}
  Parameters(const Parameters&) = delete;

  Dtype dtype;  // of the tensors that layers create
  std::reference_wrapper<Device> device;
  Switch training{true};

  const std::deque<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& name) const;

  // A parameter is marked as requiring a gradient. Fails when the name is empty or taken.
  Binding& add(const std::string& name, std::unique_ptr<Binding> binding, bool is_buffer);
  Binding& create(const std::string& name, Tensor value, bool is_buffer);
  // Fails unless `name` could be added now, so that a layer adds all of its tensors or none.
  void check_new(const std::string& name) const;
  // Takes out again all but the first ones.
  void keep_first(size_t entries, size_t layers);
  // To be called when an entry's binding is of another place than it was.
  void find_repeats();
  Layer& add_layer(std::unique_ptr<Layer> layer);
  size_t layers() const { return layers_.size(); }

  std::vector<NamedTensor> tensors() const;
  void zero_gradients();
  // All floats to a type and all tensors to a device, each unless null, gradients too; or none.
  void convert(const Dtype* type, Device* target);
  void save(const char* path) const;
  // All values or, when names, shapes or dtypes differ, none.
  void load(const char* path);

 private:
  friend Counted;
  ~Parameters() = default;
  bool is_bound_before(const Binding& binding, size_t count) const;

  MakeBinding make_;
  std::deque<Entry> entries_;  // they and their names never move
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace mt
