// SPDX-License-Identifier: Apache-2.0
// Ownership of partitions: who may claim, and who may take over without waiting. (Transitions 1, 3
// and 9, rules 8, 9, 13, 15 and 29.)
#include "window_test.h"

namespace oncemq::conformance {

constexpr Coordinates kHere{0, 3, 5};

WINDOW_TEST(Always, EveryOwnershipIsAboveAllEarlierOnes) {
  OwnerEpoch last = 0;
  for (int i = 0; i < 100; i++) {
    const OwnerEpoch owner_epoch = Raise(3);
    EXPECT_GT(owner_epoch, last);
    last = owner_epoch;
  }
}

// The last owner's store may be lost, and its clock may have been ahead of ours.
WINDOW_TEST(Always, AnOwnershipIsAtLeastTheFloorAndStaysAboveIt) {
  const OwnerEpoch far = Raise(3) + 1'000'000'000'000'000;
  const Result<OwnerEpoch> raised = window().RaiseOwnerEpoch(0, 3, far);
  ASSERT_TRUE(raised.has_value());
  EXPECT_EQ(*raised, far);
  EXPECT_EQ(Raise(3), far + 1);
  EXPECT_LT(Raise(4), far) << "other partitions have their own";
}

WINDOW_TEST(Always, OwnershipsOfPartitionsAndSourcesAreIndependent) {
  Attempt owned = New();
  owned.owner_epoch = Raise(3, 0);
  Raise(4, 0);
  Raise(3, 1);
  EXPECT_EQ(Claim(owned).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST(Always, NobodyOwnsWhatIsNoPartition) {
  const Result<OwnerEpoch> owner_epoch = window().RaiseOwnerEpoch(0, kNoPartition, 0);
  ASSERT_FALSE(owner_epoch.has_value());
  EXPECT_EQ(owner_epoch.error().code, Code::kInvalid);
  EXPECT_EQ(owner_epoch.error().effect, Effect::kNone);
}

WINDOW_TEST(Always, AClaimUnderAnEarlierOwnershipIsFenced) {
  Attempt zombie = New();
  zombie.owner_epoch = Raise(3);
  Raise(3);
  EXPECT_EQ(Claim(zombie).answer, ClaimVerdict::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST(Always, AClaimUnderAnOwnershipNobodyIssuedIsFenced) {
  Attempt claim = New();
  claim.owner_epoch = 1;
  EXPECT_EQ(Claim(claim).answer, ClaimVerdict::kFenced);
  claim.owner_epoch = Raise(3) + 1;
  EXPECT_EQ(Claim(claim).answer, ClaimVerdict::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST(Always, FencedComesBeforeEveryOtherAnswer) {
  const Attempt done = New();
  Claim(done);
  Complete(done);
  Attempt zombie = New();
  zombie.owner_epoch = Raise(3);
  Raise(3);
  EXPECT_EQ(Claim(zombie).answer, ClaimVerdict::kFenced);
}

WINDOW_TEST(Always, WhoOwnsNothingMayClaimBesideAnOwner) {
  Raise(3);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST(AtGuarded, TheNewOwnerTakesItsPartitionsDeliveryOverAtOnce) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  Attempt next = New();
  next.owner_epoch = Raise(3);
  const ClaimAnswer answer = Claim(next);
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answer.attempt, 2u);
  EXPECT_FALSE(answer.uncertain);
  EXPECT_EQ(Complete(old), MarkerChange::kFenced);
  EXPECT_EQ(Complete(next), MarkerChange::kMade);
}

WINDOW_TEST(AtOpaque, TheNewOwnerWaitsWhileTheOldOnesHandlerMayStillAct) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  Attempt next = New();
  next.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Peek().token, old.token);
}

WINDOW_TEST(WithLeasesAtOpaque, TheNewOwnerWaitsForTheHandlerTimeoutAndIsToldOfTheDoubt) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  Attempt next = New();
  next.owner_epoch = Raise(3);
  const ClaimAnswer early = Claim(next);
  EXPECT_GT(early.wait, kTimes.lease);
  EXPECT_LE(early.wait, kTimes.handler_timeout);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kInFlight);
  Advance(kTimes.handler_timeout - kTimes.lease);
  const ClaimAnswer late = Claim(next);
  EXPECT_EQ(late.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(late.uncertain);
  EXPECT_EQ(late.attempt, 2u);
}

WINDOW_TEST(WithLeasesAtOpaque, TheHandlerTimeoutRunsFromTheMomentTheOwnershipWasRaised) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Attempt next = New();
  Claim(old);
  Advance(kTimes.lease - kALittle);
  Renew(old);
  Advance(kTimes.lease - kALittle);
  next.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kInFlight);
  Advance(kTimes.handler_timeout - kALittle);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kInFlight);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST((All<WithLeasesAtOpaque, IfIdsCross>),
            OthersWaitTooForTheHandlerOfAnOwnerThatCanRenewNoMore) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  Raise(3);
  Attempt copy = New();
  copy.at.partition = 4;
  copy.owner_epoch = Raise(4);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kInFlight) << "its silence proves nothing";
  Advance(kTimes.handler_timeout - kTimes.lease);
  const ClaimAnswer late = Claim(copy);
  EXPECT_EQ(late.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(late.uncertain);
}

