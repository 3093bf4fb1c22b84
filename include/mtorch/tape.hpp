// SPDX-License-Identifier: Apache-2.0
/// @file tape.hpp
/// Gradients, functions of your own, the tape, trace and replay. See mtorch.hpp.
#ifndef MTORCH_TAPE_HPP_
#define MTORCH_TAPE_HPP_

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tensor.hpp"
#include "trace.h"

namespace mtorch {

inline Tensor detach(const Tensor& x) { return Tensor::own(mt_detach(x.get())); }

/// Within its life this thread records no history.
class NoGrad {
 public:
  NoGrad() : before_(mt_no_grad_begin()) {}
  ~NoGrad() { mt_no_grad_end(before_); }
  NoGrad(const NoGrad&) = delete;

 private:
  int before_;
};

/// mt_grad(): as a pure function; `output_gradients` {} means ones.
inline Tensors grad(const Tensors& outputs, const Tensors& inputs,
                    const Tensors& output_gradients = {}) {
  auto y = detail::handles(outputs), x = detail::handles(inputs);
  auto dy = detail::handles(output_gradients);
  if (!dy.empty() && dy.size() != y.size()) throw Error(MT_EINVAL, "grad: one for each output");
  return detail::filled(x.size(), [&](mt_tensor** results) {
    return mt_grad(y.data(), y.size(), x.data(), x.size(), dy.empty() ? nullptr : dy.data(),
                   results);
  });
}
inline void zero_grad(const Tensors& leaves) {
  check(mt_zero_grad(detail::handles(leaves).data(), leaves.size()));
}
/// Computes tensors now, together; without any, all that is pending on this thread and still held.
inline void eval(const Tensors& tensors = {}) {
  auto all = detail::handles(tensors);
  check(mt_eval(all.empty() ? nullptr : all.data(), all.size()));
}

/// A function with any number of results; where it returns a Tensor, that is the only one.
template <class... Inputs>
class Several : public std::function<Tensors(Inputs...)> {
 public:
  Several(std::nullptr_t = nullptr) {}
  template <class F>
  requires(!std::same_as<F, Several> && std::invocable<F&, Inputs...>) Several(F call) {
    if constexpr (requires { call == nullptr; }) {
      if (call == nullptr) return;
    }
    std::function<Tensors(Inputs...)>::operator=(all_of(std::move(call)));
  }

