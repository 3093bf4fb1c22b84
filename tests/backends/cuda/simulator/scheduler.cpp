// SPDX-License-Identifier: Apache-2.0
#undef _FORTIFY_SOURCE  // jumps between stacks are what happens here
#include "backends/cuda/simulator/scheduler.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "backends/cuda/simulator/async.h"
#include "backends/cuda/simulator/clocks.h"
#include "backends/cuda/simulator/shared.h"
#include "backends/cuda/simulator/stack.h"
#include "backends/cuda/simulator/stream.h"

namespace grid {

Place place;

namespace {

constexpr unsigned warp = 32;
constexpr size_t stack_bytes = 256 << 10;

enum class State { fresh, running, at_block, at_warp, asleep, finished };

struct Thread {
  Dim index;
  unsigned id = 0;
  State state = State::fresh;
  Source where;
  const char* waits = nullptr;  // why it sleeps
  uint32_t barriers = 0, warp_barriers = 0;
  // The exchange it waits in or has come from: what it brings, and what it brought to this one and
  // the one before, for others to read when it is already in the next.
  uint32_t mask = 0, turn = 0;
  alignas(16) char brings[most_exchanged];
  alignas(16) char brought[2][most_exchanged];
  jmp_buf saved;
  std::unique_ptr<char[]> memory;
  Stack stack;
};

std::mt19937_64 order{1};
uint64_t launch_count = 0;

// The launch under way.
void (*body)(void*) = nullptr;
void* context = nullptr;
const Launch* launch = nullptr;
unsigned block_id = 0;
std::vector<Thread> threads;
std::vector<unsigned> ready;
std::vector<std::function<void()>> under_way;  // of what goes on by itself
Thread* current = nullptr;
jmp_buf scheduler;
Stack scheduler_stack;
std::exception_ptr error;

std::string name_of(const Dim& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " +
         std::to_string(index.z) + ")";
}
std::string line_of(const Source& where) {
  std::string file = where.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line());
}

// What each fiber runs.
void run_thread() {
  arrive(current->stack, scheduler_stack);
  try {
    body(context);
    end_copies(current->id);
  } catch (...) {
    error = std::current_exception();
  }
  current->state = State::finished;
  leave_forever(scheduler_stack);
  _longjmp(scheduler, 1);
}

void start(Thread& thread) {
  if (!thread.memory) {
    thread.memory.reset(new char[stack_bytes]);
    thread.stack = {thread.memory.get(), stack_bytes};
  }
  clear(thread.stack);
  ucontext_t fiber;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = thread.memory.get();
  fiber.uc_stack.ss_size = stack_bytes;
  fiber.uc_link = nullptr;
  makecontext(&fiber, run_thread, 0);
  if (!_setjmp(scheduler)) {
    leave(scheduler_stack, thread.stack);
    setcontext(&fiber);
  }
  arrive(scheduler_stack);
}

void resume(Thread& thread) {
  if (!_setjmp(scheduler)) {
    leave(scheduler_stack, thread.stack);
    _longjmp(thread.saved, 1);
  }
  arrive(scheduler_stack);
}

void yield() {
  if (!_setjmp(current->saved)) {
    leave(current->stack, scheduler_stack);
    _longjmp(scheduler, 1);
  }
  arrive(current->stack);
}

void step(unsigned id) {
  Thread& thread = threads[id];
  current = &thread;
  place.thread = thread.index;
  bool fresh = thread.state == State::fresh;
  thread.state = State::running;
  fresh ? start(thread) : resume(thread);
  current = nullptr;
  if (error) {
    std::exception_ptr thrown = std::exchange(error, nullptr);
    std::rethrow_exception(thrown);
  }
}

[[noreturn]] void stuck(const Thread& thread, const char* what) {
  throw Fault(std::string(launch->name) + ", block " + std::to_string(block_id) + ", thread " +
              name_of(thread.index) + ", " + line_of(thread.where) + ": " + what);
}

// All threads have run as far as they can: lets them pass the barrier, if they all stand at it.
// Returns false when they have all finished.
bool pass_barrier() {
  const Thread* waiting = nullptr;
  bool finished = false;
  for (const Thread& thread : threads) {
    if (thread.state == State::at_warp) {
      stuck(thread, "waits for lanes of its warp that do not come");
    }
    if (thread.state == State::asleep) stuck(thread, thread.waits);
    if (thread.state == State::finished)
      finished = true;
    else if (!waiting)
      waiting = &thread;
  }
  if (!waiting) return false;
  if (finished) stuck(*waiting, "waits at a barrier that other threads never reach");
  for (const Thread& thread : threads) {
    if (thread.where.line() != waiting->where.line() ||
        std::strcmp(thread.where.file_name(), waiting->where.file_name()) != 0) {
      stuck(thread, "waits at a barrier while other threads wait at another");
    }
  }
  std::vector<unsigned> all(threads.size());
  std::iota(all.begin(), all.end(), 0u);
  meet(all);
  for (Thread& thread : threads) {
    ++thread.barriers;
    thread.state = State::running;
    ready.push_back(thread.id);
  }
  return true;
}

// Something that is under way comes to its end.
void end_one(size_t which) {
  std::swap(under_way[which], under_way.back());
  std::function<void()> end = std::move(under_way.back());
  under_way.pop_back();
  end();
}

void run_block() {
  const Dim& size = launch->block;
  unsigned count = size.x * size.y * size.z;
  if (threads.size() != count) {
    threads.clear();
    threads.resize(count);
  }
  ready.clear();
  for (unsigned id = 0; id < count; ++id) {
    Thread& thread = threads[id];
    thread.index = {id % size.x, id / size.x % size.y, id / (size.x * size.y)};
    thread.id = id;
    thread.state = State::fresh;
    thread.barriers = thread.warp_barriers = thread.turn = thread.mask = 0;
    ready.push_back(id);
  }
  stop_clocks();
  start_shared(launch->shared_bytes, count);
  start_async();
  under_way.clear();
  do {
    while (!ready.empty() || !under_way.empty()) {
      size_t chosen = order() % (ready.size() + under_way.size());
      if (chosen >= ready.size()) {
        end_one(chosen - ready.size());
        continue;
      }
      std::swap(ready[chosen], ready.back());
      unsigned id = ready.back();
      ready.pop_back();
      step(id);
    }
  } while (pass_barrier());
  end_async();
}

void check(const Launch& l) {
  auto refuse = [&](const char* what) { throw Fault(std::string(l.name) + ": " + what); };
  uint64_t count = uint64_t{l.block.x} * l.block.y * l.block.z;
  if (count == 0 || l.grid.x == 0 || l.grid.y == 0 || l.grid.z == 0) refuse("an empty launch");
  if (count > 1024) refuse("more than 1024 threads in a block");
  if (l.block.z > 64) refuse("a block deeper than 64");
  if (l.grid.x > 0x7fffffff || l.grid.y > 65535 || l.grid.z > 65535) refuse("too large a grid");
  if (l.shared_bytes > most_shared_bytes(device_in_use())) {
    refuse(device_in_use() == hopper ? "more than 227 KiB of shared memory"
                                     : "more than 99 KiB of shared memory");
  }
  if (l.parameter_bytes > 4096) refuse("more than 4 KiB of parameters");
}

}  // namespace

