// SPDX-License-Identifier: Apache-2.0
// Attempts of a handler that have failed, as the marker counts them.
#include "window_test.h"

namespace oncemq::conformance {

WINDOW_TEST(IfStoresClaims, AFailedAttemptIsClaimedAtOnceAndCounted) {
  for (uint32_t attempt = 1; attempt < 4; attempt++) {
    const Attempt next = New();
    const ClaimAnswer answer = Claim(next);
    EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
    EXPECT_EQ(answer.attempt, attempt);
    EXPECT_FALSE(answer.uncertain);
    EXPECT_EQ(ReleaseAsFailed(next), MarkerChange::kMade);
    EXPECT_EQ(ReleaseAsFailed(next), MarkerChange::kMade) << "after a lost reply";
  }
  const MarkerView view = Peek();
  EXPECT_EQ(view.state, MarkerState::kOpen);
  EXPECT_FALSE(view.uncertain);
  EXPECT_TRUE(view.token.empty());
}

WINDOW_TEST(IfStoresClaims, APlainReleaseTakesItsAttemptBack) {
  const Attempt fresh = New();
  Claim(fresh);
  EXPECT_EQ(Release(fresh), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
  const Attempt failed = New();
  EXPECT_EQ(Claim(failed).attempt, 1u);
  ReleaseAsFailed(failed);
  const Attempt withdrawn = New();
  EXPECT_EQ(Claim(withdrawn).attempt, 2u);
  EXPECT_EQ(Release(withdrawn), MarkerChange::kMade);
  EXPECT_EQ(Release(withdrawn), MarkerChange::kMade) << "after a lost reply";
  EXPECT_EQ(Claim(New()).attempt, 2u);
}

WINDOW_TEST(AtGuarded, TheAttemptOfADeadOwnerCounts) {
  Attempt dead = New();
  dead.owner_epoch = Raise(3);
  Claim(dead);
  Attempt heir = New();
  heir.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(heir).attempt, 2u);
  EXPECT_EQ(Release(heir), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).attempt, 2u);
}

WINDOW_TEST(IfStoresClaims, AFailedAttemptHoldsNothing) {
  Attempt failed = New();
  failed.fingerprint = 1;
  Claim(failed);
  ReleaseAsFailed(failed);
  EXPECT_EQ(Renew(failed), MarkerChange::kFenced);
  EXPECT_EQ(Park(failed, 1), MarkerChange::kFenced);
  Attempt other = New();
  other.fingerprint = 2;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kGranted) << "nothing has happened yet";
}

WINDOW_TEST(IfStoresClaims, AnIdThatHasFailedIsRestored) {
  const Attempt failed = New();
  Claim(failed);
  ReleaseAsFailed(failed);
  EXPECT_EQ(Restore(failed.id, failed.at, 0), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

WINDOW_TEST(IfTimed, AnIdWithoutAPartitionLeavesNoCount) {
  Attempt failed = New();
  failed.at = {};
  Claim(failed);
  EXPECT_EQ(ReleaseAsFailed(failed), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST(IfStoresClaimsAndDurable, FailedAttemptsAreCountedOnAfterTheStoreIsOpenedAgain) {
  const Attempt first = New();
  Claim(first);
  ReleaseAsFailed(first);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  const Attempt second = New();
  const ClaimAnswer again = Claim(second);
  EXPECT_EQ(again.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_FALSE(again.uncertain);
  ReleaseAsFailed(second);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  const Attempt third = New();
  EXPECT_EQ(Claim(third).attempt, 3u);
  EXPECT_EQ(Complete(third), MarkerChange::kMade);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
}

}  // namespace oncemq::conformance
