// SPDX-License-Identifier: Apache-2.0
// What does a lock of one process cost? Floor: a std::timed_mutex, which knows neither name, lease,
// fence nor order; of a hand-off, its unlock and the return of a lock that waits for it.
#include <memory>
#include <mutex>

#include "lock_bench.h"
#include "oncemq/locks/memory_locks.h"

namespace oncemq::bench {
namespace {

double RawHandOff() {
  std::timed_mutex mutex;
  mutex.lock();
  std::atomic<bool> asks{false};
  double got = 0;
  std::jthread waiter([&] {
    asks = true;
    mutex.lock();
    got = WallSeconds();
    mutex.unlock();
  });
  while (!asks) {
    std::this_thread::yield();
  }
  SleepFor(milliseconds(1));  // it waits by then, as ours does
  const double begin = WallSeconds();
  mutex.unlock();
  waiter.join();
  return (got - begin) * 1e6;
}

int Main(int argc, char** argv) {
  Report report("locks/memory", argc, argv);
  const auto locks = MakeMemoryLocks();
  const auto one = *LockDomain::Open(locks);
  const auto two = *LockDomain::Open(locks);
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw =
                    [](size_t) {
                      return [mutex = std::make_shared<std::timed_mutex>()] {
                        const std::lock_guard<std::timed_mutex> held(*mutex);
                      };
                    },
                .raw_hand_off = RawHandOff,
                .pairs = 10'000},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
