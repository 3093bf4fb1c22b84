// SPDX-License-Identifier: Apache-2.0
/// @file tensor.hpp
/// Element types, shapes, tensors and their creation. See mtorch.hpp.
#ifndef MTORCH_TENSOR_HPP_
#define MTORCH_TENSOR_HPP_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"
#include "tape.h"
#include "tensor.h"
#include "view.h"
#include "whole_number.hpp"

namespace mtorch {

// ------------------------------------------------------------------------------- Types and shapes

/// An element type.
enum class DType : mt_dtype {
  boolean = MT_BOOL,
  u8 = MT_U8,
  u16 = MT_U16,
  u32 = MT_U32,
  u64 = MT_U64,
  i8 = MT_I8,
  i16 = MT_I16,
  i32 = MT_I32,
  i64 = MT_I64,
  f16 = MT_F16,
  bf16 = MT_BF16,
  f32 = MT_F32,
  f64 = MT_F64
};
using enum DType;
inline std::ostream& operator<<(std::ostream& out, DType dtype) {
  return out << detail::required(mt_dtype_name(static_cast<mt_dtype>(dtype)));
}

/// The element type of a C++ type.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::same_as<U, bool>) return boolean;
  if constexpr (std::same_as<U, float>) return f32;
  if constexpr (std::same_as<U, double>) return f64;
  if constexpr (std::integral<U> && !std::same_as<U, bool>) {
    constexpr DType as_signed[] = {i8, i16, i32, i64}, as_unsigned[] = {u8, u16, u32, u64};
    constexpr int i = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return std::signed_integral<U> ? as_signed[i] : as_unsigned[i];
  }
  static_assert(std::integral<U> || std::same_as<U, float> || std::same_as<U, double>);
}

/// What a span can look at.
template <class T>
concept Contiguous = requires(const T& values) {
  std::span(values);
};

/// Sizes or axes, as a parameter: {2, 3}, or anything that holds int64_t in a row.
class Dims {
 public:
  /// One size or axis.
  template <WholeNumber T>
  Dims(T value) : Dims({Dim(value)}) {}
  Dims(std::initializer_list<Dim> values) : size_(std::min(values.size(), most)) {
    for (size_t i = 0; i < size_; ++i) values_[i] = values.begin()[i].value;
  }
  Dims(const std::vector<int64_t>& values) : Dims(std::span<const int64_t>(values)) {}
  Dims(std::span<const int64_t> values) : size_(std::min(values.size(), most)) {
    std::copy_n(values.begin(), size_, values_.begin());
  }
  const int64_t* data() const { return size_ ? values_.data() : nullptr; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t most = 17;  // one more than the library takes, which says so
  std::array<int64_t, most> values_;
  size_t size_;
};

/// A device as a parameter: its name, as x.device() gives it, or nothing for the default.
class Device {
 public:
  Device() = default;
  Device(const std::string& name) : name_(name) {}
  template <std::convertible_to<const char*> T>
  Device(const T& name) {
    if (const char* text = name) name_ = text;
  }
  /// As C has it.
  operator const char*() const { return name_.empty() ? nullptr : detail::text(name_); }
  /// Whether the names are the same; nothing is only like nothing.
  friend bool operator==(const Device& a, const Device& b) { return a.name_ == b.name_; }
  friend bool operator==(const Device& a, const char* b) { return a.name_ == (b ? b : ""); }

