// SPDX-License-Identifier: Apache-2.0
// What the holder of a claim may do with it, and nobody else. Every change is repeated after a lost
// reply, and recognises itself. (Transitions 5, 6, 7 and 9.)
#include "window_test.h"

namespace oncemq::conformance {

WINDOW_TEST(IfStoresClaims, OnlyTheTokenOfTheClaimCompletes) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Complete(New()), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kOpen);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
}

WINDOW_TEST(Always, ACompletionRepeatedAfterALostReplyIsMade) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
}

WINDOW_TEST(Always, ACompletionOfAnIdThatSomebodyElseFinishedIsFenced) {
  const Attempt holder = New();
  Claim(holder);
  Complete(holder);
  EXPECT_EQ(Complete(New()), MarkerChange::kFenced);
}

WINDOW_TEST(IfStoresClaims, ACompletionOfAnIdThatNobodyClaimedIsFenced) {
  EXPECT_EQ(Complete(New()), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST(Always, AReleasedIdIsNewAgain) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Release(holder), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
  const ClaimAnswer next = Claim(New());
  EXPECT_EQ(next.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(next.attempt, 1u);
  EXPECT_FALSE(next.uncertain);
}

WINDOW_TEST(Always, AReleaseRepeatedAfterALostReplyIsMade) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Release(holder), MarkerChange::kMade);
  EXPECT_EQ(Release(holder), MarkerChange::kMade);
}

WINDOW_TEST(IfStoresClaims, ALateReleaseLeavesTheNextClaimAlone) {
  const Attempt first = New();
  Claim(first);
  Release(first);
  const Attempt next = New();
  Claim(next);
  EXPECT_EQ(Release(first), MarkerChange::kFenced);
  EXPECT_EQ(Peek().token, next.token);
}

WINDOW_TEST(IfStoresClaims, OnlyTheTokenOfTheClaimReleases) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Release(New()), MarkerChange::kFenced);
  EXPECT_EQ(ReleaseAsUncertain(New()), MarkerChange::kFenced);
  EXPECT_EQ(Peek().token, holder.token);
}

WINDOW_TEST(Always, ADoneIdIsNeverReleased) {
  const Attempt holder = New();
  Claim(holder);
  Complete(holder);
  EXPECT_EQ(Release(holder), MarkerChange::kFenced);
  EXPECT_EQ(ReleaseAsUncertain(holder), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

WINDOW_TEST(IfStoresClaims, AnUncertainReleaseLeavesTheMarkerWithoutAHolder) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(ReleaseAsUncertain(holder), MarkerChange::kMade);
  const MarkerView view = Peek();
  EXPECT_EQ(view.state, MarkerState::kOpen);
  EXPECT_TRUE(view.uncertain);
  EXPECT_TRUE(view.token.empty());
}

WINDOW_TEST(IfStoresClaims, TheNextClaimAfterAnUncertainReleaseIsGrantedAtOnceAndTold) {
  const Attempt holder = New();
  Claim(holder);
  ReleaseAsUncertain(holder);
  const ClaimAnswer next = Claim(New());
  EXPECT_EQ(next.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(next.uncertain);
  EXPECT_EQ(next.attempt, 2u);
}

WINDOW_TEST(IfStoresClaims, TheSameTokenIsToldOfItsOwnUncertainReleaseToo) {
  const Attempt holder = New();
  Claim(holder);
  ReleaseAsUncertain(holder);
  const ClaimAnswer again = Claim(holder);
  EXPECT_EQ(again.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(again.uncertain);
  EXPECT_EQ(again.attempt, 2u);
}

WINDOW_TEST(IfStoresClaims, AnUncertainReleaseRepeatedAfterALostReplyIsMade) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(ReleaseAsUncertain(holder), MarkerChange::kMade);
  EXPECT_EQ(ReleaseAsUncertain(holder), MarkerChange::kMade);
  const Attempt next = New();
  Claim(next);
  EXPECT_EQ(ReleaseAsUncertain(holder), MarkerChange::kFenced);
  EXPECT_EQ(Peek().token, next.token);
}

WINDOW_TEST(IfStoresClaims, ALaterPlainReleaseDoesNotWipeOutTheDoubt) {
  const Attempt first = New();
  Claim(first);
  ReleaseAsUncertain(first);
  const Attempt second = New();
  Claim(second);
  EXPECT_EQ(Release(second), MarkerChange::kMade);
  const ClaimAnswer third = Claim(New());
  EXPECT_EQ(third.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(third.uncertain);
  EXPECT_EQ(third.attempt, 2u) << "the second was taken back";
}

WINDOW_TEST(IfStoresClaims, AClaimReleasedAsUncertainIsNeitherRenewedNorParked) {
  const Attempt holder = New();
  Claim(holder);
  ReleaseAsUncertain(holder);
  EXPECT_EQ(Renew(holder), MarkerChange::kFenced);
  EXPECT_EQ(Park(holder, 1), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kOpen);
}

WINDOW_TEST(Always, ALateTruthIsKeptAfterAnUncertainRelease) {
  const Attempt holder = New();
  Claim(holder);
  ReleaseAsUncertain(holder);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST(IfStoresClaims, OnlyTheTokenOfTheClaimParks) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Park(New(), 9), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kOpen);
  EXPECT_EQ(Park(holder, 9), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kParked);
}

WINDOW_TEST(Always, AParkRepeatedAfterALostReplyIsMadeAndAnotherEntryIsNot) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Park(holder, 9), MarkerChange::kMade);
  EXPECT_EQ(Park(holder, 9), MarkerChange::kMade);
  EXPECT_EQ(Park(holder, 10), MarkerChange::kFenced);
  EXPECT_EQ(Claim(New()).entry, 9u);
}

