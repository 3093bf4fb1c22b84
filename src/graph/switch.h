// SPDX-License-Identifier: Apache-2.0
// A choice that is not a tensor, such as whether layers are training: a trace's recording is valid
// for one setting only.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

namespace mt {

class Switch {
 public:
  explicit Switch(bool on) : on_(std::make_shared<std::atomic<bool>>(on)) {}

  // A trace that records notes the setting read, unless the traced function has set it itself.
  bool on() const;
  void set(bool on);

  // A switch's setting when it was first read or set.
  struct Stand {
    std::shared_ptr<const std::atomic<bool>> of;
    bool on;
    bool read;  // it was read first; else it was set
    bool is_so() const { return !read || *of == on; }
  };

  // Notes the switches that this thread reads or sets, for the object's life.
  class Log {
   public:
    Log();
    ~Log();
    Log(const Log&) = delete;
    std::vector<Stand> stands;

   private:
    Log* previous_;
  };

 private:
  std::shared_ptr<std::atomic<bool>> on_;
};

}  // namespace mt