 private:
  std::string name_;
};

class Items;

// ----------------------------------------------------------------------------------------- Tensors

/// All elements of a tensor in host memory, contiguous, while this lives.
template <class T>
class Mapped;

/// An owner of a tensor handle, or empty.
class Tensor {
 public:
  Tensor() = default;
  /// A number beside tensors: it takes the other operand's type.
  template <std::floating_point T>
  Tensor(T number) : Tensor(own(mt_number(static_cast<double>(number)))) {}
  /// A whole number beside tensors. One beyond int64_t is a uint64 on the default device.
  template <WholeNumber T>
  Tensor(T number) : Tensor(own(detail::whole_number(number))) {}
  Tensor(const Tensor& other) : handle_(other.handle_ ? mt_retain(other.handle_) : nullptr) {}
  Tensor(Tensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ~Tensor() { mt_release(handle_); }
  /// Not of x[i] or p["weight"], which would be lost: index_put() and assign() bind anew.
  Tensor& operator=(Tensor other) & noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  /// The owner of a handle that a C function returned; throws its error if that is NULL.
  static Tensor own(mt_tensor* result) {
    Tensor tensor;
    tensor.handle_ = mt_take(detail::required(result));
    return tensor;
  }
  /// One more owner of a handle that somebody else owns; NULL gives an empty one.
  static Tensor share(mt_tensor* handle) {
    Tensor tensor;
    tensor.handle_ = handle ? mt_retain(handle) : nullptr;
    return tensor;
  }
  /// For C functions; still owned by this.
  mt_tensor* get() const { return handle_; }
  /// Whether there is a tensor.
  bool has_value() const { return handle_; }
  /// A comparison is a tensor too: if (any(x < 0).item()).
  explicit operator bool() const = delete;

  /// mt_select() along the first axis.
  Tensor operator[](int64_t i) const { return own(mt_select(handle_, 0, i)); }
  /// mt_index(): x[{range(1, 3), at(0)}].
  Tensor operator[](const Items& items) const;

  size_t ndim() const { return mt_ndim(handle_); }
  std::vector<int64_t> shape() const {
    const int64_t* sizes = mt_dims(handle_);
    check();
    return {sizes, sizes + ndim()};
  }
  int64_t dim(int64_t axis) const { return checked(mt_dim(handle_, axis)); }
  int64_t size() const { return checked(mt_size(handle_)); }
  DType dtype() const { return static_cast<DType>(checked(mt_dtype_of(handle_))); }
  std::string device() const { return detail::required(mt_device_of(handle_)); }

  /// The value of one element: mt_item(), or exactly for integers, item<int64_t>(), with MT_EINVAL
  /// where T does not have it.
  template <class T = double>
  T item() const {
    if constexpr (std::integral<T>) return detail::read_as<T>(checked(mt_item_int(handle_)));
    return static_cast<T>(checked(mt_item(handle_)));
  }
  /// All elements, row-major, without a copy. MT_EDTYPE unless they are of type T.
  template <class T>
  Mapped<T> map() const;
  /// All elements, row-major, converted to T.
  template <class T>
  std::vector<T> to_vector() const {
    const auto count = static_cast<size_t>(size());
    Tensor converted = own(mt_astype(handle_, static_cast<mt_dtype>(dtype_of<T>())));
    if constexpr (std::same_as<T, bool>) {  // whose vector has bits
      const auto values = std::make_unique<bool[]>(count);
      check(mt_copy_to_host(converted.handle_, values.get(), count));
      return std::vector<bool>(values.get(), values.get() + count);
    } else {
      std::vector<T> values(count);
      check(mt_copy_to_host(converted.handle_, values.data(), count * sizeof(T)));
      return values;
    }
  }
  std::string to_string() const { return detail::take_string(mt_to_string(handle_)); }

  Tensor& require_grad() & { return detail::required(mt_require_grad(handle_)), *this; }
  Tensor require_grad() && { return detail::required(mt_require_grad(handle_)), std::move(*this); }
  void set_requires_grad(bool require) const { check(mt_set_requires_grad(handle_, require)); }
  bool requires_grad() const { return mt_requires_grad(handle_); }
  bool is_leaf() const { return mt_is_leaf(handle_); }
  void backward() const { check(mt_backward(handle_)); }
  /// mt_backward_with(): from an output of any shape; `differentiable` implies `retain`.
  void backward(const Tensor& gradient, bool retain = false, bool differentiable = false) const {
    mt_backward_options options = MT_BACKWARD_OPTIONS_INIT;
    options.retain = retain;
    options.differentiable = differentiable;
    check(mt_backward_with(handle_, gradient.handle_, &options));
  }
  /// The gradient that was accumulated; empty while there is none.
  Tensor gradient() const {
    mt_tensor* found = mt_gradient(handle_);
    check();
    return found ? own(found) : Tensor();
  }
  /// Replaces it; {} removes it.
  void set_gradient(const Tensor& gradient) const {
    check(mt_set_gradient(handle_, gradient.handle_));
  }
  void zero_grad() const { check(mt_zero_grad(&handle_, 1)); }
  /// mt_assign(): binds the handle, for all copies of this Tensor, to another value.
  void assign(const Tensor& value) const { check(mt_assign(handle_, value.handle_)); }

 private:
  template <class T>
  static T checked(T value) {
    check();
    return value;
  }
  mt_tensor* handle_ = nullptr;
};

template <class T>
class Mapped {
 public:
  explicit Mapped(const Tensor& tensor) : tensor_(tensor) {
    if (tensor.dtype() != dtype_of<T>()) {
      throw Error(MT_EDTYPE, std::string("map: the tensor is ") +
                                 mt_dtype_name(static_cast<mt_dtype>(tensor.dtype())));
    }
    const void* memory = detail::required(mt_map(tensor.get()));
    values_ = {static_cast<const T*>(memory), static_cast<size_t>(tensor.size())};
  }
  Mapped(const Mapped&) = delete;
  ~Mapped() { mt_unmap(tensor_.get()); }
  const T& operator[](size_t i) const { return values_[i]; }
  const T* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  Tensor tensor_;
  std::span<const T> values_;
};

template <class T>
Mapped<T> Tensor::map() const {
  return Mapped<T>(*this);
}

inline std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.to_string(); }

/// Several tensors.
using Tensors = std::vector<Tensor>;

/// @cond
namespace detail {

inline std::vector<mt_tensor*> handles(const Tensors& tensors) {
  std::vector<mt_tensor*> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.get());
  return result;
}

// Calls fill(results) and owns what it fills in; what it leaves NULL is empty.
template <class Fill>
Tensors filled(size_t count, Fill fill) {
  std::vector<mt_tensor*> results(count);
  check(fill(results.data()));
  Tensors owned;
  for (mt_tensor* result : results) owned.push_back(result ? Tensor::own(result) : Tensor());
  return owned;
}

constexpr mt_dtype code(DType dtype) { return static_cast<mt_dtype>(dtype); }

}  // namespace detail
/// @endcond

