// SPDX-License-Identifier: Apache-2.0
// One task, taken twice: two requests look into a pool for a task that nobody has, and both find
// the same. First without a lock, then under a lease whose fence the pool checks; last with a
// holder that was paused for too long and takes what it found when another one has the name.
//
//   task_pool [ADDRESS]    memory:, or that of any lock engine (docs/lock_engines.md). Over one
//                          without fences nothing parts the paused holder from the next one, and
//                          the last part is left out.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "oncemq/locks/lease_mutex.h"
#include "oncemq/locks/lock_engines.h"
#include "together.h"

namespace examples {
namespace {

using oncemq::Fence;
using oncemq::LockDomain;

// A table somewhere else: looking and marking are two requests. It knows no lock, but it remembers
// the greatest fence that it has seen.
class Pool {
 public:
  static constexpr int kNone = -1;

  int FindFree() {
    const std::lock_guard guard(mutex_);
    return FirstFree();
  }
  void Take(int task) {
    const std::lock_guard guard(mutex_);
    taken_.at(static_cast<size_t>(task)) = true;
  }

  // Installs the fence *before* it looks: from now on an earlier holder cannot take any more.
  int FindFree(const Fence& fence) {
    const std::lock_guard guard(mutex_);
    highest_ = std::max(highest_, fence);
    return fence == highest_ ? FirstFree() : kNone;
  }
  bool Take(const Fence& fence, int task) {
    const std::lock_guard guard(mutex_);
    if (fence < highest_) {
      return false;
    }
    taken_.at(static_cast<size_t>(task)) = true;
    return true;
  }

 private:
  int FirstFree() const {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    return free == taken_.end() ? kNone : static_cast<int>(free - taken_.begin());
  }

  std::mutex mutex_;
  std::array<bool, 3> taken_{};
  Fence highest_;
};

// Which task each of the two requests got.
std::array<int, 2> Two(const std::function<int(Pool&, Together&)>& take) {
  Pool pool;
  Together together;
  std::array<int, 2> got{};
  std::thread one([&] { got[0] = take(pool, together); });
  std::thread two([&] { got[1] = take(pool, together); });
  one.join();
  two.join();
  return got;
}

std::array<int, 2> WithoutALock() {
  return Two([](Pool& pool, Together& together) {
    const int task = pool.FindFree();
    together.Meet(kUntilItComes);
    pool.Take(task);
    return task;
  });
}

// Without fences all are the same to the pool.
std::array<int, 2> UnderALease(LockDomain& domain) {
  oncemq::LeaseMutex mutex(domain, "pool/1");
  return Two([&](Pool& pool, Together& together) {
    const std::lock_guard guard(mutex);
    const Fence fence = mutex.lease().fence();
    const int task = pool.FindFree(fence);
    together.Meet(kInCaseItComes);
    return pool.Take(fence, task) ? task : Pool::kNone;
  });
}

// True: the task was not taken a second time.
bool LateHolderIsRefused(LockDomain& domain) {
  Pool pool;
  const auto paused = domain.Acquire("pool/2");
  if (!paused || !*paused) {
    return false;
  }
  const int found = pool.FindFree((*paused)->fence());
  // Its process sleeps; the store, or an operator, gives the name to the next one.
  const auto evicted = domain.engine().Evict("pool/2", (*paused)->fence());
  if (!evicted || *evicted != oncemq::Freed::kYes) {
    return false;
  }
  const auto next = domain.Acquire("pool/2");
  if (!next || !*next) {
    return false;
  }
  const int taken = pool.FindFree((*next)->fence());
  return taken == found && pool.Take((*next)->fence(), taken) &&
         !pool.Take((*paused)->fence(), found);
}

bool Print(const char* how, const std::array<int, 2>& got) {
  const bool twice = got[0] == got[1];
  const bool right = !twice && got[0] != Pool::kNone && got[1] != Pool::kNone;
  std::printf("two requests, %s  tasks %d and %d  %s\n", how, got[0] + 1, got[1] + 1,
              right   ? "right"
              : twice ? "wrong: one task, taken twice"
                      : "wrong: one got none");
  return right;
}

int Main(const std::string& address) {
  const auto engine = oncemq::OpenLockEngine(address, "examples");
  if (!engine) {
    std::fprintf(stderr, "task_pool: %s\n", ToString(engine.error()).c_str());
    return 2;
  }
  const auto domain = LockDomain::Open(*engine);
  if (!domain) {
    std::fprintf(stderr, "task_pool: %s\n", ToString(domain.error()).c_str());
    return 2;
  }
  const bool fences = (*engine)->capabilities().fence;
  const bool without = Print("without a lock:", WithoutALock());
  const bool with = Print("under a lease: ", UnderALease(**domain));
  const bool refused = fences && LateHolderIsRefused(**domain);
  std::printf("a late holder's take:          %s\n", !fences   ? "not tried: no fences here"
                                                     : refused ? "refused by its fence"
                                                               : "TAKEN");
  return !without && with && (refused || !fences) ? 0 : 1;
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  try {
    return examples::Main(argc > 1 ? argv[1] : "memory:");
  } catch (const std::exception& error) {  // a mutex can only throw
    std::fprintf(stderr, "task_pool: %s\n", error.what());
    return 2;
  }
}