void fault(const std::string& what, const Source& where) {
  std::string prefix = launch ? launch->name : "host";
  if (current) {
    prefix += ", block " + std::to_string(block_id) + ", thread " + name_of(current->index);
  }
  throw Fault(prefix + ", " + line_of(where) + ": " + what);
}

Moment now() {
  return {launch_count,         block_id, current->id, current->barriers, current->warp_barriers,
          epoch_of(current->id)};
}

void shuffle_by(uint64_t seed) { order.seed(seed); }
uint64_t launches() { return launch_count; }

void run(const Launch& l, void (*run_body)(void*), void* run_context) {
  check(l);
  auto lock = lock_device();
  launch = &l;
  body = run_body;
  context = run_context;
  ++launch_count;
  place.block_size = l.block;
  place.grid_size = l.grid;
  struct End {
    ~End() {
      launch = nullptr;
      current = nullptr;
    }
  } end;
  // Blocks in the order of a permutation that needs no memory: multiples of a number without a
  // common divisor, from anywhere on.
  uint64_t count = uint64_t{l.grid.x} * l.grid.y * l.grid.z, step = 1;
  for (int tries = 0; tries < 64; ++tries) {
    uint64_t candidate = order() % count;
    if (candidate > 0 && std::gcd(candidate, count) == 1) {
      step = candidate;
      break;
    }
  }
  uint64_t id = order() % count;
  for (uint64_t i = 0; i < count; ++i) {
    block_id = static_cast<unsigned>(id);
    place.block = {static_cast<unsigned>(id % l.grid.x),
                   static_cast<unsigned>(id / l.grid.x % l.grid.y),
                   static_cast<unsigned>(id / l.grid.x / l.grid.y)};
    run_block();
    id = (id + step) % count;
  }
}