// ---------------------------------------------------------------------------------------- Creation

inline Tensor zeros(Dims shape, DType dtype = f32, const Device& device = {}) {
  return Tensor::own(mt_zeros(shape.data(), shape.size(), detail::code(dtype), device));
}
inline Tensor ones(Dims shape, DType dtype = f32, const Device& device = {}) {
  return Tensor::own(mt_ones(shape.data(), shape.size(), detail::code(dtype), device));
}
inline Tensor full(Dims shape, double value, DType dtype = f32, const Device& device = {}) {
  return Tensor::own(mt_full(shape.data(), shape.size(), value, detail::code(dtype), device));
}
inline Tensor full_like(const Tensor& x, double value) {
  return Tensor::own(mt_full_like(x.get(), value));
}
inline Tensor arange(double start, double stop, double step = 1, DType dtype = f32,
                     const Device& device = {}) {
  return Tensor::own(mt_arange(start, stop, step, detail::code(dtype), device));
}
inline Tensor linspace(double start, double stop, int64_t count, DType dtype = f32,
                       const Device& device = {}) {
  return Tensor::own(mt_linspace(start, stop, count, detail::code(dtype), device));
}
inline Tensor eye(int64_t rows, int64_t columns, int64_t k = 0, DType dtype = f32,
                  const Device& device = {}) {
  return Tensor::own(mt_eye(rows, columns, k, detail::code(dtype), device));
}
inline Tensor one_hot(const Tensor& indices, int64_t classes, DType dtype = f32) {
  return Tensor::own(mt_one_hot(indices.get(), classes, detail::code(dtype)));
}

