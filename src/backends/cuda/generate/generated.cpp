// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/generate/generated.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "backends/cuda/generate/generate.h"

namespace mt::cuda {

class Compilation {
 public:
  // Never destroyed: the thread may be at work when main returns.
  static Compilation& instance() {
    static auto* compilation = new Compilation;
    return *compilation;
  }

  bool busy() {
    std::lock_guard lock(mutex_);
    return busy_ || !queue_.empty();
  }

  const Generated& request(int device, const std::string& source) {
    std::unique_lock lock(mutex_);
    auto [found, fresh] = known_.try_emplace({device, source});
    if (!fresh) return found->second;
    if (waits()) {
      lock.unlock();
      run(found->first, &found->second);
      return found->second;
    }
    queue_.push_back(&*found);
    if (!started_) {
      started_ = true;
      std::thread([this] { work(); }).detach();
      std::atexit([] { instance().finish(); });
    }
    changed_.notify_all();
    return found->second;
  }

 private:
  using Key = std::pair<int, std::string>;

  static bool waits() {
    const char* how = std::getenv("MT_CUDA_GENERATE");
    return how && std::strcmp(how, "wait") == 0;
  }

  // A text that the compiler refuses stays with the interpreter.
  static void run(const Key& key, Generated* generated) {
    try {
      generated->kernel_.store(compile(key.first, key.second, generated_name),
                               std::memory_order_release);
    } catch (const std::exception& error) {
      if (waits()) throw;
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !queue_.empty() || finished_; });
      if (finished_) return;
      auto* next = queue_.front();
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      run(next->first, &next->second);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  // The compiler must not be at work while the process comes to its end.
  void finish() {
    std::unique_lock lock(mutex_);
    finished_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !busy_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Generated> known_;
  std::deque<std::pair<const Key, Generated>*> queue_;
  bool started_ = false, busy_ = false, finished_ = false;
};

bool generates() {
  const char* how = std::getenv("MT_CUDA_GENERATE");
  return can_compile() && !(how && std::strcmp(how, "0") == 0);
}
bool compiling() { return Compilation::instance().busy(); }
const Generated& request_kernel(int device, const std::string& source) {
  return Compilation::instance().request(device, source);
}

}  // namespace mt::cuda
