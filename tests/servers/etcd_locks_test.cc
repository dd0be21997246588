// SPDX-License-Identifier: Apache-2.0
// What only locks in etcd do. What every engine does, the conformance suite asks.
#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "etcd/etcd_requests.h"
#include "etcd_locks_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

TEST_F(EtcdLocksTest, NamesOfDifferentSpacesHaveNothingToDoWithEachOther) {
  Start();
  const auto one = Opened(server_->url(), {.space = "a"});
  const auto two = Opened(server_->url(), {.space = std::string("a\0\x01n", 4)});
  EXPECT_EQ(Request(*one, New("x")).kind, Kind::kGranted);
  EXPECT_EQ(Request(*two, New("x")).kind, Kind::kGranted);
  EXPECT_EQ(one->Names("", 10)->size(), 1u);
  EXPECT_EQ(*one->Seal(3), 3u);
  EXPECT_EQ(*two->Seal(0), 0u);
}

TEST_F(EtcdLocksTest, AnIdleNameLeavesNothingBehind) {
  Start();
  for (int i = 0; i < 20; i++) {
    ASSERT_TRUE(Acquired("name" + std::to_string(i)));
  }
  EXPECT_EQ(Keys(), 1) << "of the session";
  domain_.reset();
  locks_.reset();
  EXPECT_EQ(Keys(), 0);
}

TEST_F(EtcdLocksTest, AnEngineThatGoesFreesWhatItHeld) {
  Start();
  auto other = Opened(server_->url());
  ASSERT_EQ(Request(*other, New()).kind, Kind::kGranted);
  ASSERT_EQ(Request(*locks_, New()).kind, Kind::kQueued);
  other.reset();
  const LockView view = *locks_->Read("x");
  ASSERT_EQ(view.parties.size(), 1u);
  EXPECT_TRUE(view.parties[0].holds);
}

TEST_F(EtcdLocksTest, HostileNamesAreNames) {
  Start();
  const std::vector<std::string> names = {std::string("\0", 1),
                                          std::string("\0\xff", 2),
                                          std::string("a\0\x01", 3),
                                          std::string("\0\x01", 2),
                                          "/",
                                          "//",
                                          "a//b",
                                          "a",
                                          "\"quoted\"\\",
                                          "\xc3\x28",
                                          std::string(kLongestLockName, '\0'),
                                          std::string(kLongestLockName, '\xff')};
  std::vector<AcquireRequest> requests;
  for (const std::string& name : names) {
    requests.push_back(New(name));
    EXPECT_EQ(Request(*locks_, requests.back()).kind, Kind::kGranted);
  }
  std::vector<std::string> in_order = names;
  std::sort(in_order.begin(), in_order.end());
  EXPECT_EQ(*locks_->Names("", 100), in_order);
  for (const AcquireRequest& request : requests) {
    EXPECT_EQ(locks_->Read(request.name)->parties.size(), 1u);
    EXPECT_EQ(*Extend(*locks_, request), Extended::kYes);
    EXPECT_EQ(*Free(*locks_, request), Freed::kYes);
  }
  EXPECT_TRUE(locks_->Names("", 100)->empty());
}

