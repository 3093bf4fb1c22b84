// SPDX-License-Identifier: Apache-2.0
// An owning pointer to an object that counts its own references through retain() and release().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mt {

// Drops one reference; returns whether it was the last. The holder of the only reference needs no
// atomic subtraction, since nobody else can add one: most objects die like that.
inline bool drop_reference(std::atomic<int32_t>& count) {
  if (count.load(std::memory_order_acquire) == 1) {
    count.store(0, std::memory_order_relaxed);
    return true;
  }
  return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// Base of an object that starts without references and is deleted when the last one is dropped.
template <class T>
class Counted {
 public:
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (drop_reference(references_)) delete static_cast<T*>(this);
  }

 private:
  std::atomic<int32_t> references_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ~Ref() {
    if (object_) object_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  // Takes over a reference that the caller already owns.
  static Ref adopt(T* object) {
    Ref result;
    result.object_ = object;
    return result;
  }
  // Gives up its reference, for the caller to release.
  T* disown() { return std::exchange(object_, nullptr); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace mt