WINDOW_TEST(IfStoresClaims, TheNewOwnerNeedNotWaitForAClaimThatNobodyHolds) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  ReleaseAsUncertain(old);
  Attempt next = New();
  next.owner_epoch = Raise(3);
  const ClaimAnswer answer = Claim(next);
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(answer.uncertain);
}

WINDOW_TEST(IfStoresClaims, TheSameCoordinatesWithoutOwnershipProveNothing) {
  Attempt live = New();
  live.owner_epoch = Raise(3);
  Claim(live);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
  Raise(3);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Peek().token, live.token);
}

WINDOW_TEST(IfStoresClaims, TheSameOwnerDoesNotTakeOverFromItself) {
  Attempt first = New();
  first.owner_epoch = Raise(3);
  Claim(first);
  Attempt second = New();
  second.owner_epoch = first.owner_epoch;
  EXPECT_EQ(Claim(second).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(IfStoresClaims, AnOwnerDoesNotTakeOverFromAReplayThatMayBeAlive) {
  const Attempt replay = New();
  Claim(replay);
  Attempt owner = New();
  owner.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(owner).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Complete(replay), MarkerChange::kMade);
}

WINDOW_TEST((All<IfStoresClaims, IfIdsCross>), OwnershipOfAnotherDeliveryProvesNothing) {
  Attempt live = New();
  live.owner_epoch = Raise(3);
  Claim(live);
  for (const Coordinates at : {Coordinates{0, 3, 6}, Coordinates{0, 4, 5}, Coordinates{1, 3, 5}}) {
    Attempt copy = New();
    copy.at = at;
    copy.owner_epoch = Raise(at.partition, at.source);
    EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kInFlight);
  }
  EXPECT_EQ(Peek().token, live.token);
}

WINDOW_TEST(Always, ALateTruthIsKeptAfterTheOwnershipIsOver) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  Raise(3);
  EXPECT_EQ(Complete(old), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST(Always, AClaimUnderAnEarlierOwnershipIsReleased) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  Raise(3);
  EXPECT_EQ(Release(old), MarkerChange::kMade);
}

WINDOW_TEST(IfStoresClaims, AClaimIsNotRenewedOnceItsOwnershipIsOver) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  EXPECT_EQ(Renew(old), MarkerChange::kMade);
  Raise(3);
  EXPECT_EQ(Renew(old), MarkerChange::kFenced);
}

WINDOW_TEST(Always, AClaimWithoutOwnershipIsRenewedWhoeverOwnsThePartition) {
  const Attempt replay = New();
  Claim(replay);
  Raise(3);
  EXPECT_EQ(Renew(replay), MarkerChange::kMade);
}

