// SPDX-License-Identifier: Apache-2.0
#include "io/loader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/transfer.h"
#include "base/before_work.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt {
namespace {

int64_t length_of(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) fail(Code::invalid, "loader: no tensors");
  for (const Tensor& x : tensors) {
    if (x.rank() == 0) fail(Code::shape, "loader: a tensor without dimensions has no rows");
    if (x.shape()[0] != tensors[0].shape()[0]) {
      fail(Code::shape, "loader: %s and %s differ in their number of rows",
           to_string(tensors[0].shape()).c_str(), to_string(x.shape()).c_str());
    }
  }
  return tensors[0].shape()[0];
}

constexpr uint64_t draws = 2;  // that permutation() makes

// The order of epoch `epoch`, a function of it and of the seed.
Tensor order_of(uint64_t seed, int64_t epoch, int64_t length, Device& device) {
  Ref<Generator> own(new Generator(seed));
  own->set_state({{seed, draws * static_cast<uint64_t>(epoch)}});
  struct Use {
    explicit Use(Ref<Generator> generator) : before(Generator::use(std::move(generator))) {}
    ~Use() { Generator::use(std::move(before)); }
    Ref<Generator> before;
  } use(std::move(own));
  return permutation(length, device);
}

}  // namespace

Loader::Loader(std::vector<Tensor> tensors, int64_t batch_size, const Options& options)
    : tensors_(std::move(tensors)),
      length_(length_of(tensors_)),
      batch_size_(batch_size),
      options_(options) {
  if (batch_size < 1) {
    fail(Code::invalid, "loader: batches of %lld rows", static_cast<long long>(batch_size));
  }
  if (options.prefetch < 0) {
    fail(Code::invalid, "loader: %lld batches ahead", static_cast<long long>(options.prefetch));
  }
  for (Tensor& x : tensors_) x = detach(x);
  evaluate(tensors_.data(), tensors_.size());
}

Loader::~Loader() {
  if (!worker_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  before_work();
  worker_.join();
}

bool Loader::left_behind() const {
  pid_t process = process_.load(std::memory_order_relaxed);
  return process && process != getpid();
}

int64_t Loader::batches() const {
  return length_ / batch_size_ + (!options_.drop_last && length_ % batch_size_ != 0);
}

Loader::Place Loader::place() const {
  std::lock_guard lock(mutex_);
  return place_;
}

void Loader::seek(const Place& place) {
  constexpr int64_t last = INT64_MAX / 2;  // so that no loop comes to the end of all numbers
  if (place.epoch < 0 || place.epoch > last || place.batch < 0 ||
      (place.batch && place.batch >= batches())) {
    fail(Code::index, "loader_seek: there is no batch %lld of %lld in epoch %lld",
         static_cast<long long>(place.batch), static_cast<long long>(batches()),
         static_cast<long long>(place.epoch));
  }
  if (place.batch && options_.shuffle && options_.seed < 0) {
    fail(Code::invalid, "loader_seek: within an order that has no seed");
  }
  std::lock_guard lock(mutex_);
  place_ = place;
  leave_epoch();
}

// The worker's batch, if it makes one, is not wanted any more.
void Loader::leave_epoch() {
  begun_ = false;
  orders_.clear();
  ready_.clear();
  failure_ = nullptr;
  ++seeks_;
  changed_.notify_all();  // who waits for it begins the epoch anew
}

void Loader::begin_epoch() {
  std::vector<Tensor> orders;
  if (options_.shuffle) {
    Device& device = tensors_[0].device();
    bool drawn = options_.seed < 0;
    Tensor order =
        drawn ? permutation(length_, device)
              : order_of(static_cast<uint64_t>(options_.seed), place_.epoch, length_, device);
    for (const Tensor& x : tensors_) {
      orders.push_back(&x.device() == &device ? order : to_device(order, x.device()));
    }
    evaluate(orders.data(), orders.size());
  }
  orders_ = std::move(orders);
  made_ = place_.batch;
  begun_ = true;
}

std::vector<Tensor> Loader::make(const std::vector<Tensor>& orders, int64_t batch) const {
  int64_t start = batch * batch_size_, count = std::min(batch_size_, length_ - start);
  std::vector<Tensor> result;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor rows = orders.empty()
                      ? slice(tensors_[i], 0, start, count, 1)
                      : index_select(tensors_[i], slice(orders[i], 0, start, count, 1), 0);
    bool elsewhere = options_.device && options_.device != &rows.device();
    result.push_back(elsewhere ? to_device(rows, *options_.device) : rows);
  }
  return result;
}

std::vector<Tensor> Loader::next() {
  if (current_thread().trace) fail(Code::trace, "loader_next: a trace would repeat one batch");
  if (batches() == 0) {
    fail(Code::invalid, "loader_next: %lld rows give no batch of %lld",
         static_cast<long long>(length_), static_cast<long long>(batch_size_));
  }
  if (left_behind()) {
    fail(Code::unsupported, "loader_next: its thread is in the process that this was forked from");
  }
  before_work();
  std::unique_lock lock(mutex_);
  std::vector<Tensor> batch;
  bool begins = !begun_;
  int64_t start = place_.batch;
  uint64_t counter = Generator::current().state().value[1];
  try {
    if (begins) begin_epoch();
    batch = options_.prefetch ? take_ready(lock) : make(orders_, place_.batch);
  } catch (...) {
    if (begins && place_.batch == start) {  // as if it had not been asked
      leave_epoch();
      if (options_.seed < 0) Generator::current().take_back(counter, draws);
    }
    throw;
  }
  if (++place_.batch == batches()) {
    place_ = {place_.epoch + 1, 0};
    begun_ = false;
    orders_.clear();
  }
  return batch;
}

std::vector<Tensor> Loader::take_ready(std::unique_lock<std::mutex>& lock) {
  if (!worker_.joinable()) {
    worker_ = std::thread([this] { work(); });
    process_ = getpid();
  }
  while (ready_.empty()) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    changed_.notify_all();
    changed_.wait(lock);
    if (!begun_) begin_epoch();  // another thread has taken the last one, or sought
  }
  std::vector<Tensor> batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return batch;
}

void Loader::work() {
  auto may_go_on = [&] {
    return begun_ && made_ < batches() && !failure_ &&
           static_cast<int64_t>(ready_.size()) < options_.prefetch;
  };
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || may_go_on(); });
    if (ended_) return;
    std::vector<Tensor> orders, batch;
    std::exception_ptr failure;
    int64_t number = made_, seeks = seeks_;
    try {
      orders = orders_;
      lock.unlock();
      batch = make(orders, number);
      evaluate(batch.data(), batch.size());
      lock.lock();
      if (seeks != seeks_) continue;
      ready_.push_back(std::move(batch));
      ++made_;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (seeks == seeks_) failure_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

}  // namespace mt