void wait_for_block(const Source& where) {
  current->state = State::at_block;
  current->where = where;
  yield();
}

void sleep(const char* what, const Source& where) {
  current->state = State::asleep;
  current->waits = what;
  current->where = where;
  yield();
}
void wake(unsigned thread) {
  threads[thread].state = State::running;
  ready.push_back(thread);
}
void begin_work(std::function<void()> end) { under_way.push_back(std::move(end)); }

void exchange(uint32_t mask, const void* bytes, size_t size, const Source& where, bool orders) {
  if (size > most_exchanged) fault("too much for one exchange", where);
  Thread& self = *current;
  unsigned lane = self.id % warp;
  if (!(mask >> lane & 1)) fault("an exchange whose mask leaves out its own lane", where);
  self.mask = mask;
  self.where = where;
  if (size) std::memcpy(self.brings, bytes, size);
  self.state = State::at_warp;
  unsigned first = self.id - lane;
  auto in_mask = [&](unsigned l) { return mask >> l & 1; };
  for (unsigned l = 0; l < warp; ++l) {
    if (!in_mask(l)) continue;
    if (first + l >= threads.size()) fault("an exchange with lanes that do not exist", where);
    const Thread& other = threads[first + l];
    bool here = other.state == State::at_warp && other.mask == mask &&
                other.where.line() == where.line() &&
                std::strcmp(other.where.file_name(), where.file_name()) == 0;
    if (!here) {
      yield();  // whoever comes last lets all go on
      return;
    }
  }
  uint32_t turn = self.turn + 1;
  for (unsigned l = 0; l < warp; ++l) {
    if (in_mask(l)) turn = std::max(turn, threads[first + l].turn + 1);
  }
  if (orders && clocks_run()) {
    std::vector<unsigned> lanes;
    for (unsigned l = 0; l < warp; ++l) {
      if (in_mask(l)) lanes.push_back(first + l);
    }
    meet(lanes);
  }
  for (unsigned l = 0; l < warp; ++l) {
    if (!in_mask(l)) continue;
    Thread& other = threads[first + l];
    other.turn = turn;
    std::memcpy(other.brought[turn % 2], other.brings, size);
    other.state = State::running;
    other.warp_barriers += orders;
    if (&other != &self) ready.push_back(other.id);
  }
}

const void* exchanged(unsigned lane, const Source& where) {
  if (!(current->mask >> lane & 1)) fault("takes the value of a lane outside of the mask", where);
  return threads[current->id / warp * warp + lane].brought[current->turn % 2];
}

}  // namespace grid
