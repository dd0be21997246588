// SPDX-License-Identifier: Apache-2.0
// What a durable engine still knows when it is opened again.
#include "oncemq/dedup/store_stat.h"
#include "window_test.h"

namespace oncemq::conformance {

WINDOW_TEST(IfDurable, WhatWasDoneIsDoneAfterTheStoreIsOpenedAgain) {
  const Attempt first = New();
  Claim(first);
  Complete(first, "kept");
  ASSERT_NO_FATAL_FAILURE(Reopen());
  const ClaimAnswer copy = Claim(New());
  EXPECT_EQ(copy.answer, ClaimVerdict::kDuplicate);
  EXPECT_TRUE(copy.same_delivery);
  EXPECT_EQ(copy.result, subject().can().keeps_results ? "kept" : "");
  // Where claims end with their process nobody is left to ask again.
  EXPECT_EQ(Complete(first),
            subject().can().keeps_claims ? MarkerChange::kMade : MarkerChange::kFenced);
}

WINDOW_TEST(IfDurable, WhatWasParkedIsParkedAfterTheStoreIsOpenedAgain) {
  const Attempt first = New();
  Claim(first);
  Park(first, 9);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  const ClaimAnswer copy = Claim(New());
  EXPECT_EQ(copy.answer, ClaimVerdict::kAttached);
  EXPECT_EQ(copy.entry, 9u);
}

WINDOW_TEST(IfDurable, OwnershipsRiseAcrossOpeningsOfTheStore) {
  const OwnerEpoch before = Raise(3);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  EXPECT_GT(Raise(3), before);
  Attempt zombie = New();
  zombie.owner_epoch = before;
  EXPECT_EQ(Claim(zombie).answer, ClaimVerdict::kFenced);
}

WINDOW_TEST(IfStoresClaimsAndDurable, ADoubtSurvivesTheOpening) {
  const Attempt first = New();
  Claim(first);
  ReleaseAsUncertain(first);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  const ClaimAnswer next = Claim(New());
  EXPECT_EQ(next.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(next.uncertain);
}

// Engines without stores on disk tell nothing, those that do tell what is there.
WINDOW_TEST(IfStoresClaims, ANumberThatIsAskedForIsRightAndChangesNothing) {
  const Attempt done = New("done");
  const Attempt open = New("open");
  Claim(done);
  Claim(open);
  Complete(done);
  const auto stats = window().Stat();
  ASSERT_TRUE(stats) << stats.error().message;
  uint64_t finished = 0;
  uint64_t unfinished = 0;
  for (const StoreStat& stat : *stats) {
    EXPECT_EQ(stat.error, "");
    EXPECT_EQ(stat.level, subject().level);
    finished += stat.recent + stat.history;
    unfinished += stat.open;
  }
  EXPECT_EQ(finished, stats->empty() ? 0u : 1u);
  EXPECT_EQ(unfinished, stats->empty() ? 0u : 1u);
  EXPECT_EQ(Peek("open").token, open.token);
  EXPECT_EQ(Complete(open), MarkerChange::kMade);
  EXPECT_EQ(StateOf("done"), MarkerState::kDone);
}

}  // namespace oncemq::conformance
