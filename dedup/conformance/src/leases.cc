// SPDX-License-Identifier: Apache-2.0
// Leases: when a silent holder's claim passes to the next, and what the holder may still do.
// (Transitions 2 and 4, rules 13, 15 and 19.)
#include "window_test.h"

namespace oncemq::conformance {

namespace {

bool WithLeasesAndFingerprints(const Subject& subject) {
  return WithLeases(subject) && WithFingerprints(subject);
}

}  // namespace

WINDOW_TEST(WithLeases, ARunningLeaseIsNotTakenOver) {
  Claim(New());
  Advance(kTimes.lease - kALittle);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(WithLeases, AnEndedLeaseIsTakenOverAsTheNextAttempt) {
  Claim(New());
  Advance(kTimes.lease + kALittle);
  const ClaimAnswer next = Claim(New());
  EXPECT_EQ(next.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(next.attempt, 2u);
}

WINDOW_TEST(WithLeasesAtOpaque, ATakeoverByLeaseIsUncertainWhereNobodyCanCheck) {
  Claim(New());
  Advance(kTimes.lease + kALittle);
  EXPECT_TRUE(Claim(New()).uncertain);
  EXPECT_TRUE(Peek().uncertain);
}

WINDOW_TEST(WithLeasesAtOpaque, ByWishNothingUncertainIsTakenOverAndTheLateTruthIsKept) {
  const Attempt old = New();
  Claim(old);
  Attempt careful = New();
  careful.not_if_uncertain = true;
  EXPECT_FALSE(Claim(careful).uncertain) << "it is held";
  Advance(kTimes.lease + kALittle);
  for (int i = 0; i < 2; i++) {
    const ClaimAnswer told = Claim(careful);
    EXPECT_EQ(told.answer, ClaimVerdict::kInFlight);
    EXPECT_TRUE(told.uncertain);
  }
  EXPECT_EQ(Peek().token, old.token);
  EXPECT_EQ(Complete(old), MarkerChange::kMade);
  Attempt released = New();
  released.id = careful.id = "y";
  Claim(released);
  EXPECT_EQ(ReleaseAsUncertain(released), MarkerChange::kMade);
  EXPECT_TRUE(Claim(careful).uncertain);
  EXPECT_EQ(Complete(released), MarkerChange::kMade);
}

WINDOW_TEST(WithLeases, AfterTheLeaseALookSaysWhatACarefulClaimIsTold) {
  Attempt owned = New("owned");
  owned.owner_epoch = Raise(owned.at.partition);
  const Attempt without_partition = New("alone");
  Claim(without_partition);
  Claim(owned);
  EXPECT_FALSE(Peek("alone").uncertain) << "it is held";
  EXPECT_FALSE(Peek("owned").uncertain);
  Advance(kTimes.lease - kALittle);
  Raise(owned.at.partition);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Peek("alone").uncertain, opaque());
  EXPECT_FALSE(Peek("owned").uncertain) << "its handler may run on";
  for (const Attempt& holder : {without_partition, owned}) {
    Attempt careful = New(holder.id);
    careful.not_if_uncertain = true;
    EXPECT_EQ(Claim(careful).uncertain, Peek(holder.id).uncertain) << holder.id;
  }
  Advance(kTimes.handler_timeout);
  for (const Attempt& holder : {without_partition, owned}) {
    Attempt careful = New(holder.id);
    careful.not_if_uncertain = true;
    EXPECT_EQ(Peek(holder.id).uncertain, opaque()) << holder.id;
    EXPECT_EQ(Claim(careful).uncertain, opaque()) << holder.id;
  }
}

WINDOW_TEST(WithLeasesAtGuarded, ATakeoverByLeaseIsCertainWhereTheTargetChecks) {
  Claim(New());
  Advance(kTimes.lease + kALittle);
  EXPECT_FALSE(Claim(New()).uncertain);
}

WINDOW_TEST(WithLeases, ATakeoverIsAClaimOfItsOwn) {
  Claim(New());
  Advance(kTimes.lease + kALittle);
  Attempt next = New();
  next.at = Elsewhere();
  Claim(next);
  EXPECT_EQ(Peek().at, next.at);
  EXPECT_EQ(Peek().token, next.token);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(WithLeases, AfterATakeoverTheOldTokenChangesNothing) {
  const Attempt old = New();
  Claim(old);
  Advance(kTimes.lease + kALittle);
  const Attempt next = New();
  Claim(next);
  EXPECT_EQ(Renew(old), MarkerChange::kFenced);
  EXPECT_EQ(Complete(old), MarkerChange::kFenced);
  EXPECT_EQ(Release(old), MarkerChange::kFenced);
  EXPECT_EQ(ReleaseAsUncertain(old), MarkerChange::kFenced);
  EXPECT_EQ(Park(old, 9), MarkerChange::kFenced);
  EXPECT_EQ(Claim(old).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Peek().token, next.token);
  EXPECT_EQ(Complete(next), MarkerChange::kMade);
}

WINDOW_TEST(WithLeases, ARenewedLeaseIsNotTakenOver) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease - kALittle);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  Advance(kTimes.lease - kALittle);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(WithLeases, ARenewedLeaseEndsToo) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease - kALittle);
  Renew(holder);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST(WithLeases, AClaimRepeatedWithItsTokenHoldsForALeaseFromNow) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease - kALittle);
  EXPECT_EQ(Claim(holder).answer, ClaimVerdict::kGranted);
  Advance(kTimes.lease - kALittle);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(WithLeases, AnEndedLeaseThatNobodyTookIsRenewed) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(WithLeases, ALateTruthIsKeptAfterTheLeaseEnded) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.lease + kALittle);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST(WithLeases, NoClaimIsRenewedBeyondTheLongestLease) {
  const Attempt holder = New();
  Claim(holder);
  for (milliseconds held(0); held + kTimes.lease <= kTimes.max_lease; held += kTimes.lease) {
    EXPECT_EQ(Renew(holder), MarkerChange::kMade);
    Advance(kTimes.lease);
  }
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  Advance(kTimes.max_lease % kTimes.lease + kALittle);
  EXPECT_EQ(Renew(holder), MarkerChange::kFenced);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST(WithLeases, ALeaseRenewedLateEndsWithTheLongestLease) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.max_lease - kALittle);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST(WithLeases, RepeatingAClaimDoesNotStretchItBeyondTheLongestLease) {
  const Attempt holder = New();
  Claim(holder);
  Advance(kTimes.max_lease - kALittle);
  EXPECT_EQ(Claim(holder).attempt, 1u);
  Advance(kALittle + kALittle);
  const ClaimAnswer again = Claim(holder);
  EXPECT_EQ(again.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(again.uncertain, opaque());
}

WINDOW_TEST(WithLeases, ParkedAndDoneIdsHaveNoLease) {
  const Attempt parked = New("parked");
  Claim(parked);
  Park(parked, 9);
  const Attempt done = New("done");
  Claim(done);
  Complete(done);
  Advance(kTimes.max_lease + kALittle);
  EXPECT_EQ(Claim(New("parked")).answer, ClaimVerdict::kAttached);
  EXPECT_EQ(Claim(New("done")).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST(WithLeasesAndFingerprints, AConflictIsNoClaimAlsoAfterTheLease) {
  Attempt holder = New();
  holder.fingerprint = 7;
  Claim(holder);
  Advance(kTimes.lease + kALittle);
  Attempt other = New();
  other.fingerprint = 8;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kConflict);
  EXPECT_EQ(Peek().token, holder.token);
}

}  // namespace oncemq::conformance
