// SPDX-License-Identifier: Apache-2.0
// Who is granted an id, and what everybody else is told. (Transitions 1 and 2; never an answer that
// lets an effect happen twice, or not at all.)
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {

WINDOW_TEST(Always, TheWindowCanWhatTheEngineClaims) {
  const WindowCapabilities& says = window().capabilities();
  const WindowCapabilities& claims = subject().can();
  EXPECT_EQ(says.engine, claims.engine);
  EXPECT_EQ(says.level, subject().level) << "that it was opened with";
  EXPECT_EQ(says.shared, claims.shared);
  EXPECT_EQ(says.durable, claims.durable);
  EXPECT_EQ(says.leases_by_clock, claims.leases_by_clock);
  EXPECT_EQ(says.guarded, claims.guarded);
  EXPECT_EQ(says.opaque, claims.opaque);
  EXPECT_EQ(says.atomic, claims.atomic);
  EXPECT_EQ(says.ages, claims.ages);
  EXPECT_EQ(says.by_partition, claims.by_partition);
  EXPECT_EQ(says.partition_owned, claims.partition_owned);
  EXPECT_EQ(says.keeps_claims, claims.keeps_claims);
  EXPECT_EQ(says.timed, claims.timed);
  EXPECT_EQ(says.forgets_by_number, claims.forgets_by_number);
  EXPECT_EQ(says.keeps_results, claims.keeps_results);
  EXPECT_EQ(says.fingerprints, claims.fingerprints);
  EXPECT_EQ(says.max_id_bytes, claims.max_id_bytes);
  EXPECT_EQ(says.max_result_bytes, claims.max_result_bytes);
}

WINDOW_TEST(Always, TheFirstClaimOfAnIdIsGrantedAsItsFirstAttempt) {
  const ClaimAnswer answer = Claim(New());
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answer.attempt, 1u);
  EXPECT_FALSE(answer.uncertain);
}

// An operation of its own in each partition of each topic, whatever becomes of the others.
WINDOW_TEST(IfPartitionsOwnIds, AnIdOfAnotherPartitionOrTopicIsAnotherId) {
  constexpr Coordinates kCoordinates[] = {{0, 3, 5}, {0, 4, 5}, {1, 3, 5}};
  std::vector<Attempt> attempts;
  for (const Coordinates& at : kCoordinates) {
    Attempt& attempt = attempts.emplace_back(New());
    attempt.at = at;
    attempt.fingerprint = static_cast<uint32_t>(attempts.size());
    const ClaimAnswer answer = Claim(attempt);
    EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
    EXPECT_EQ(answer.attempt, 1u);
  }
  for (const Attempt& attempt : attempts) {
    EXPECT_EQ(Complete(attempt), MarkerChange::kMade);
  }
  for (const Attempt& attempt : attempts) {
    Attempt copy = New();
    copy.at = attempt.at;
    copy.fingerprint = attempt.fingerprint;
    EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kDuplicate);
  }
}

WINDOW_TEST(IfPartitionsOwnIds, AnIdIsRestoredInItsPartitionAlone) {
  EXPECT_EQ(Restore("x", {0, 3, 5}, 0), MarkerChange::kMade);
  Attempt other = New();
  other.at = {1, 3, 5};
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(Release(other), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kDone) << "a look by the id alone finds it";
}

WINDOW_TEST(IfIdsCross, AnIdOfAnotherPartitionOrTopicIsACopy) {
  const Attempt first = New();
  Claim(first);
  Complete(first);
  for (const Coordinates& at : {Coordinates{0, 4, 5}, Coordinates{1, 3, 5}}) {
    Attempt copy = New();
    copy.at = at;
    EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kDuplicate);
  }
}