 private:
  template <class F>
  static auto all_of(F call) {
    if constexpr (std::convertible_to<std::invoke_result_t<F&, Inputs...>, Tensors>) {
      return call;
    } else {
      return [one = std::move(call)](Inputs... x) mutable -> Tensors { return {one(x...)}; };
    }
  }
};
/// A function of tensors. Where several results are asked for, the last may be {}.
using Function = Several<const Tensors&>;

/// @cond
namespace detail {

inline Tensors shared(mt_tensor* const* handles, size_t n) {
  Tensors result;
  for (size_t i = 0; i < n; ++i) result.push_back(Tensor::share(handles[i]));
  return result;
}

// Runs a callback and hands its results over as handles of the library's scope.
template <class Call>
mt_status run(mt_tensor** results, size_t nresults, Call call) {
  try {
    Tensors values = call();
    if (values.size() != nresults) {
      throw Error(MT_EUSER, "the function returned " + std::to_string(values.size()) +
                                " tensors, " + std::to_string(nresults) + " expected");
    }
    for (size_t i = 0; i < nresults; ++i) {
      mt_tensor* value = values[i].get();
      results[i] = value ? mt_astype(value, mt_dtype_of(value)) : nullptr;
    }
    return mt_error();
  } catch (const std::exception& error) {
    thrown = std::current_exception();
    return mt_set_error(MT_EUSER, error.what());
  } catch (...) {
    thrown = std::current_exception();
    return mt_set_error(MT_EUSER, "an exception");
  }
}

inline mt_status call_function(void* user, mt_tensor* const* inputs, size_t ninputs,
                               mt_tensor** results, size_t nresults) {
  return run(results, nresults,
             [&] { return (*static_cast<const Function*>(user))(shared(inputs, ninputs)); });
}

}  // namespace detail
/// @endcond

/// mt_checkpoint(): backward computes the intermediate values of `function` again.
inline Tensors checkpoint(const Function& function, const Tensors& inputs, size_t nresults = 1) {
  auto x = detail::handles(inputs);
  return detail::filled(nresults, [&](mt_tensor** results) {
    return mt_checkpoint(detail::call_function, const_cast<Function*>(&function), x.data(),
                         x.size(), results, nresults);
  });
}
/// mt_gradient_check() of a function with one result on float64 inputs; throws for a difference.
inline void gradient_check(const Function& function, const Tensors& inputs, int order = 1) {
  mt_gradient_check_options options = MT_GRADIENT_CHECK_OPTIONS_INIT;
  options.order = order;
  auto x = detail::handles(inputs);
  check(mt_gradient_check(detail::call_function, const_cast<Function*>(&function), x.data(),
                          x.size(), &options));
}

/// An operator of your own. Without `backward` it has no gradient.
struct Operator {
  std::string name;
  Function forward;
  /// The inputs' gradients, {} for none, from inputs, results and the results' gradients. Tensors
  /// that it has otherwise are constants to a gradient of the gradient.
  Several<const Tensors&, const Tensors&, const Tensors&> backward = nullptr;
  /// Applies it, for a single result: Tensor y = twice({x}).
  Tensor operator()(const Tensors& inputs) const;
};
/// Applies an operator of your own.
inline Tensors custom(const Operator& operation, const Tensors& inputs, size_t nresults = 1) {
  auto kept = std::make_unique<Operator>(operation);
  mt_operator c{};
  c.struct_size = sizeof c;
  c.name = detail::text(kept->name);
  c.forward = [](void* user, mt_tensor* const* x, size_t nx, mt_tensor** y, size_t ny) {
    return detail::call_function(&static_cast<Operator*>(user)->forward, x, nx, y, ny);
  };
  if (kept->backward) {
    c.backward = [](void* user, mt_tensor* const* x, size_t nx, mt_tensor* const* y, size_t ny,
                    mt_tensor* const* dy, mt_tensor** dx) {
      return detail::run(dx, nx, [&] {
        return static_cast<Operator*>(user)->backward(detail::shared(x, nx), detail::shared(y, ny),
                                                      detail::shared(dy, ny));
      });
    };
  }
  c.destroy = [](void* user) { delete static_cast<Operator*>(user); };
  c.user = kept.get();
  auto x = detail::handles(inputs);
  Tensors results = detail::filled(nresults, [&](mt_tensor** y) {
    mt_status status = mt_custom(&c, x.data(), x.size(), y, nresults);
    if (status == MT_OK) kept.release();
    return status;
  });
  return results;
}

inline Tensor Operator::operator()(const Tensors& inputs) const { return custom(*this, inputs)[0]; }

/// A function that is recorded once for each combination of input shapes, and replayed after that.
class Trace {
 public:
  explicit Trace(Function function)
      : function_(std::make_unique<Function>(std::move(function))),
        handle_(detail::required(mt_trace_new(detail::call_function, function_.get())),
                mt_trace_release) {}
  Tensors operator()(const Tensors& inputs, size_t nresults = 1) const {
    auto x = detail::handles(inputs);
    return detail::filled(nresults, [&](mt_tensor** results) {
      return mt_trace_call(handle_.get(), x.data(), x.size(), results, nresults);
    });
  }
  size_t count() const { return mt_trace_count(handle_.get()); }
  std::string explain() const { return detail::take_string(mt_explain_trace(handle_.get())); }

 private:
  std::unique_ptr<Function> function_;
  std::unique_ptr<mt_trace, void (*)(mt_trace*)> handle_;
};

/// The plan that a read of the tensor would run now.
inline std::string explain(const Tensor& x) { return detail::take_string(mt_explain(x.get())); }

/// Records every operator that this thread calls, from its construction to end().
class Tape {
 public:
  Tape() : handle_(detail::required(mt_tape_begin()), mt_tape_release) {}
  void end() { check(mt_tape_end(handle_.get())); }
  size_t length() const { return mt_tape_length(handle_.get()); }
  std::string operator_name(size_t i) const {
    return detail::required(mt_tape_operator(handle_.get(), i));
  }
  Tensor tensor(size_t i) const { return Tensor::own(mt_tape_tensor(handle_.get(), i)); }
  std::string to_string() const { return detail::take_string(mt_tape_to_string(handle_.get())); }
  std::string to_dot() const { return detail::take_string(mt_tape_to_dot(handle_.get())); }
  Tensors gradient(const Tensor& output, const Tensors& inputs) const {
    auto x = detail::handles(inputs);
    return detail::filled(x.size(), [&](mt_tensor** results) {
      return mt_tape_gradient(handle_.get(), output.get(), x.data(), x.size(), results);
    });
  }
  /// For C functions; still owned by this.
  mt_tape* get() const { return handle_.get(); }

 private:
  std::unique_ptr<mt_tape, void (*)(mt_tape*)> handle_;
};

}  // namespace mtorch

#endif
