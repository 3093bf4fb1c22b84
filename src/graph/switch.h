// SPDX-License-Identifier: Apache-2.0
// A choice that is no tensor, as whether layers are in training: what a trace records holds for one
// of the two.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

namespace mt {

class Switch {
 public:
  explicit Switch(bool on) : on_(std::make_shared<std::atomic<bool>>(on)) {}

  // Noted where a trace records, unless what it records has set it itself.
  bool on() const;
  void set(bool on);

  // How a switch stood when it was first met.
  struct Stand {
    std::shared_ptr<const std::atomic<bool>> of;
    bool on;
    bool read;  // else it was set
    bool is_so() const { return !read || *of == on; }
  };

  // Notes what this thread meets, for the object's life.
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