/// @cond
namespace detail {
inline void same_length(const char* name, const Dims& a, const Dims& b) {
  if (a.size() == b.size()) return;
  throw Error(MT_ESHAPE, std::string(name) + ": lists of " + std::to_string(a.size()) + " and " +
                             std::to_string(b.size()));
}
// By division, since the product of sizes can overflow.
inline bool hold(std::span<const int64_t> sizes, size_t count) {
  if (count == 0) return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  for (int64_t size : sizes) {
    if (size <= 0 || count % static_cast<size_t>(size) != 0) return false;
    count /= static_cast<size_t>(size);
  }
  return count == 1;
}
inline void fits(const char* name, size_t count, const Dims& shape) {
  std::span sizes(shape.data(), shape.size());
  if (hold(sizes, count)) return;
  std::string listed;
  for (int64_t size : sizes) listed += (listed.empty() ? "" : ",") + std::to_string(size);
  throw Error(MT_ESHAPE, std::string(name) + ": " + std::to_string(count) +
                             " elements for a shape of [" + listed + "]");
}
}  // namespace detail
/// @endcond

/// A tensor with a copy of a span, vector or array.
template <class T, size_t n>
Tensor tensor(std::span<T, n> values, Dims shape, const Device& device = {}) {
  detail::fits("tensor", values.size(), shape);
  return Tensor::own(
      mt_from_data(values.data(), shape.data(), shape.size(), detail::code(dtype_of<T>()), device));
}
template <Contiguous Range>
Tensor tensor(const Range& values, Dims shape, const Device& device = {}) {
  return tensor(std::span(values), shape, device);
}
template <std::same_as<std::vector<bool>> Booleans>
Tensor tensor(const Booleans& values, Dims shape, const Device& device = {}) {
  const auto bytes = std::make_unique<bool[]>(values.size());
  std::copy(values.begin(), values.end(), bytes.get());
  return tensor(std::span<const bool>(bytes.get(), values.size()), shape, device);
}
/// A tensor of one dimension: tensor({1.0f, 2.0f}).
template <class T>
Tensor tensor(std::initializer_list<T> values) {
  return tensor(std::span(values.begin(), values.size()), {values.size()});
}
/// The same on a device. Braces are a shape, never a device.
template <class T, std::convertible_to<Device> Name>
Tensor tensor(std::initializer_list<T> values, const Name& device) {
  return tensor(std::span(values.begin(), values.size()), {values.size()}, device);
}
/// The same elements under a shape: tensor({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}).
template <class T>
Tensor tensor(std::initializer_list<T> values, Dims shape, const Device& device = {}) {
  return tensor(std::span(values.begin(), values.size()), shape, device);
}
/// A tensor over memory that must stay, and not be written, while the library needs it: that long
/// `owner` is kept.
template <class T, size_t n>
Tensor wrap(std::span<T, n> memory, Dims shape, std::shared_ptr<void> owner = nullptr) {
  detail::fits("wrap", memory.size(), shape);
  auto kept = std::make_unique<std::shared_ptr<void>>(std::move(owner));
  Tensor result = Tensor::own(mt_wrap(
      const_cast<std::remove_const_t<T>*>(memory.data()), shape.data(), shape.size(),
      detail::code(dtype_of<T>()), "cpu",
      [](void* user) { delete static_cast<std::shared_ptr<void>*>(user); }, kept.get()));
  kept.release();
  return result;
}
/// Over a vector or an array.
template <Contiguous Range>
Tensor wrap(Range& memory, Dims shape, std::shared_ptr<void> owner = nullptr) {
  return wrap(std::span(memory), shape, std::move(owner));
}

}  // namespace mtorch

#endif
