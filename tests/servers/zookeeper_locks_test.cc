// SPDX-License-Identifier: Apache-2.0
// Locks in a ZooKeeper: names, limits, and what lies in the store. What every engine does, the
// conformance suite asks.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "zookeeper_locks_fixture.h"
#include "zookeeper_nodes.h"

namespace oncemq::testing {
namespace {

TEST_F(ZooKeeperLocksTest, NamesOfDifferentSpacesHaveNothingToDoWithEachOther) {
  const auto one = OpenZooKeeperLocks(Server().url(), {.space = "a"});
  const auto two = OpenZooKeeperLocks(Server().url(), {.space = "a/=b"});
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_EQ(AnswerKind(**one, RequestOf(1, "b/c")), Kind::kGranted);
  EXPECT_EQ(AnswerKind(**two, RequestOf(2, "c")), Kind::kGranted);
  EXPECT_EQ((*one)->Names("", 10)->size(), 1u);
}

TEST_F(ZooKeeperLocksTest, AnyBytesAreAName) {
  const Locks locks = OpenLocks();
  std::vector<std::string> names = {"",
                                    ".",
                                    "..",
                                    "/",
                                    "//",
                                    "a//b",
                                    "seal",
                                    "zookeeper",
                                    "=",
                                    "%2f",
                                    std::string("\0", 1),
                                    "\"';--",
                                    "\n",
                                    "\xc3\x28",
                                    std::string(kLongestLockName, '\xff'),
                                    std::string(kLongestLockName, '/')};
  uint64_t who = 0;
  for (const std::string& name : names) {
    EXPECT_EQ(AnswerKind(*locks, RequestOf(++who, name, kLong)), Kind::kGranted) << who;
  }
  for (const std::string& name : names) {
    EXPECT_EQ(Parties(*locks, name), 1u);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(*locks->Names("", 100), std::vector<std::string>(names.begin() + 1, names.end()))
      << "all behind the empty one";
}

TEST_F(ZooKeeperLocksTest, AQuestionForANameThatIsTooLongIsRefusedHere) {
  const Locks locks = OpenLocks();
  const std::string name(size_t{1} << 20, 'n');
  for (const Error& asked : {locks->Read(name).error(), locks->Recall(name).error(),
                             locks->Evict(name, Fence{1, 1}).error()}) {
    EXPECT_EQ(asked.code, Code::kInvalid);
  }
  EXPECT_TRUE(locks->Read("x").has_value()) << "and nobody else is cut off";
}

TEST_F(ZooKeeperLocksTest, ManyNamesThatWereHeldOnceLeaveNothing) {
  const Locks locks = OpenLocks();
  const auto raw = Raw();
  const ZooKeeperCall root{.path = ZooKeeperPaths(Space()).root};
  Fence last;
  for (uint64_t i = 0; i < 200; i++) {
    const std::string name = "order/" + std::to_string(i);
    const auto answer = locks->Request(RequestOf(i, name));
    ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
    EXPECT_GT(answer->fence, last);
    last = answer->fence;
    EXPECT_EQ(*Free(*locks, RequestOf(i, name)), Freed::kYes);
  }
  EXPECT_TRUE(locks->Names("", 10)->empty());
  EXPECT_TRUE(Eventually(kSoon, [&] { return Run(*raw, root).stat.children == 1; }))
      << "the seal stays";
  const auto again = locks->Request(RequestOf(1'000, "order/0"));
  ASSERT_TRUE(again.has_value());
  EXPECT_GT(again->fence, last) << "though its container is a new one";
}

TEST_F(ZooKeeperLocksTest, AFenceIsTheChangeThatMadeItsNodeWhateverComesAndGoesBesideIt) {
  const Locks locks = OpenLocks();
  const auto raw = Raw();
  const std::string strange = ZooKeeperPaths(Space()).Name("x") + "/strange";
  std::jthread beside([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const ZooKeeperCall calls[] = {{.kind = ZooKeeperCall::Kind::kCreate, .path = strange},
                                     {.kind = ZooKeeperCall::Kind::kDelete, .path = strange}};
      EXPECT_TRUE(raw->Run(calls).has_value());
    }
  });
  Fence last;
  for (uint64_t i = 0; i < 200; i++) {
    const auto answer = locks->Request(RequestOf(i));
    ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
    ASSERT_EQ(answer->kind, Kind::kGranted);
    EXPECT_GT(answer->fence, last);
    last = answer->fence;
    const auto view = locks->Read("x");
    ASSERT_TRUE(view.has_value() && view->parties.size() == 1);
    EXPECT_EQ(view->parties[0].fence, answer->fence);
    EXPECT_EQ(*Free(*locks, RequestOf(i)), Freed::kYes);
  }
}

TEST_F(ZooKeeperLocksTest, ALeaseLongerThanTheSessionIsSureToLastIsRefused) {
  const Locks locks = OpenLocks(Server().url(), milliseconds(4'000));
  const auto refused = locks->Request(RequestOf(1, "x", milliseconds(3'001)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(refused.error().effect, Effect::kNone);
  EXPECT_NE(refused.error().message.find("3000 ms"), std::string::npos);
  AcquireRequest request = RequestOf(2, "x", milliseconds(3'000));
  EXPECT_EQ(AnswerKind(*locks, request), Kind::kGranted);
  request.lease = milliseconds(3'001);
  EXPECT_EQ(Extend(*locks, request).error().code, Code::kInvalid);
}

TEST_F(ZooKeeperLocksTest, ASessionThatCannotBeIsRefused) {
  for (const milliseconds session : {milliseconds(0), milliseconds(86'400'001)}) {
    const auto locks = OpenZooKeeperLocks(Server().url(), {.session = session});
    ASSERT_FALSE(locks.has_value());
    EXPECT_EQ(locks.error().code, Code::kInvalid);
  }
  const auto locks = OpenZooKeeperLocks(Server().url(), {.space = std::string(1'025, 's')});
  ASSERT_FALSE(locks.has_value());
  EXPECT_EQ(locks.error().code, Code::kInvalid);
}

TEST_F(ZooKeeperLocksTest, ATwentyfoldQueueWatchesOneEachAndAHandOverWakesOne) {
  constexpr size_t kWaiters = 20;
  std::vector<Locks> engines;
  for (int i = 0; i < 4; i++) {
    engines.push_back(OpenLocks());
  }
  ASSERT_EQ(AnswerKind(*engines[0], RequestOf(1'000, "x", kLong)), Kind::kGranted);
  const long before = Server().Number("zk_watch_count");
  for (size_t i = 0; i < kWaiters; i++) {
    ASSERT_EQ(AnswerKind(*engines[i % 4], RequestOf(i, "x", kLong)), Kind::kQueued);
  }
  EXPECT_EQ(Server().Number("zk_watch_count") - before, static_cast<long>(kWaiters));
  std::atomic<size_t> woken{0};
  std::stop_source stop;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kWaiters; i++) {
    threads.emplace_back([&, i] {
      const BootTime until = SystemClock::Instance().Boot() + kLong;
      EXPECT_TRUE(engines[i % 4]->Await(RequestOf(i), until, stop.get_token()));
      woken += stop.stop_requested() ? 0 : 1;
    });
  }
  ASSERT_EQ(*Free(*engines[0], RequestOf(1'000)), Freed::kYes);
  EXPECT_TRUE(Eventually(kSoon, [&] { return woken > 0; }));
  for (const Locks& locks : engines) {
    EXPECT_EQ(Parties(*locks), kWaiters);  // what they were told came before this answer
  }
  EXPECT_EQ(woken, 1u);
  stop.request_stop();
  threads.clear();
  EXPECT_EQ(AnswerKind(*engines[0], RequestOf(0, "x", kLong)), Kind::kGranted);
}

// Where others take the missing node for a failure, and lose their place or wait for nobody.
TEST_F(ZooKeeperLocksTest, APredecessorThatGoesBetweenTheListAndTheWatchCostsNoTurn) {
  const Locks first = OpenLocks();
  const Locks second = OpenLocks();
  for (uint64_t round = 1; round <= 200; round++) {
    const AcquireRequest ahead = RequestOf(2 * round);
    const AcquireRequest behind = RequestOf(2 * round + 1);
    ASSERT_EQ(AnswerKind(*first, ahead), Kind::kGranted);
    std::jthread frees([&, at = SystemClock::Instance().Boot() + microseconds(10 * round)] {
      while (SystemClock::Instance().Boot() < at) {
      }
      EXPECT_EQ(*Free(*first, ahead), Freed::kYes);
    });
    const BootTime until = SystemClock::Instance().Boot() + milliseconds(15'000);
    Kind kind = AnswerKind(*second, behind);
    while (kind == Kind::kQueued && SystemClock::Instance().Boot() < until) {
      ASSERT_TRUE(second->Await(behind, until, {}));
      kind = AnswerKind(*second, behind);
    }
    ASSERT_EQ(kind, Kind::kGranted);
    ASSERT_LT(SystemClock::Instance().Boot(), until) << "its turn came without a word";
    frees.join();
    ASSERT_EQ(*Free(*second, behind), Freed::kYes);
  }
}

TEST_F(ZooKeeperLocksTest, WhoIsAskedBackIsNotTheNextOne) {
  const Locks locks = OpenLocks();
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1, "x", kLong)), Kind::kGranted);
  ASSERT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kQueued);
  EXPECT_EQ(*locks->Recall("x"), 1u);
  EXPECT_EQ(*Extend(*locks, RequestOf(1)), Extended::kRecalled);
  EXPECT_EQ(*Extend(*locks, RequestOf(1)), Extended::kRecalled) << "and so it stays";
  EXPECT_EQ(*Free(*locks, RequestOf(1)), Freed::kYes);
  EXPECT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kGranted);
  EXPECT_EQ(*Extend(*locks, RequestOf(2)), Extended::kYes);
}

TEST_F(ZooKeeperLocksTest, OfManyExtendedTogetherEachIsAnsweredForItself) {
  const Locks locks = OpenLocks();
  std::vector<std::string> names;
  std::vector<LockClaim> claims;
  for (uint64_t i = 0; i < 250; i++) {
    names.push_back(std::to_string(i));
  }
  for (uint64_t i = 0; i < names.size(); i++) {
    const auto answer = locks->Request(RequestOf(i, names[i], kLong));
    ASSERT_TRUE(answer.has_value() && answer->kind == Kind::kGranted);
    claims.push_back({names[i], {0xC0DE, i}, kLong});
    if (i == 3 || i == 220) {
      EXPECT_EQ(*locks->Evict(names[i], answer->fence), Freed::kYes);
    }
  }
  ASSERT_EQ(*locks->Recall("7"), 1u);
  std::vector<Extended> answers(claims.size());
  const Status done = locks->Extend(claims, answers);
  ASSERT_TRUE(done.has_value()) << ToString(done.error());
  for (size_t i = 0; i < answers.size(); i++) {
    const bool gone = i == 3 || i == 220;
    EXPECT_EQ(answers[i], gone     ? Extended::kGone
                          : i == 7 ? Extended::kRecalled
                                   : Extended::kYes)
        << i;
  }
}

TEST_F(ZooKeeperLocksTest, AWaiterWhoseTurnComesAfterASealOfOthersIsRefused) {
  const Locks one = OpenLocks();
  const Locks two = OpenLocks();
  const Locks three = OpenLocks();
  ASSERT_EQ(AnswerKind(*one, RequestOf(1, "x", kLong)), Kind::kGranted);
  ASSERT_EQ(AnswerKind(*two, RequestOf(2, "x", kLong)), Kind::kQueued);
  ASSERT_EQ(*three->Seal(1), 1u);
  ASSERT_EQ(*Free(*one, RequestOf(1)), Freed::kYes);
  EXPECT_TRUE(two->Await(RequestOf(2), SystemClock::Instance().Boot() + kLong, {}));
  EXPECT_EQ(AnswerKind(*two, RequestOf(2, "x", kLong)), Kind::kSealed);
  AcquireRequest later = RequestOf(2, "x", kLong);
  later.epoch = 1;
  const auto answer = two->Request(later);
  ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
  EXPECT_EQ(answer->kind, Kind::kGranted);
  EXPECT_EQ(answer->fence.epoch, 1u) << "its place was of another epoch: it took a new one";
}

TEST_F(ZooKeeperLocksTest, WhatIsNotOursIsNoPlaceInTheLine) {
  const Locks locks = OpenLocks();
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1, "x", kLong)), Kind::kGranted);
  const auto raw = Raw();
  const std::string path = ZooKeeperPaths(Space()).Name("x");
  Run(*raw, {.kind = ZooKeeperCall::Kind::kCreate, .path = path + "/junk"});
  EXPECT_EQ(*Free(*locks, RequestOf(1)), Freed::kYes);
  EXPECT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kGranted);
  EXPECT_EQ(Parties(*locks), 1u);
}

TEST_F(ZooKeeperLocksTest, AWaiterWhoseNodeAnOperatorDeletedTakesANewPlace) {
  const Locks locks = OpenLocks();
  const auto raw = Raw();
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1, "x", kLong)), Kind::kGranted);
  ASSERT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kQueued);
  const std::string path = ZooKeeperPaths(Space()).Name("x");
  for (const std::string& child :
       Run(*raw, {.kind = ZooKeeperCall::Kind::kChildren, .path = path}).children) {
    Run(*raw, {.kind = ZooKeeperCall::Kind::kDelete, .path = path + "/" + child});
  }
  EXPECT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kGranted);
  EXPECT_EQ(*Extend(*locks, RequestOf(1)), Extended::kGone);
  EXPECT_EQ(*Free(*locks, RequestOf(1)), Freed::kNotHeld);
  EXPECT_EQ(*Extend(*locks, RequestOf(2)), Extended::kYes);
}

// The number of the 2^31st child is the last one; behind it the server repeats numbers, or gives
// negative ones.
TEST_F(ZooKeeperLocksTest, WhereTheNumbersHaveRunOutTheOrderIsThatOfTheirMaking) {
  const Locks locks = OpenLocks();
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1, "x", kLong)), Kind::kGranted);
  const auto raw = Raw();
  const std::string path = ZooKeeperPaths(Space()).Name("x");
  const std::string other = path + "/" + ChildPrefix(LockMode::kExclusive, 7, 7);
  for (const char* number : {"2147483647", "-2147483648"}) {
    Run(*raw, {.kind = ZooKeeperCall::Kind::kCreate,
               .path = other + number,
               .data = ToText({0, kLong, kLong, ""}),
               .mode = ZooKeeperCall::Mode::kEphemeral});
  }
  ASSERT_EQ(*Extend(*locks, RequestOf(1)), Extended::kYes);
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1, "x", kLong)), Kind::kGranted);
  ASSERT_EQ(*Free(*locks, RequestOf(1)), Freed::kYes);
  EXPECT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kQueued) << "two are ahead of it";
  Run(*raw, {.kind = ZooKeeperCall::Kind::kDelete, .path = other + "-2147483648"});
  EXPECT_EQ(AnswerKind(*locks, RequestOf(2, "x", kLong)), Kind::kQueued);
  Run(*raw, {.kind = ZooKeeperCall::Kind::kDelete, .path = other + "2147483647"});
  EXPECT_TRUE(Granted(*locks, RequestOf(2, "x", kLong)));
}

