// SPDX-License-Identifier: Apache-2.0
// Who is granted a name.
#include <string>

#include "lock_test.h"

namespace oncemq::conformance {
namespace {

LOCK_TEST(Always, TheEngineIsWhatItSaysItIs) {
  const LockCapabilities& said = engine().capabilities();
  EXPECT_EQ(said.engine, can().engine);
  EXPECT_EQ(said.processes, can().processes);
  EXPECT_EQ(said.fair, can().fair);
  EXPECT_EQ(said.unfair, can().unfair);
  EXPECT_EQ(said.shared, can().shared);
  EXPECT_EQ(said.counted, can().counted);
  EXPECT_EQ(said.wakes, can().wakes);
  EXPECT_EQ(said.fence, can().fence);
  EXPECT_EQ(said.survives_failover, can().survives_failover);
  EXPECT_EQ(said.long_holds, can().long_holds);
  EXPECT_EQ(said.seals, can().seals);
  EXPECT_EQ(said.lists, can().lists);
  EXPECT_EQ(said.epochs, can().epochs);
  EXPECT_EQ(said.longest_lease.count(), can().longest_lease.count());
}

LOCK_TEST(Always, AFreeNameIsGranted) {
  EXPECT_EQ(Request(New()).kind, Kind::kGranted);
}

LOCK_TEST(Always, AHeldNameIsBusyForWhoeverDoesNotQueue) {
  const Requester holder = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  Requester other = New();
  other.queue = false;
  EXPECT_EQ(Request(other).kind, Kind::kBusy);
  EXPECT_EQ(Read().parties.size(), 1u) << "the busy one left something behind";
  EXPECT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Request(New()).kind, Kind::kGranted);
}

LOCK_TEST(Always, NamesDoNotDisturbEachOther) {
  EXPECT_EQ(Request(New("a")).kind, Kind::kGranted);
  EXPECT_EQ(Request(New("b")).kind, Kind::kGranted);
}

LOCK_TEST(Always, ANameIsItsBytesAndNothingElse) {
  const std::string longest(kLongestLockName, 'n');
  const std::string names[] = {"x",
                               "x ",
                               "X",
                               std::string("x\0", 2),
                               std::string("\0x", 2),
                               "{x}",
                               "x:fence",
                               "x*",
                               "x\r\nFLUSHALL\r\n",
                               "'; DROP TABLE x; --",
                               "/x",
                               "../x",
                               "%s",
                               "\xff\xfe",
                               longest};
  for (const std::string& name : names) {
    EXPECT_EQ(Request(New(name)).kind, Kind::kGranted) << name;
  }
  for (const std::string& name : names) {
    Requester other = New(name);
    other.queue = false;
    EXPECT_EQ(Request(other).kind, Kind::kBusy) << name;
    EXPECT_EQ(Read(name).parties.size(), 1u) << name;
  }
}

LOCK_TEST(Always, AnAskRepeatedAfterALostReplyRecognisesItself) {
  const Requester holder = New();
  const LockAnswer first = Request(holder);
  const LockAnswer again = Request(holder);
  EXPECT_EQ(again.kind, Kind::kGranted);
  EXPECT_EQ(again.fence, first.fence);
  EXPECT_EQ(Read().parties.size(), 1u);
  EXPECT_EQ(Free(holder), Freed::kYes) << "two grants would need two";
  EXPECT_TRUE(Read().parties.empty());
}

LOCK_TEST(IfFenced, EveryGrantHasAGreaterFenceThanAllBefore) {
  Fence last;
  for (int i = 0; i < 20; i++) {
    const Requester holder = New();
    const LockAnswer answer = Request(holder);
    ASSERT_EQ(answer.kind, Kind::kGranted);
    EXPECT_GT(answer.fence, last);
    last = answer.fence;
    EXPECT_EQ(Free(holder), Freed::kYes);
  }
}

LOCK_TEST(IfFair, WaitersAreServedInTheirOrder) {
  const Requester holder = New();
  const Requester first = New();
  const Requester second = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(first).kind, Kind::kQueued);
  ASSERT_EQ(Request(second).kind, Kind::kQueued);
  EXPECT_EQ(Request(first).kind, Kind::kQueued) << "asked again, it keeps its place";
  ASSERT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Request(second).kind, Kind::kQueued) << "it is not its turn";
  EXPECT_EQ(Request(first).kind, Kind::kGranted);
  ASSERT_EQ(Free(first), Freed::kYes);
  EXPECT_EQ(Request(second).kind, Kind::kGranted);
}

LOCK_TEST(IfFair, ANewcomerDoesNotPassThoseWhoWait) {
  const Requester holder = New();
  const Requester waiter = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
  ASSERT_EQ(Free(holder), Freed::kYes);
  Requester newcomer = New();
  newcomer.queue = false;
  EXPECT_EQ(Request(newcomer).kind, Kind::kBusy);
  EXPECT_EQ(Request(waiter).kind, Kind::kGranted);
}

LOCK_TEST(IfUnfair, ABargingNewcomerPassesThoseWhoWait) {
  const Requester holder = New();
  const Requester waiter = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
  Requester newcomer = New();
  newcomer.barge = true;
  newcomer.queue = false;
  EXPECT_EQ(Request(newcomer).kind, Kind::kBusy) << "nobody passes a holder";
  ASSERT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Request(newcomer).kind, Kind::kGranted);
  ASSERT_EQ(Free(newcomer), Freed::kYes);
  EXPECT_EQ(Request(waiter).kind, Kind::kGranted) << "it kept its place";
}

LOCK_TEST(IfFair, AWaiterThatGivesUpLetsTheNextOneGo) {
  const Requester holder = New();
  const Requester waiter = New();
  const Requester next = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
  ASSERT_EQ(Request(next).kind, Kind::kQueued);
  EXPECT_EQ(Free(waiter), Freed::kNotHeld);
  ASSERT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Request(next).kind, Kind::kGranted);
}

}  // namespace
}  // namespace oncemq::conformance
