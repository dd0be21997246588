// SPDX-License-Identifier: Apache-2.0
// Ends by a clock that is set back. The other rules of an entry are tried by the tests of tables.
#include "lock_entry.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr BootTime kNow{microseconds(1'700'000'000'000'000)};
constexpr BootTime kSetBack = kNow - std::chrono::hours(1);
constexpr milliseconds kEntryLease{1'000};
constexpr milliseconds kEntryQueueLease{300};

AcquireRequest RequestFor(uint64_t attempt) {
  return {
      .name = "x", .token = {1, attempt}, .lease = kEntryLease, .queue_lease = kEntryQueueLease};
}

// One that holds, and one that waits for it.
LockEntry Wanted() {
  LockEntry entry;
  LockEntry::Turns turns;
  entry.Request(RequestFor(1), {0, 1}, kNow, turns);
  entry.Request(RequestFor(2), {}, kNow, turns);
  return entry;
}

milliseconds LeftOf(const LockEntry& entry, size_t party, BootTime now) {
  return entry.Parties(now).at(party).left;
}

TEST(LockEntry, AnEndFurtherAwayThanItsLeaseIsCutToIt) {
  LockEntry entry = Wanted();
  EXPECT_GT(LeftOf(entry, 0, kSetBack), std::chrono::hours(1));
  entry.CutEnds(kSetBack);
  EXPECT_EQ(LeftOf(entry, 0, kSetBack), kEntryLease);
  EXPECT_EQ(LeftOf(entry, 1, kSetBack), kEntryQueueLease);
  entry.CutEnds(kSetBack + milliseconds(100));
  EXPECT_EQ(LeftOf(entry, 0, kSetBack + milliseconds(100)), kEntryLease - milliseconds(100))
      << "once";
}

TEST(LockEntry, WhatIsNoFurtherAwayIsNotCut) {
  LockEntry entry = Wanted();
  entry.CutEnds(kNow);
  entry.CutEnds(kNow + milliseconds(100));
  EXPECT_EQ(LeftOf(entry, 0, kNow), kEntryLease);
  EXPECT_EQ(LeftOf(entry, 1, kNow), kEntryQueueLease);
}

// A holder that lives renews by another lease than it was granted for.
TEST(LockEntry, TheLeaseIsTheLastOneThatWasSaid) {
  LockEntry entry = Wanted();
  LockEntry::Turns turns;
  entry.Extend({"x", {1, 1}, 5 * kEntryLease}, kNow, turns);
  AcquireRequest again = RequestFor(2);
  again.queue_lease = 2 * kEntryQueueLease;
  entry.Request(again, {}, kNow, turns);
  entry.CutEnds(kSetBack);
  EXPECT_EQ(LeftOf(entry, 0, kSetBack), 5 * kEntryLease);
  EXPECT_EQ(LeftOf(entry, 1, kSetBack), 2 * kEntryQueueLease);
}

}  // namespace
}  // namespace oncemq