WINDOW_TEST(IfStoresClaims, AParkedIdIsNeitherCompletedNorReleasedNorRenewed) {
  const Attempt holder = New();
  Claim(holder);
  Park(holder, 9);
  EXPECT_EQ(Complete(holder), MarkerChange::kFenced);
  EXPECT_EQ(Release(holder), MarkerChange::kFenced);
  EXPECT_EQ(ReleaseAsUncertain(holder), MarkerChange::kFenced);
  EXPECT_EQ(Renew(holder), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kParked);
}

WINDOW_TEST(IfStoresClaims, AParkedIdStaysUncertain) {
  const Attempt first = New();
  Claim(first);
  ReleaseAsUncertain(first);
  const Attempt second = New();
  Claim(second);
  Park(second, 9);
  EXPECT_TRUE(Peek().uncertain);
}

WINDOW_TEST(IfStoresClaims, ADoneIdIsNeverParkedNorRenewed) {
  const Attempt holder = New();
  Claim(holder);
  Complete(holder);
  EXPECT_EQ(Park(holder, 9), MarkerChange::kFenced);
  EXPECT_EQ(Renew(holder), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

WINDOW_TEST(IfStoresClaims, NothingIsParkedOrRenewedWithoutAClaim) {
  EXPECT_EQ(Park(New(), 9), MarkerChange::kFenced);
  EXPECT_EQ(Renew(New()), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST(IfStoresClaims, OnlyTheTokenOfTheClaimRenews) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Renew(New()), MarkerChange::kFenced);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
}

WINDOW_TEST(Always, ARestoredIdIsADuplicateWithoutAResult) {
  EXPECT_EQ(Restore("x", {0, 3, 5}, 0), MarkerChange::kMade);
  const ClaimAnswer copy = Claim(New());
  EXPECT_EQ(copy.answer, ClaimVerdict::kDuplicate);
  EXPECT_TRUE(copy.same_delivery);
  EXPECT_EQ(copy.result, "");
}

WINDOW_TEST(Always, RestoringWhatIsThereChangesNothing) {
  const Attempt done = New("done");
  Claim(done);
  Complete(done, "kept");
  const Attempt parked = New("parked");
  Claim(parked);
  Park(parked, 9);
  EXPECT_EQ(Restore("done", Elsewhere(), 0), MarkerChange::kMade);
  EXPECT_EQ(Restore("parked", Elsewhere(), 0), MarkerChange::kMade);
  EXPECT_EQ(Peek("done").at, done.at);
  EXPECT_EQ(StateOf("parked"), MarkerState::kParked);
  EXPECT_EQ(Claim(New("done")).result, subject().can().keeps_results ? "kept" : "");
}

WINDOW_TEST(Always, ARestoreRepeatedAfterALostReplyIsMade) {
  EXPECT_EQ(Restore("x", {0, 3, 5}, 0), MarkerChange::kMade);
  EXPECT_EQ(Restore("x", {0, 3, 5}, 0), MarkerChange::kMade);
}

WINDOW_TEST(IfStoresClaims, AnIdThatSomebodyRunsIsNotRestored) {
  const Attempt holder = New();
  Claim(holder);
  EXPECT_EQ(Restore("x", holder.at, 0), MarkerChange::kInFlight);
  EXPECT_EQ(StateOf(), MarkerState::kOpen);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
}

}  // namespace oncemq::conformance
