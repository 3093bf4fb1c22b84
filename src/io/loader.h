// SPDX-License-Identifier: Apache-2.0
// The rows of tensors in batches, epoch after epoch, in an order that a seed decides; made ready by
// a thread of their own if so asked.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "graph/node.h"

namespace mt {

class Loader {
 public:
  struct Options {
    bool shuffle = false;
    int64_t seed = 0;  // below 0: orders are drawn from the current generator of who asks
    bool drop_last = false;
    int64_t prefetch = 0;      // how many batches the thread is ahead; 0: there is none
    Device* device = nullptr;  // where batches go; null: where the tensors are
  };
  struct Place {
    int64_t epoch = 0, batch = 0;
  };

  // Computes the tensors, which are the same size along axis 0.
  Loader(std::vector<Tensor> tensors, int64_t batch_size, const Options& options);
  ~Loader();
  Loader(const Loader&) = delete;

  size_t width() const { return tensors_.size(); }
  int64_t batches() const;  // of an epoch
  // The next batch, and after an epoch's last one the next epoch's first. On an error the place
  // stays.
  std::vector<Tensor> next();
  Place place() const;
  void seek(const Place& place);
  // Whether its thread runs in another process, which this one was forked from.
  bool left_behind() const;

 private:
  void begin_epoch();
  void leave_epoch();
  std::vector<Tensor> make(const std::vector<Tensor>& orders, int64_t batch) const;
  std::vector<Tensor> take_ready(std::unique_lock<std::mutex>& lock);
  void work();

  std::vector<Tensor> tensors_;
  const int64_t length_, batch_size_;
  const Options options_;

  mutable std::mutex mutex_;  // guards what follows
  Place place_;
  bool begun_ = false;          // the epoch: its order is there
  std::vector<Tensor> orders_;  // of the epoch, for each tensor where it is; empty: as they lie

  std::thread worker_;
  std::atomic<pid_t> process_ = 0;  // the worker's, once it runs
  std::condition_variable changed_;
  std::deque<std::vector<Tensor>> ready_;
  int64_t made_ = 0;            // batches of the epoch, by the worker
  int64_t seeks_ = 0;           // so that it sees that its batch is not wanted any more
  std::exception_ptr failure_;  // of the next batch; it waits until that is known
  bool ended_ = false;
};

}  // namespace mt
