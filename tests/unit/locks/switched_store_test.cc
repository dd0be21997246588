// SPDX-License-Identifier: Apache-2.0
#include "switched/switched_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

#include "oncemq/locks/hold_listeners.h"
#include "oncemq/locks/memory_locks.h"
#include "oncemq/locks/switched_locks.h"
#include "support/forwarding_locks.h"
#include "support/remote_locks.h"
#include "support/switch_store.h"

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
  HoldListeners listeners;
  SwitchedStore store({"a", MemoryLockCapabilities(), open}, listeners);
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

TEST(SwitchedStoreTest, AnOpeningThatThrowsIsAFailureAndKeepsNobodyWaiting) {
  int openings = 0;
  const auto open = [&]() -> Result<std::shared_ptr<LockEngine>> {
    switch (++openings) {
      case 1:
        throw std::runtime_error("no such place");
      case 2:
        throw 2;
      case 3:
        return std::shared_ptr<LockEngine>();
      default:
        return MakeMemoryLocks();
    }
  };
  HoldListeners listeners;
  SwitchedStore store({"a", MemoryLockCapabilities(), open}, listeners);
  const auto thrown = store.Seal(1);
  ASSERT_FALSE(thrown.has_value());
  EXPECT_EQ(thrown.error().code, Code::kInternal);
  EXPECT_NE(thrown.error().message.find("no such place"), std::string::npos);
  EXPECT_FALSE(store.Seal(1).has_value());
  EXPECT_FALSE(store.Seal(1).has_value()) << "none";
  EXPECT_TRUE(store.Seal(1).has_value());
}

// Each request lasts until another one comes, or for some time if none does.
class CountsThoseInside final : public ForwardingLocks {
 public:
  using ForwardingLocks::ForwardingLocks;

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    const int inside = ++inside_;
    most = std::max(most.load(), inside);
    for (int i = 0; i < 1'000 && most < 2; i++) {
      std::this_thread::yield();
    }
    const auto answer = ForwardingLocks::Request(request);
    inside_--;
    return answer;
  }
  std::atomic<int> most{0};

 private:
  std::atomic<int> inside_{0};
};

// A probe, say, and whoever begins a switch. Theirs is one token.
TEST(SwitchedStoreTest, QuestionsOfSeveralThreadsAreAskedOneAfterTheOther) {
  const auto locks = std::make_shared<CountsThoseInside>(MakeMemoryLocks());
  HoldListeners listeners;
  SwitchedStore store(
      {"a", MemoryLockCapabilities(), [&] { return Result<std::shared_ptr<LockEngine>>(locks); }},
      listeners);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10; j++) {
        EXPECT_TRUE(store.Answers().has_value());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(locks->most, 1);
}

// Redis' wait, for one, asks nobody: it ends well though the server is dead.
TEST(SwitchedStoreTest, AWaitThatIsOverIsNoAnswerOfTheStore) {
  ManualClock clock;
  const auto remote = std::make_shared<RemoteLocks>(MakeMemoryLocks({}, clock));
  HoldListeners listeners;
  SwitchedStore store(
      {"a", MemoryLockCapabilities(), [&] { return Result<std::shared_ptr<LockEngine>>(remote); }},
      listeners);
  const auto board = *Switchboard::Open(
      std::make_shared<SwitchStoreView>(std::make_shared<SharedSwitchStore>()),
      {.stores = {"a"}, .breaker = {.failures = 2, .span = milliseconds(0)}}, clock);
  const auto read = [](LockEngine& engine) { return engine.Read("x"); };
  remote->cut = true;
  EXPECT_FALSE(store.Do(*board, read));
  const AcquireRequest request{.name = "x", .token = {1, 1}};
  EXPECT_TRUE(store.Await(*board, request, clock.Boot(), {}));
  EXPECT_FALSE(store.Do(*board, read));
  EXPECT_FALSE(board->Lets("a")) << "two failures in a row";
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
