// SPDX-License-Identifier: Apache-2.0
#include "ops/resolve_items.h"

#include <utility>

#include "base/error.h"
#include "ops/checked_indices.h"
#include "ops/nonzero.h"

namespace mt {
namespace {

int axes_of(const IndexItem& item) {
  switch (item.kind) {
    case IndexItem::at:
    case IndexItem::range: return 1;
    case IndexItem::by: return item.tensor.dtype() == Dtype::boolean ? item.tensor.rank() : 1;
    default: return 0;
  }
}

class Resolver {
 public:
  Resolver(const Tensor& x, const char* name) : x_(x), name_(name) {}

  ResolvedItems run(const IndexItems& items, bool mask_as_it_is) {
    int named = 0, ellipses = 0, tensors = 0;
    for (const IndexItem& item : items) {
      named += axes_of(item);
      ellipses += item.kind == IndexItem::ellipsis;
      tensors += item.kind == IndexItem::by;
    }
    if (named > x_.rank()) {
      fail(Code::index, "%s: %d axes are indexed, but the shape is %s", name_, named,
           to_string(x_.shape()).c_str());
    }
    if (ellipses > 1) fail(Code::index, "%s: more than one ellipsis", name_);
    mask_as_it_is_ = mask_as_it_is && tensors == 1;
    has_tensors_ = tensors > 0;
    for (const IndexItem& item : items) {
      switch (item.kind) {
        case IndexItem::at: at(item.start); break;
        case IndexItem::range: range(item); break;
        case IndexItem::new_axis:
          separate();
          new_axis();
          break;
        case IndexItem::ellipsis:
          separate();
          for (int i = named; i < x_.rank(); ++i) keep(0, x_.shape()[axis_], 1);
          break;
        case IndexItem::by: by(item.tensor); break;
      }
    }
    while (axis_ < x_.rank()) keep(0, x_.shape()[axis_], 1);
    for (const Tensor& index : result_.indices) {
      result_.common = broadcast(result_.common, index.shape(), name_);
    }
    return std::move(result_);
  }

 private:
  // Positions and index tensors are adjacent until something else comes between them.
  void separate() {
    if (seen_ == 1) seen_ = 2;
  }
  void advanced() {
    if (!has_tensors_) return;
    if (seen_ == 2) result_.in_front = true;
    seen_ = seen_ == 0 ? 1 : seen_;
  }

  void new_axis() {
    result_.view.push_back(1);
    result_.reshaped = true;
  }

  void block(int64_t start, int64_t length, int64_t step) {
    result_.lengths.push_back(length);
    result_.block.push_back(start);
    result_.block.push_back(step);
    result_.whole &= start == 0 && step <= 1 && length == x_.shape()[axis_];
    ++axis_;
  }

  void keep(int64_t start, int64_t length, int64_t step) {
    result_.view.push_back(length);
    block(length ? start : 0, length, step);
  }

  void at(int64_t index) {
    int64_t size = x_.shape()[axis_];
    if (index < -size || index >= size) {
      fail(Code::index, "%s: index %lld is outside axis %d of %s", name_,
           static_cast<long long>(index), axis_, to_string(x_.shape()).c_str());
    }
    advanced();
    block(index < 0 ? index + size : index, 1, 0);
  }

  void range(const IndexItem& item) {
    separate();
    Range r = clip_range(item.start, item.stop, item.step, x_.shape()[axis_], name_);
    keep(r.start, r.length, r.step);
  }

  void by(const Tensor& tensor) {
    advanced();
    if (tensor.dtype() != Dtype::boolean) {
      Tensor indices = checked_indices(tensor, axis_, x_.shape(), name_);
      gathered(indices);
      return;
    }
    for (int d = 0; d < tensor.rank(); ++d) {
      // The Array API standard lets a size of 0, which picks nothing, stand beside any other.
      if (tensor.shape()[d] != x_.shape()[axis_ + d] && tensor.shape()[d] != 0) {
        fail(Code::index, "%s: a bool tensor of shape %s does not fit axis %d of %s", name_,
             to_string(tensor.shape()).c_str(), axis_ + d, to_string(x_.shape()).c_str());
      }
    }
    if (mask_as_it_is_ && tensor.size() != 0) {
      result_.mask = tensor;
      result_.indexed.push_back(result_.view.rank());
      for (int d = 0; d < tensor.rank(); ++d) keep(0, x_.shape()[axis_], 1);
      return;
    }
    if (tensor.rank() == 0) {  // a new axis of size 1 or 0
      result_.indexed.push_back(result_.view.rank());
      new_axis();
      result_.indices.push_back(flat_nonzero(tensor, name_));
      return;
    }
    Tensor positions = nonzero(tensor);
    for (int d = 0; d < tensor.rank(); ++d) {
      gathered(reshape(slice(positions, 1, d, 1, 1), {positions.shape()[0]}));
    }
  }

  void gathered(const Tensor& indices) {
    result_.indexed.push_back(result_.view.rank());
    result_.indices.push_back(indices);
    keep(0, x_.shape()[axis_], 1);
  }

  const Tensor& x_;
  const char* name_;
  ResolvedItems result_;
  int axis_ = 0;
  int seen_ = 0;  // 0: nothing advanced yet; 1: in the first run of it; 2: after that run
  bool mask_as_it_is_ = false, has_tensors_ = false;
};

}  // namespace

ResolvedItems resolve_items(const Tensor& x, const IndexItems& items, const char* name,
                            bool mask_as_it_is) {
  return Resolver(x, name).run(items, mask_as_it_is);
}

}  // namespace mt
