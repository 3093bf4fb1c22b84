// SPDX-License-Identifier: Apache-2.0
// A vector that keeps its first N elements inline: most nodes have at most three inputs and a
// handful of attributes, and recording them must not allocate twice.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

namespace mt {

// Whether an object may be moved by moving its bytes, leaving nothing to destroy.
template <class T>
inline constexpr bool is_relocatable = std::is_trivially_copyable_v<T>;

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  // {a, b, c}: each moved or copied in just once; std::initializer_list cannot move.
  template <class... Values>
  requires(sizeof...(Values) > 0 && (std::convertible_to<Values, T> && ...))
      SmallVector(Values&&... values) {
    if constexpr (sizeof...(Values) > N) reserve(sizeof...(Values));
    T* to = sizeof...(Values) > N ? heap_ : inline_data();
    (new (to++) T(std::forward<Values>(values)), ...);
    size_ = sizeof...(Values);
  }
  SmallVector(const T* values, size_t count) {
    reserve(count);
    for (size_t i = 0; i < count; ++i) push_back(values[i]);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.data(), other.size_) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(SmallVector other) noexcept {
    clear();
    take(other);
    return *this;
  }
  ~SmallVector() { destroy(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : inline_data(); }
  const T* data() const { return heap_ ? heap_ : inline_data(); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    emplace(std::move(value));
  }

  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    T* grown = std::allocator<T>().allocate(capacity);
    T* old = data();
    for (size_t i = 0; i < size_; ++i) {
      new (grown + i) T(std::move(old[i]));
      old[i].~T();
    }
    if (heap_) std::allocator<T>().deallocate(heap_, capacity_);
    heap_ = grown;
    capacity_ = capacity;
  }

  void clear() {
    destroy();
    size_ = 0;
    heap_ = nullptr;
    capacity_ = N;
  }

  bool operator==(const SmallVector& other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i) {
      if (!((*this)[i] == other[i])) return false;
    }
    return true;
  }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  const T* inline_data() const { return reinterpret_cast<const T*>(inline_); }
  void destroy() {
    T *values = data(), *end = values + size_;
    for (T* value = values; value != end; ++value) value->~T();
    if (heap_) [[unlikely]]
      std::allocator<T>().deallocate(heap_, capacity_);
  }
  template <class Value>
  void emplace(Value&& value) {
    new (data() + size_) T(std::forward<Value>(value));
    ++size_;
  }
  void take(SmallVector& other) noexcept {
    static_assert(is_relocatable<T>);
    heap_ = std::exchange(other.heap_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
    if (heap_ || size_ == 0) return;
    // A size known at compile time makes this a few moves instead of a call.
    if constexpr (sizeof inline_ <= 64) {
      std::memcpy(inline_, other.inline_, sizeof inline_);
    } else {
      std::memcpy(inline_, other.inline_, size_ * sizeof(T));
    }
  }

  T* heap_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace mt