WINDOW_TEST(IfStoresClaims, ACopyOfAnOpenIdIsInFlightAndNotADuplicate) {
  Claim(New());
  const ClaimAnswer copy = Claim(New());
  EXPECT_EQ(copy.answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(copy.attempt, 0u);
}

WINDOW_TEST(IfStoresClaims, ACopyInFlightChangesNothingForTheHolder) {
  const Attempt holder = New();
  Claim(holder);
  Attempt copy = New();
  copy.at = Elsewhere();
  Claim(copy);
  const MarkerView view = Peek();
  EXPECT_EQ(view.state, MarkerState::kOpen);
  EXPECT_EQ(view.token, holder.token);
  EXPECT_EQ(view.at, holder.at);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
}

WINDOW_TEST(WithLeases, ACopyInFlightIsToldToLookAgainWhenTheLeaseMayHaveEnded) {
  Claim(New());
  const ClaimAnswer copy = Claim(New());
  EXPECT_GT(copy.wait, microseconds(0));
  EXPECT_LE(copy.wait, kTimes.lease);
}

WINDOW_TEST(Always, AnIdThatIsDoneIsADuplicate) {
  const Attempt first = New();
  Claim(first);
  Complete(first);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

WINDOW_TEST(Always, ADuplicateAtTheSameCoordinatesIsTheSameDelivery) {
  const Attempt first = New();
  Claim(first);
  Complete(first);
  EXPECT_TRUE(Claim(New()).same_delivery);
}

WINDOW_TEST(Always, ADuplicateThatDiffersInOneCoordinateIsAnotherDelivery) {
  const Attempt first = New();
  Claim(first);
  Complete(first);
  for (const Coordinates at : {Coordinates{0, 3, 6}, Coordinates{0, 4, 5}, Coordinates{1, 3, 5}}) {
    if (!IfIdsCross(subject()) && (at.source != 0 || at.partition != 3)) {
      continue;
    }
    Attempt copy = New();
    copy.at = at;
    const ClaimAnswer answer = Claim(copy);
    EXPECT_EQ(answer.answer, ClaimVerdict::kDuplicate);
    EXPECT_FALSE(answer.same_delivery);
  }
}

WINDOW_TEST(WithResults, ADuplicateGetsTheStoredResultByteForByte) {
  const std::string result("a\0b\r\n%s\xFF", 9);
  const Attempt first = New();
  Claim(first);
  Complete(first, result);
  EXPECT_EQ(Claim(New()).result, result);
}

WINDOW_TEST(WithResults, TheLongestResultIsKeptAndALongerOneIsRefused) {
  const std::string longest(subject().can().max_result_bytes, 'r');
  const Attempt first = New();
  Claim(first);
  const std::string longer = longest + "r";
  const CompleteRequest too_long{first.id, first.token, first.at, longer};
  MarkerChange change{};
  const Status refused = window().Complete({&too_long, 1}, {&change, 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_EQ(StateOf(), MarkerState::kOpen);
  EXPECT_EQ(Complete(first, longest), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).result, longest);
}

WINDOW_TEST(Always, AClaimRepeatedAfterALostReplyRecognisesItself) {
  const Attempt attempt = New();
  Claim(attempt);
  const ClaimAnswer again = Claim(attempt);
  EXPECT_EQ(again.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(again.attempt, 1u);
  EXPECT_FALSE(again.uncertain);
  EXPECT_EQ(Complete(attempt), MarkerChange::kMade);
}

WINDOW_TEST(Always, AClaimRepeatedAfterItsCompletionIsADuplicate) {
  const Attempt attempt = New();
  Claim(attempt);
  Complete(attempt);
  EXPECT_EQ(Claim(attempt).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST(IfStoresClaims, TokensThatShareOneHalfAreTwoTokens) {
  Attempt holder = New();
  holder.token = {1, 2};
  Claim(holder);
  for (const Token token : {Token{1, 3}, Token{2, 2}, Token{2, 1}, Token{0, 2}, Token{1, 0}}) {
    Attempt other = holder;
    other.token = token;
    EXPECT_EQ(Claim(other).answer, ClaimVerdict::kInFlight);
    EXPECT_EQ(Complete(other), MarkerChange::kFenced);
  }
}

WINDOW_TEST(WithFingerprints, AnotherPayloadUnderAnOpenIdIsAConflict) {
  Attempt first = New();
  first.fingerprint = 7;
  Claim(first);
  Attempt other = New();
  other.fingerprint = 8;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kConflict);
  EXPECT_EQ(Complete(first), MarkerChange::kMade);
}

WINDOW_TEST(WithFingerprints, AnotherPayloadUnderADoneIdIsAConflict) {
  Attempt first = New();
  first.fingerprint = 7;
  Claim(first);
  Complete(first);
  Attempt other = New();
  other.fingerprint = 8;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kConflict);
  other.fingerprint = 7;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST(WithFingerprints, AFingerprintThatWasNotTakenConflictsWithNothing) {
  Attempt first = New("with");
  first.fingerprint = 7;
  Claim(first);
  EXPECT_EQ(Claim(New("with")).answer, ClaimVerdict::kInFlight);
  Claim(New("without"));
  Attempt other = New("without");
  other.fingerprint = 8;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(Always, AParkedIdAttachesItsCopiesToTheRecord) {
  const Attempt first = New();
  Claim(first);
  Park(first, 77);
  const ClaimAnswer copy = Claim(New());
  EXPECT_EQ(copy.answer, ClaimVerdict::kAttached);
  EXPECT_EQ(copy.attached, MarkerState::kParked);
  EXPECT_EQ(copy.entry, 77u);
}

// A corrected message under the id of a refused one would go without a word.
WINDOW_TEST(WithFingerprints, AnotherPayloadUnderAParkedIdIsAConflict) {
  Attempt first = New();
  first.fingerprint = 7;
  Claim(first);
  Park(first, 77);
  Attempt other = New();
  other.fingerprint = 8;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kConflict);
  other.fingerprint = 7;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kAttached);
}

WINDOW_TEST(Always, AnIdNobodyClaimedHasNoMarker) {
  const MarkerView view = Peek("never seen");
  EXPECT_EQ(view.state, MarkerState::kNone);
  EXPECT_TRUE(view.token.empty());
}

WINDOW_TEST(IfStoresClaims, ALookChangesNothing) {
  Peek();
  EXPECT_EQ(Claim(New()).attempt, 1u);
  Peek();
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST(Always, TwoIdsAreTwoEffects) {
  EXPECT_EQ(Claim(New("a")).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Claim(New("b")).answer, ClaimVerdict::kGranted);
}

}  // namespace oncemq::conformance
