// SPDX-License-Identifier: Apache-2.0
// Giving back, taking away, and looking.
#include <string>
#include <vector>

#include "lock_test.h"

namespace oncemq::conformance {
namespace {

LOCK_TEST(Always, OnlyTheTokenOfTheGrantFrees) {
  const Requester holder = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  EXPECT_EQ(Free(New()), Freed::kNotHeld);
  EXPECT_EQ(Extend(holder), Extended::kYes);
}

LOCK_TEST(Always, WhatWasNeverHeldIsNotHeld) {
  EXPECT_EQ(Free(New()), Freed::kNotHeld);
  EXPECT_EQ(Extend(New()), Extended::kGone);
}

LOCK_TEST(Always, AReleaseRepeatedAfterALostReplyDoesNotTouchTheNextHolder) {
  const Requester holder = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Free(holder), Freed::kYes);
  const Requester next = New();
  ASSERT_EQ(Request(next).kind, Kind::kGranted);
  EXPECT_EQ(Free(holder), Freed::kNotHeld);
  EXPECT_EQ(Extend(next), Extended::kYes);
}

LOCK_TEST(Always, ABatchIsAnsweredOneByOne) {
  const Requester held = New("a");
  const Requester never = New("b");
  const Requester gone = New("c");
  const Requester too = New("d");
  for (const Requester& requester : {held, gone, too}) {
    ASSERT_EQ(Request(requester).kind, Kind::kGranted);
  }
  ASSERT_EQ(Free(gone), Freed::kYes);
  std::vector<LockClaim> claims;
  for (const Requester& requester : {held, never, gone, too}) {
    claims.push_back({requester.name, requester.token, kLasting});
  }
  std::vector<Extended> extended(claims.size());
  ASSERT_TRUE(engine().Extend(claims, extended));
  EXPECT_EQ(extended,
            (std::vector{Extended::kYes, Extended::kGone, Extended::kGone, Extended::kYes}));
  std::vector<Freed> freed(claims.size());
  ASSERT_TRUE(engine().Free(claims, freed));
  EXPECT_EQ(freed, (std::vector{Freed::kYes, Freed::kNotHeld, Freed::kNotHeld, Freed::kYes}));
}

LOCK_TEST(IfFenced, AHoldIsEvictedByItsFence) {
  const Requester holder = New();
  const LockAnswer granted = Request(holder);
  const Requester waiter = New();
  static_cast<void>(Request(waiter));
  const Result<Freed> evicted = engine().Evict("x", granted.fence);
  ASSERT_TRUE(evicted.has_value()) << ToString(evicted.error());
  EXPECT_EQ(*evicted, Freed::kYes);
  EXPECT_EQ(Extend(holder), Extended::kGone);
  const LockAnswer next = Request(waiter);
  EXPECT_EQ(next.kind, Kind::kGranted);
  EXPECT_GT(next.fence, granted.fence);
}

LOCK_TEST(IfFenced, AnEvictionThatComesLateDoesNotHitTheNextHolder) {
  const Requester holder = New();
  const LockAnswer granted = Request(holder);
  ASSERT_EQ(Free(holder), Freed::kYes);
  const Requester next = New();
  ASSERT_EQ(Request(next).kind, Kind::kGranted);
  const Result<Freed> evicted = engine().Evict("x", granted.fence);
  ASSERT_TRUE(evicted.has_value()) << ToString(evicted.error());
  EXPECT_EQ(*evicted, Freed::kNotHeld);
  EXPECT_EQ(Extend(next), Extended::kYes);
}

LOCK_TEST(Always, AHolderLearnsThatItIsAskedBack) {
  const Requester holder = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  const Result<size_t> recalled = engine().Recall("x");
  ASSERT_TRUE(recalled.has_value()) << ToString(recalled.error());
  EXPECT_EQ(*recalled, 1u);
  EXPECT_EQ(Extend(holder), Extended::kRecalled);
  ASSERT_EQ(Free(holder), Freed::kYes);
  const Requester next = New();
  ASSERT_EQ(Request(next).kind, Kind::kGranted);
  EXPECT_EQ(Extend(next), Extended::kYes) << "the next holder was not meant";
}

LOCK_TEST(Always, NobodyIsAskedBackWhereNobodyHolds) {
  const Result<size_t> recalled = engine().Recall("x");
  ASSERT_TRUE(recalled.has_value()) << ToString(recalled.error());
  EXPECT_EQ(*recalled, 0u);
}

LOCK_TEST(IfFair, ALookShowsHoldersAndThoseWhoWait) {
  const Requester holder = New();
  const LockAnswer granted = Request(holder);
  ASSERT_EQ(Request(New()).kind, Kind::kQueued);
  const LockView view = Read();
  ASSERT_EQ(view.parties.size(), 2u);
  EXPECT_EQ(view.name, "x");
  EXPECT_TRUE(view.parties[0].holds);
  EXPECT_EQ(view.parties[0].fence, granted.fence);
  EXPECT_EQ(view.parties[0].who, "a test");
  EXPECT_GT(view.parties[0].left, milliseconds(0));
  EXPECT_LE(view.parties[0].left, kLasting);
  EXPECT_FALSE(view.parties[1].holds);
  EXPECT_EQ(view.parties[1].who, "a test");
}

LOCK_TEST(IfLists, NamesAreListedInTheirOrderPageByPage) {
  const std::vector<std::string> names = {std::string("a\0b", 3), "a:b", "b", "c"};
  for (const std::string& name : names) {
    ASSERT_EQ(Request(New(name)).kind, Kind::kGranted);
  }
  std::vector<std::string> seen;
  for (;;) {
    const auto page = engine().Names(seen.empty() ? std::string() : seen.back(), 2);
    ASSERT_TRUE(page.has_value()) << ToString(page.error());
    if (page->empty()) {
      break;
    }
    EXPECT_LE(page->size(), 2u);
    seen.insert(seen.end(), page->begin(), page->end());
  }
  EXPECT_EQ(seen, names);
}

}  // namespace
}  // namespace oncemq::conformance