TEST_F(EtcdLocksTest, NamesWithLongLinesAreListedOnceEach) {
  Start();
  for (const char* name : {"a", "b", "c"}) {
    for (int i = 0; i < 5; i++) {
      Request(*locks_, New(name));
    }
  }
  EXPECT_EQ(*locks_->Names("", 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*locks_->Names("b", 2), (std::vector<std::string>{"c"}));
}

TEST_F(EtcdLocksTest, KeysOfOthersHideNoName) {
  Start();
  Request(*locks_, New("a"));
  Request(*locks_, New("c"));
  const auto client = EtcdClient::Open(*ParseEtcdEndpoint(server_->url()));
  const std::string names = "oncemq/lock/1/n" + std::string("\0\x01", 2);
  for (const char* foreign : {"", "b", "zz"}) {
    ASSERT_TRUE((*client)->Run(
        EtcdOp{.kind = EtcdOp::Kind::kPut, .key = names + foreign, .value = "nobody's"}));
  }
  EXPECT_EQ(*locks_->Names("", 100), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(*locks_->Names("", 1), (std::vector<std::string>{"a"}));
  EXPECT_EQ(*locks_->Names("a", 1), (std::vector<std::string>{"c"}));
}

TEST_F(EtcdLocksTest, ALeaseThatTheSessionDoesNotCarryIsRefused) {
  Start({.session = std::chrono::seconds(4)});
  const auto longer = locks_->Request(New("x", milliseconds(3'001)));
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().code, Code::kInvalid);
  const AcquireRequest holder = New("x", milliseconds(3'000));
  EXPECT_EQ(Request(*locks_, holder).kind, Kind::kGranted);
  AcquireRequest greedy = holder;
  greedy.lease = milliseconds(3'001);
  EXPECT_EQ(Extend(*locks_, greedy).error().code, Code::kInvalid);
  EXPECT_EQ(OpenEtcdLocks(server_->url(), {.session = std::chrono::seconds(1)}).error().code,
            Code::kInvalid);
}

// etcd's own recipe has one key for each session, so both would hold, and the try would take away
// the key of the one that waits.
TEST_F(EtcdLocksTest, TwoOfOneSessionExcludeEachOtherAndATryLeavesTheWaiterItsPlace) {
  Start();
  const AcquireRequest holder = New();
  const AcquireRequest waiter = New();
  ASSERT_EQ(Request(*locks_, holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(*locks_, waiter).kind, Kind::kQueued);
  AcquireRequest tries = New();
  tries.queue = false;
  EXPECT_EQ(Request(*locks_, tries).kind, Kind::kBusy);
  EXPECT_EQ(*Free(*locks_, tries), Freed::kNotHeld);
  AcquireRequest again = waiter;
  again.queue = false;
  EXPECT_EQ(Request(*locks_, again).kind, Kind::kBusy);
  EXPECT_EQ(locks_->Read("x")->parties.size(), 2u);
  ASSERT_EQ(*Free(*locks_, holder), Freed::kYes);
  EXPECT_EQ(Request(*locks_, tries).kind, Kind::kBusy) << "it is the turn of the one that waits";
  EXPECT_EQ(Request(*locks_, waiter).kind, Kind::kGranted);
}

TEST_F(EtcdLocksTest, TwoEnginesServeEachOthersWaitersInTheirOrder) {
  Start();
  const auto other = Opened(server_->url());
  const AcquireRequest holder = New();
  const AcquireRequest first = New();
  const AcquireRequest second = New();
  const Fence fence = Request(*locks_, holder).fence;
  ASSERT_EQ(Request(*other, first).kind, Kind::kQueued);
  ASSERT_EQ(Request(*locks_, second).kind, Kind::kQueued);
  std::jthread waits([&] { EXPECT_TRUE(other->Await(first, Now() + kLong, {})); });
  ASSERT_EQ(*Free(*locks_, holder), Freed::kYes);
  waits.join();
  EXPECT_EQ(Request(*locks_, second).kind, Kind::kQueued);
  const LockAnswer granted = Request(*other, first);
  ASSERT_EQ(granted.kind, Kind::kGranted);
  EXPECT_GT(granted.fence, fence);
  EXPECT_EQ(*locks_->Evict("x", granted.fence), Freed::kYes);
  EXPECT_EQ(*Extend(*other, first), Extended::kGone);
  EXPECT_EQ(Request(*locks_, second).kind, Kind::kGranted);
}

TEST_F(EtcdLocksTest, AHolderElsewhereIsAskedBackAndTheNextIsNot) {
  Start();
  const auto other = Opened(server_->url());
  const AcquireRequest holder = New();
  const AcquireRequest next = New();
  ASSERT_EQ(Request(*other, holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(*locks_, next).kind, Kind::kQueued);
  EXPECT_EQ(*locks_->Recall("x"), 1u);
  EXPECT_EQ(*Extend(*other, holder), Extended::kRecalled);
  ASSERT_EQ(*Free(*other, holder), Freed::kYes);
  ASSERT_EQ(Request(*locks_, next).kind, Kind::kGranted);
  EXPECT_EQ(*Extend(*locks_, next), Extended::kYes);
}

TEST_F(EtcdLocksTest, AHundredAndMoreAreExtendedAndFreedTogether) {
  Start();
  std::vector<std::string> names;
  for (int i = 0; i < 230; i++) {
    names.push_back("n" + std::to_string(i));
  }
  std::vector<LockClaim> claims;
  for (const std::string& name : names) {
    const AcquireRequest request = New(name);
    ASSERT_EQ(Request(*locks_, request).kind, Kind::kGranted);
    claims.push_back({name, request.token, request.lease});
  }
  std::vector<Extended> extended(claims.size());
  ASSERT_TRUE(locks_->Extend(claims, extended));
  EXPECT_EQ(std::count(extended.begin(), extended.end(), Extended::kYes), 230);
  std::vector<Freed> freed(claims.size());
  ASSERT_TRUE(locks_->Free(claims, freed));
  EXPECT_EQ(std::count(freed.begin(), freed.end(), Freed::kYes), 230);
}

// As when an operator removes it: what hangs on it is acknowledged no more.
TEST_F(EtcdLocksTest, AHoldWhoseSessionWasTakenAwayIsGoneAndAskedForAnew) {
  Start();
  const AcquireRequest holder = New();
  const Fence fence = Request(*locks_, holder).fence;
  const auto client = *EtcdClient::Open(*ParseEtcdEndpoint(server_->url()));
  const std::string sessions = "oncemq/lock/1/s";
  const auto removed = client->Run(
      EtcdOp{.kind = EtcdOp::Kind::kDelete, .key = sessions, .end = EtcdEndOf(sessions)});
  ASSERT_TRUE(removed.has_value());
  ASSERT_EQ(removed->replies.at(0).deleted, 1);
  const LockAnswer again = Request(*locks_, holder);
  ASSERT_EQ(again.kind, Kind::kGranted) << "the former key is no hold of the new session";
  EXPECT_GT(again.fence, fence);
  EXPECT_EQ(locks_->Read("x")->parties.size(), 1u);
  EXPECT_EQ(*Extend(*locks_, holder), Extended::kYes);
  EXPECT_EQ(*Free(*locks_, holder), Freed::kYes);
}

TEST_F(EtcdLocksTest, WaitersAreLimited) {
  server_ = EtcdServer::Start();
  const auto locks = Opened(server_->url(), {.max_waiters = 2});
  ASSERT_EQ(Request(*locks, New()).kind, Kind::kGranted);
  ASSERT_EQ(Request(*locks, New()).kind, Kind::kQueued);
  const AcquireRequest second = New();
  ASSERT_EQ(Request(*locks, second).kind, Kind::kQueued);
  const auto third = locks->Request(New());
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Code::kFull);
  EXPECT_EQ(Request(*locks, second).kind, Kind::kQueued) << "who waits already is not too many";
  EXPECT_EQ(locks->Read("x")->parties.size(), 3u) << "nothing is left behind";
}

TEST_F(EtcdLocksTest, AHandOverToOneOfTwentyWakesOneOnly) {
  Start();
  constexpr size_t kWaiters = 20;
  const AcquireRequest holder = New();
  ASSERT_EQ(Request(*locks_, holder).kind, Kind::kGranted);
  std::vector<AcquireRequest> waiters;
  for (size_t i = 0; i < kWaiters; i++) {
    waiters.push_back(New());
    ASSERT_EQ(Request(*locks_, waiters.back()).kind, Kind::kQueued);
  }
  std::atomic<size_t> wakes{0};
  std::vector<std::jthread> threads;
  for (const AcquireRequest& waiter : waiters) {
    threads.emplace_back([&, waiter] {
      do {
        EXPECT_TRUE(locks_->Await(waiter, Now() + kLong, {}));
        wakes++;
      } while (Request(*locks_, waiter).kind != Kind::kGranted);
      EXPECT_EQ(*Free(*locks_, waiter), Freed::kYes);
    });
  }
  ASSERT_EQ(*Free(*locks_, holder), Freed::kYes);
  threads.clear();
  EXPECT_EQ(wakes.load(), kWaiters);
}

// A watch that begins behind the store is looked for every 100 ms only: a waiter that has come a
// moment ago would be woken late. Compared with a watch without a lock, turn and turn about.
// Each of them asks again in time to keep its place, while those before it go.
TEST_F(EtcdLocksTest, ALineOfHundredsIsServedInItsOrder) {
  constexpr size_t kWaiters = 250;
  Start();
  domain_ = *LockDomain::Open(locks_, {.queue_lease = milliseconds(2'000)});
  auto holder = Acquired();
  std::mutex mutex;
  std::vector<Fence> served;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kWaiters; i++) {
    threads.emplace_back([&] {
      const auto lease = Acquired();
      ASSERT_TRUE(lease.has_value());
      const std::lock_guard lock(mutex);
      served.push_back(lease->fence());
    });
  }
  while (locks_->Read("x")->parties.size() <= kWaiters) {
    std::this_thread::yield();
  }
  holder->Release();
  threads.clear();
  EXPECT_EQ(served.size(), kWaiters);
  EXPECT_TRUE(std::is_sorted(served.begin(), served.end()));
}

// What keeps a place says little, however long the line is.
TEST_F(EtcdLocksTest, WhoWaitsBehindSomebodyReadsNoLine) {
  const EtcdLockKeys keys("");
  const AcquireRequest request = New();
  const EtcdClaim has{.key = "mine", .created = 2, .ahead = "before", .ahead_created = 1};
  const EtcdTxn stays = EtcdRequestTxn(keys, request, has.key, {}, EtcdWay::kStay, 9, has);
  EXPECT_TRUE(stays.then.empty());
  const EtcdTxn whole = EtcdRequestTxn(keys, request, has.key, {}, EtcdWay::kLong, 9, has);
  EXPECT_FALSE(whole.then.empty());
}

TEST_F(EtcdLocksTest, AYoungWaiterIsWokenAsQuicklyAsAWatchIs) {
  Start();
  const auto client = *EtcdClient::Open(*ParseEtcdEndpoint(server_->url()));
  constexpr size_t kRounds = 15;
  std::vector<microseconds> locks;
  std::vector<microseconds> watches;
  const auto few_calls = [&] {
    for (int i = 0; i < 10; i++) {
      ASSERT_TRUE(client->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = "k"}));
    }
  };
  const auto took = [](BootTime began, BootTime ended) {
    return std::chrono::duration_cast<microseconds>(ended - began);
  };
  for (size_t round = 0; round < kRounds; round++) {
    const AcquireRequest holder = New();
    const AcquireRequest waiter = New();
    ASSERT_EQ(Request(*locks_, holder).kind, Kind::kGranted);
    ASSERT_EQ(Request(*locks_, waiter).kind, Kind::kQueued);
    BootTime woken;
    std::jthread waits([&] {
      EXPECT_TRUE(locks_->Await(waiter, Now() + kLong, {}));
      woken = Now();
    });
    few_calls();
    const BootTime freed = Now();
    ASSERT_EQ(*Free(*locks_, holder), Freed::kYes);
    waits.join();
    locks.push_back(took(freed, woken));
    ASSERT_EQ(*Free(*locks_, waiter), Freed::kNotHeld);

    ASSERT_TRUE(client->Run(EtcdOp{.kind = EtcdOp::Kind::kPut, .key = "k"}));
    std::atomic<bool> begun{false};
    std::jthread watcher([&] {
      EXPECT_TRUE(client->Watch({.key = "k", .puts = false}, Now() + kLong, {},
                                [&](const EtcdEvent& event) {
                                  begun = true;
                                  begun.notify_all();
                                  return event.kind == EtcdEvent::Kind::kBegun;
                                }));
      woken = Now();
    });
    begun.wait(false);
    const BootTime removed = Now();
    ASSERT_TRUE(client->Run(EtcdOp{.kind = EtcdOp::Kind::kDelete, .key = "k"}));
    watcher.join();
    watches.push_back(took(removed, woken));
  }
  std::sort(locks.begin(), locks.end());
  std::sort(watches.begin(), watches.end());
  EXPECT_LT(locks[kRounds / 2], watches[kRounds / 2] * 12 + milliseconds(5))
      << "a watch takes " << watches[kRounds / 2].count() << " us";
}

}  // namespace
}  // namespace oncemq::testing
