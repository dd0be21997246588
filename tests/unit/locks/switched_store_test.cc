// SPDX-License-Identifier: Apache-2.0
#include "switched/switched_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "oncemq/locks/lock_doubts.h"
#include "oncemq/locks/memory_locks.h"
#include "oncemq/locks/switched_locks.h"

namespace oncemq::testing {
namespace {

// An opening lasts until the test lets it end.
TEST(SwitchedStoreTest, OneOpensAndTheOthersTakeWhatComesOfIt) {
  constexpr int kThreads = 8;
  std::atomic<int> openings{0};
  std::atomic<bool> down{true};
  std::latch end(1);
  const auto open = [&]() -> Result<std::shared_ptr<LockEngine>> {
    openings++;
    end.wait();
    if (down) {
      return Error{Code::kUnavailable, Effect::kNone, "down"};
    }
    return MakeMemoryLocks();
  };
  LockDoubts doubts;
  SwitchedStore store({"a", MemoryLockCapabilities(), open}, doubts);
  std::atomic<int> refused{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&] { refused += store.Seal(1).has_value() ? 0 : 1; });
  }
  while (openings < kThreads && store.waiting() < kThreads - 1) {
    std::this_thread::yield();
  }
  end.count_down();
  threads.clear();
  EXPECT_EQ(openings, 1);
  EXPECT_EQ(refused, kThreads);
  down = false;
  EXPECT_TRUE(store.Seal(1).has_value()) << "the next one opens it";
  EXPECT_TRUE(store.Seal(2).has_value());
  EXPECT_EQ(openings, 2);
}

TEST(SwitchedCapabilitiesTest, ItsStoresAreSealedIfAllOfThemCanBe) {
  std::vector<NamedLocks> stores = {{"a", MemoryLockCapabilities(), nullptr},
                                    {"b", MemoryLockCapabilities(), nullptr}};
  EXPECT_TRUE(SwitchedCapabilities(stores)->seals);
  stores[1].capabilities.seals = false;
  EXPECT_FALSE(SwitchedCapabilities(stores)->seals);
}

}  // namespace
}  // namespace oncemq::testing
