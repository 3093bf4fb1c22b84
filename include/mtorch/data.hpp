// SPDX-License-Identifier: Apache-2.0
/// @file data.hpp
/// Data in batches. See mtorch.hpp.
#ifndef MTORCH_DATA_HPP_
#define MTORCH_DATA_HPP_

#include <iterator>
#include <memory>

#include "data.h"
#include "tensor.hpp"

namespace mtorch {

/// mt_loader_options.
struct LoaderOptions {
  bool shuffle = false;
  int64_t seed = 0;
  bool drop_last = false;
  int64_t prefetch = 0;
  Device device = {};
};

/// Batches of the rows of tensors. As a range it is what remains of its epoch:
///
/// @code
/// Loader loader({images, labels}, 64, {.shuffle = true, .seed = 7});
/// for (int epoch = 0; epoch < epochs; ++epoch)
///   for (const Tensors& batch : loader) train(batch[0], batch[1]);
/// @endcode
class Loader {
 public:
  Loader(const Tensors& tensors, int64_t batch_size, const LoaderOptions& options = {})
      : width_(tensors.size()) {
    mt_loader_options o{sizeof o,          options.shuffle,  options.seed,
                        options.drop_last, options.prefetch, options.device};
    handle_ = {
        detail::required(mt_loader_new(detail::handles(tensors).data(), width_, batch_size, &o)),
        mt_loader_release};
  }

  Tensors next() const {
    return detail::filled(width_, [&](mt_tensor** r) { return mt_loader_next(get(), r); });
  }
  int64_t batches() const { return mt_loader_batches(get()); }
  int64_t epoch() const { return mt_loader_epoch(get()); }
  int64_t position() const { return mt_loader_position(get()); }
  void seek(int64_t epoch, int64_t position = 0) const {
    check(mt_loader_seek(get(), epoch, position));
  }
  /// For C functions; still owned by this.
  mt_loader* get() const { return handle_.get(); }

  /// A batch that is made as it is reached.
  class iterator {
   public:
    using value_type = Tensors;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    iterator(const Loader& loader, int64_t left) : loader_(&loader), left_(left) { take(); }
    const Tensors& operator*() const { return batch_; }
    iterator& operator++() {
      --left_;
      take();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return left_ == 0; }

   private:
    void take() {
      if (left_ > 0) batch_ = loader_->next();
    }
    const Loader* loader_ = nullptr;
    int64_t left_ = 0;
    Tensors batch_;
  };
  iterator begin() const { return {*this, batches() - position()}; }
  std::default_sentinel_t end() const { return {}; }

 private:
  size_t width_;
  std::shared_ptr<mt_loader> handle_;
};

}  // namespace mtorch

#endif