WINDOW_TEST(IfStoresClaims, AClaimRepeatedUnderANewerOwnershipCarriesIt) {
  Attempt attempt = New();
  attempt.owner_epoch = Raise(3);
  Claim(attempt);
  attempt.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(attempt).attempt, 1u);
  EXPECT_EQ(Renew(attempt), MarkerChange::kMade);
  Attempt copy = New();
  copy.owner_epoch = attempt.owner_epoch;
  EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(Always, ARestoreUnderAnEarlierOwnershipIsFenced) {
  const OwnerEpoch old = Raise(3);
  Raise(3);
  EXPECT_EQ(Restore("x", kHere, old), MarkerChange::kFenced);
  EXPECT_EQ(Restore("x", kHere, 1), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST(Always, WhatTheCommitCallsFinishedIsRestoredOverALowerOwnership) {
  Attempt old = New();
  old.owner_epoch = Raise(3);
  Claim(old);
  EXPECT_EQ(Restore("x", old.at, Raise(3)), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
  EXPECT_EQ(Complete(old), MarkerChange::kFenced);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST((All<WithLeases, IfIdsCross>),
            AFinishedIdIsRestoredOverAClaimElsewhereOnceItsLeaseHasEnded) {
  Attempt elsewhere = New();
  elsewhere.at = {0, 4, 9};
  elsewhere.owner_epoch = Raise(4);
  Claim(elsewhere);
  const OwnerEpoch owner_epoch = Raise(3);
  EXPECT_EQ(Restore("x", kHere, owner_epoch), MarkerChange::kInFlight);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Restore("x", kHere, owner_epoch), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
  EXPECT_EQ(Complete(elsewhere), MarkerChange::kFenced);
}

WINDOW_TEST((All<AtOpaque, IfIdsCross>), AFinishedIdIsRestoredOverADoubtThatNobodyHolds) {
  Attempt elsewhere = New();
  elsewhere.at = {0, 4, 9};
  elsewhere.owner_epoch = Raise(4);
  Claim(elsewhere);
  EXPECT_EQ(ReleaseAsUncertain(elsewhere), MarkerChange::kMade);
  EXPECT_EQ(Restore("x", kHere, Raise(3)), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

WINDOW_TEST((All<IfStoresClaims, IfIdsCross>),
            AnIdThatRunsUnderTheSameOwnershipOrElsewhereIsNotRestored) {
  Attempt mine = New("mine");
  mine.owner_epoch = Raise(3);
  Claim(mine);
  EXPECT_EQ(Restore("mine", mine.at, mine.owner_epoch), MarkerChange::kInFlight);
  Attempt elsewhere = New("elsewhere");
  elsewhere.at = {0, 4, 9};
  elsewhere.owner_epoch = Raise(4);
  Claim(elsewhere);
  EXPECT_EQ(Restore("elsewhere", kHere, Raise(3)), MarkerChange::kInFlight);
  EXPECT_EQ(StateOf("mine"), MarkerState::kOpen);
  EXPECT_EQ(StateOf("elsewhere"), MarkerState::kOpen);
}

WINDOW_TEST(WithFingerprints, AnIdIsRestoredWithThePayloadOfItsFirstCopy) {
  EXPECT_EQ(Restore("x", kHere, 0, kNoLogTime, 1), MarkerChange::kMade);
  EXPECT_EQ(Restore("x", {0, 3, 6}, 0, kNoLogTime, 2), MarkerChange::kMade);
  Attempt copy = New();
  copy.fingerprint = 1;
  EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kDuplicate);
  copy = New();
  copy.fingerprint = 2;
  EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kConflict);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate) << "without a fingerprint";
}

WINDOW_TEST(WithFingerprints, ADesertedClaimIsRestoredWithTheFingerprintThatItLacks) {
  const Attempt failed = New();
  Claim(failed);
  ReleaseAsFailed(failed);
  EXPECT_EQ(Restore("x", kHere, 0, kNoLogTime, 1), MarkerChange::kMade);
  Attempt copy = New();
  copy.fingerprint = 2;
  EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kConflict);
}

}  // namespace oncemq::conformance
