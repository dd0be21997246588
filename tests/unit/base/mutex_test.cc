// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace oncemq {
namespace {

TEST(Mutex, LetsOneThreadInAtATime) {
  Mutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; i++) {
          const MutexLock lock(mutex);
          count++;
        }
      });
    }
  }
  EXPECT_EQ(count, 40'000);
}

TEST(Mutex, AConditionVariableWaitsOnIt) {
  Mutex mutex;
  ConditionVariable changed;
  bool ready = false;
  std::jthread setter([&] {
    const MutexLock lock(mutex);
    ready = true;
    changed.notify_one();
  });
  const MutexLock lock(mutex);
  changed.wait(mutex, [&] { return ready; });
  EXPECT_TRUE(ready);
}

}  // namespace
}  // namespace oncemq