TEST_F(ZooKeeperLocksTest, WaitersAreLimited) {
  const auto locks =
      OpenZooKeeperLocks(Server().url(), {.space = Space(), .session = kLong, .max_waiters = 1});
  ASSERT_TRUE(locks.has_value());
  ASSERT_EQ(AnswerKind(**locks, RequestOf(1)), Kind::kGranted);
  ASSERT_EQ(AnswerKind(**locks, RequestOf(2)), Kind::kQueued);
  const auto third = (*locks)->Request(RequestOf(3));
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Code::kFull);
  EXPECT_EQ(Parties(**locks), 2u);
}

TEST_F(ZooKeeperLocksTest, AChrootThatIsNotThereIsRefusedAndOneThatIsThereIsUsed) {
  const auto missing = OpenZooKeeperLocks(Server().url() + "/nowhere");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Code::kInvalid);
  const auto raw = Raw();
  Run(*raw, {.kind = ZooKeeperCall::Kind::kCreate, .path = "/tenant"});
  const auto there = OpenZooKeeperLocks(Server().url() + "/tenant");
  ASSERT_TRUE(there.has_value()) << ToString(there.error());
  EXPECT_EQ(AnswerKind(**there, RequestOf(1)), Kind::kGranted);
  EXPECT_EQ(Run(*raw, {.path = "/tenant/oncemq/locks"}).kind, ZooKeeperReply::Kind::kDone);
}

TEST_F(ZooKeeperLocksTest, WhatAUserHoldsIsNotForOthers) {
  const auto raw = Raw();
  Run(*raw, {.kind = ZooKeeperCall::Kind::kCreate, .path = "/users"});
  const std::string at = Server().url().substr(std::string("zookeeper://").size()) + "/users";
  const auto owner = OpenZooKeeperLocks("zookeeper://app:secret@" + at);
  ASSERT_TRUE(owner.has_value()) << ToString(owner.error());
  EXPECT_EQ(AnswerKind(**owner, RequestOf(1)), Kind::kGranted);
  EXPECT_EQ(*Extend(**owner, RequestOf(1)), Extended::kYes);
  EXPECT_EQ(*Free(**owner, RequestOf(1)), Freed::kYes);
  for (const std::string& who : {std::string(), std::string("app:hidden@")}) {
    const auto other = OpenZooKeeperLocks("zookeeper://" + who + at);
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().code, Code::kInvalid);
    EXPECT_EQ(ToString(other.error()).find("hidden"), std::string::npos);
  }
}

}  // namespace
}  // namespace oncemq::testing
