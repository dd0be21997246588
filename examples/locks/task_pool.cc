// SPDX-License-Identifier: Apache-2.0
// One task, taken twice: two requests look into a pool for a task that nobody has, and both find
// the same. First without a lock, then under a lease.
//
//   task_pool [ADDRESS]    memory:, or that of any lock engine (docs/lock_engines.md)
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

// A table somewhere else: looking and marking are two requests.
class Pool {
 public:
  int FindFree() {
    const std::lock_guard guard(mutex_);
    for (size_t task = 0; task < taken_.size(); task++) {
      if (!taken_[task]) {
        return static_cast<int>(task);
      }
    }
    return -1;
  }
  void Take(int task) {
    const std::lock_guard guard(mutex_);
    taken_.at(static_cast<size_t>(task)) = true;
  }

 private:
  std::mutex mutex_;
  std::array<bool, 3> taken_{};
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

int LookAndTake(Pool& pool, Together& together) {
  const int task = pool.FindFree();
  together.Meet();
  pool.Take(task);
  return task;
}

void Print(const char* how, const std::array<int, 2>& got) {
  std::printf("two requests, %s  tasks %d and %d  %s\n", how, got[0] + 1, got[1] + 1,
              got[0] == got[1] ? "wrong: one task, taken twice" : "right");
}

int Main(const std::string& address) {
  const auto engine = oncemq::OpenLockEngine(address, "examples");
  if (!engine) {
    std::fprintf(stderr, "task_pool: %s\n", ToString(engine.error()).c_str());
    return 2;
  }
  const auto domain = oncemq::LockDomain::Open(*engine);
  if (!domain) {
    std::fprintf(stderr, "task_pool: %s\n", ToString(domain.error()).c_str());
    return 2;
  }
  const auto without = Two(LookAndTake);
  oncemq::LeaseMutex mutex(**domain, "pool");
  const auto with = Two([&](Pool& pool, Together& together) {
    const std::lock_guard guard(mutex);
    return LookAndTake(pool, together);
  });
  Print("without a lock:", without);
  Print("under a lease: ", with);
  return without[0] == without[1] && with[0] != with[1] ? 0 : 1;
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
