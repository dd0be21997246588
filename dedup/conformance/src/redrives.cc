// SPDX-License-Identifier: Apache-2.0
// Records of parked ids run once more, and a new owner draws a line for parking. (Transitions 7 and
// 8, rule 39.)
#include <memory>

#include "oncemq/dedup/store_stat.h"
#include "window_test.h"

namespace oncemq::conformance {
namespace {

constexpr uint64_t kEntry = 77;

bool AtAtomic(const Subject& subject) {
  return subject.level == Level::kAtomic;
}

class RedriveTest : public WindowTest {
 public:
  using WindowTest::WindowTest;

 protected:
  Attempt Parked(std::string_view id = "x", uint32_t fingerprint = 0) {
    Attempt first = New(id);
    first.fingerprint = fingerprint;
    EXPECT_EQ(Claim(first).answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Park(first, kEntry), MarkerChange::kMade);
    return first;
  }
  Attempt Redrive(std::string_view id = "x", uint32_t fingerprint = 0) {
    Attempt attempt = New(id);
    attempt.fingerprint = fingerprint;
    attempt.parked_entry = kEntry;
    return attempt;
  }
  void ExpectParked(std::string_view id = "x") {
    EXPECT_EQ(StateOf(id), MarkerState::kParked);
    const ClaimAnswer copy = Claim(New(id));
    EXPECT_EQ(copy.answer, ClaimVerdict::kAttached);
    EXPECT_EQ(copy.entry, kEntry);
  }
  bool stores_claims() const { return IfStoresClaims(subject()); }
  // As the store tells it, once it has been told.
  uint64_t CountParked() {
    const Announcement announced{.partition = 3};
    EXPECT_TRUE(subject().can().keeps_claims || window().Announce({&announced, 1}));
    const auto stats = window().Stat();
    EXPECT_TRUE(stats);
    uint64_t parked = 0;
    for (const StoreStat& stat : stats ? *stats : std::vector<StoreStat>()) {
      parked += stat.parked;
    }
    return parked;
  }
  std::unique_ptr<EffectBatch> BatchOf(const Attempt& attempt) {
    const ClaimRequest claim{.id = attempt.id,
                             .token = attempt.token,
                             .at = attempt.at,
                             .owner_epoch = attempt.owner_epoch,
                             .parked_entry = attempt.parked_entry};
    auto batch = window().NewEffects(0, 3, {&claim, 1});
    EXPECT_TRUE(batch);
    return batch ? *std::move(batch) : nullptr;
  }
  MarkerChange CompleteWith(EffectBatch& effects, const Attempt& attempt) {
    const CompleteRequest request{.id = attempt.id, .token = attempt.token, .at = attempt.at};
    MarkerChange change{};
    EXPECT_TRUE(window().CompleteWith(effects, {&request, 1}, {&change, 1}));
    return change;
  }
};

}  // namespace

WINDOW_TEST_F(RedriveTest, Always, ARedriveOpensTheParkedIdAndNoOtherClaimDoes) {
  const Attempt first = Parked();
  Attempt other_number = Redrive();
  other_number.parked_entry = kEntry + 1;
  Attempt other_place = Redrive();
  other_place.at = {0, 3, 6};
  for (const Attempt& claim : {New(), first, other_number, other_place}) {
    EXPECT_EQ(Claim(claim).answer, ClaimVerdict::kAttached);
  }
  ExpectParked();
  const Attempt redrive = Redrive();
  const ClaimAnswer answer = Claim(redrive);
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_FALSE(answer.uncertain);
  if (stores_claims()) {
    EXPECT_EQ(answer.attempt, 2u);
    EXPECT_EQ(Peek().token, redrive.token);
    EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kInFlight);
  } else {
    ExpectParked();
  }
}

WINDOW_TEST_F(RedriveTest, Always, ARedriveRepeatedAfterALostReplyRecognisesItself) {
  Parked();
  const Attempt redrive = Redrive();
  const ClaimAnswer answer = Claim(redrive);
  const ClaimAnswer again = Claim(redrive);
  EXPECT_EQ(again.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(again.attempt, answer.attempt);
}

WINDOW_TEST_F(RedriveTest, IfStoresClaims, ARedriveIsRenewedAndCompletedAsAnyClaim) {
  Parked();
  const Attempt redrive = Redrive();
  Claim(redrive);
  EXPECT_EQ(Claim(Redrive()).answer, ClaimVerdict::kInFlight) << "it runs";
  EXPECT_EQ(Renew(redrive), MarkerChange::kMade);
  EXPECT_EQ(Complete(redrive), MarkerChange::kMade);
  EXPECT_EQ(Complete(redrive), MarkerChange::kMade);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(Claim(Redrive()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(RedriveTest, Always, AReleasedRedriveIsParkedAgain) {
  Parked();
  const Attempt failed = Redrive();
  Claim(failed);
  EXPECT_EQ(ReleaseAsFailed(failed), MarkerChange::kMade);
  EXPECT_EQ(ReleaseAsFailed(failed), MarkerChange::kMade) << "after a lost reply";
  ExpectParked();
  const Attempt withdrawn = Redrive();
  const ClaimAnswer again = Claim(withdrawn);
  EXPECT_EQ(again.answer, ClaimVerdict::kGranted);
  EXPECT_FALSE(again.uncertain);
  EXPECT_EQ(Release(withdrawn), MarkerChange::kMade);
  ExpectParked();
  const ClaimAnswer last = Claim(Redrive());
  EXPECT_EQ(last.answer, ClaimVerdict::kGranted);
  if (stores_claims()) {
    EXPECT_EQ(again.attempt, 3u);
    EXPECT_EQ(last.attempt, 3u) << "one was taken back";
  }
}

WINDOW_TEST_F(RedriveTest, IfStoresClaims, OnlyTheTokenOfTheRedriveReleasesIt) {
  Parked();
  const Attempt redrive = Redrive();
  Claim(redrive);
  EXPECT_EQ(Release(Redrive()), MarkerChange::kFenced);
  EXPECT_EQ(Peek().token, redrive.token);
  EXPECT_EQ(Release(redrive), MarkerChange::kMade);
  Attempt other_number = redrive;
  other_number.parked_entry = kEntry + 1;
  EXPECT_EQ(Release(other_number), MarkerChange::kFenced);
  ExpectParked();
}

WINDOW_TEST_F(RedriveTest, IfStoresClaims, ARedriveReleasedAsUncertainIsParkedWithTheDoubt) {
  Parked();
  const Attempt unsure = Redrive();
  Claim(unsure);
  EXPECT_EQ(ReleaseAsUncertain(unsure), MarkerChange::kMade);
  ExpectParked();
  EXPECT_TRUE(Peek().uncertain);
  Attempt careful = Redrive();
  careful.not_if_uncertain = true;
  const ClaimAnswer declined = Claim(careful);
  EXPECT_EQ(declined.answer, ClaimVerdict::kInFlight);
  EXPECT_TRUE(declined.uncertain);
  ExpectParked();
  const ClaimAnswer answer = Claim(Redrive());
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(answer.uncertain);
  EXPECT_EQ(answer.attempt, 3u);
}

WINDOW_TEST_F(RedriveTest, Always, ARedriveIsParkedAgainUnderItsNumber) {
  Parked();
  for (int time = 0; time < 2; time++) {
    const Attempt redrive = Redrive();
    EXPECT_EQ(Claim(redrive).answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Park(redrive, kEntry), MarkerChange::kMade);
    EXPECT_EQ(Park(redrive, kEntry), MarkerChange::kMade) << "after a lost reply";
    ExpectParked();
  }
}

WINDOW_TEST_F(RedriveTest, WithFingerprints, ARedriveTakesACorrectedPayload) {
  Parked("x", 7);
  const Attempt redrive = Redrive("x", 8);
  EXPECT_EQ(Claim(redrive).answer, ClaimVerdict::kGranted);
  Release(redrive);
  const auto claim = [this](uint32_t fingerprint) {
    Attempt copy = New();
    copy.fingerprint = fingerprint;
    return Claim(copy).answer;
  };
  EXPECT_EQ(claim(7), ClaimVerdict::kConflict);
  EXPECT_EQ(claim(8), ClaimVerdict::kAttached);
  const Attempt last = Redrive("x", 9);
  EXPECT_EQ(Claim(last).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Complete(last), MarkerChange::kMade);
  EXPECT_EQ(claim(8), ClaimVerdict::kConflict);
  EXPECT_EQ(claim(9), ClaimVerdict::kDuplicate);
}

// The process died with the message, and an operator has corrected it.
WINDOW_TEST_F(RedriveTest, (All<AtGuarded, WithFingerprints>),
              ARedriveTakesACorrectedPayloadOverFromADeadOne) {
  Parked("x", 7);
  Attempt dead = Redrive("x", 7);
  dead.owner_epoch = Raise(3);
  Claim(dead);
  Attempt next = Redrive("x", 8);
  next.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Complete(dead), MarkerChange::kFenced);
  EXPECT_EQ(Complete(next), MarkerChange::kMade);
}

WINDOW_TEST_F(RedriveTest, Always, ARedriveOfAnIdWithoutAMarkerIsAFirstClaim) {
  const Attempt redrive = Redrive();
  const ClaimAnswer answer = Claim(redrive);
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answer.attempt, 1u);
  EXPECT_EQ(Release(redrive), MarkerChange::kMade);
  ExpectParked();
}

WINDOW_TEST_F(RedriveTest, Always, ARedriveUnderAnEarlierOwnershipIsFenced) {
  Parked();
  Attempt zombie = Redrive();
  zombie.owner_epoch = Raise(3);
  Raise(3);
  EXPECT_EQ(Claim(zombie).answer, ClaimVerdict::kFenced);
  ExpectParked();
}

WINDOW_TEST_F(RedriveTest, Always, AFormerOwnerParksNothing) {
  Attempt former = New();
  former.owner_epoch = Raise(3);
  Claim(former);
  Attempt in_time = New("in time");
  in_time.owner_epoch = former.owner_epoch;
  Claim(in_time);
  EXPECT_EQ(Park(in_time, kEntry), MarkerChange::kMade);
  const Attempt of_nobody = New("of nobody");
  Claim(of_nobody);
  Raise(3);
  EXPECT_EQ(Park(former, kEntry), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), stores_claims() ? MarkerState::kOpen : MarkerState::kNone);
  EXPECT_EQ(Park(in_time, kEntry), MarkerChange::kMade) << "after a lost reply";
  EXPECT_EQ(Park(of_nobody, kEntry), MarkerChange::kMade) << "it rests on no ownership";
}

WINDOW_TEST_F(RedriveTest, IfStoresClaims, ParkedIdsAreCountedWhileTheyRunAndGoBack) {
  Parked("a");
  Parked("b");
  const uint64_t both = CountParked();
  EXPECT_TRUE(both == 2 || both == 0) << "an engine without numbers tells none";
  const uint64_t one = both / 2;
  const Attempt finished = Redrive("a");
  Claim(finished);
  EXPECT_EQ(CountParked(), one);
  const Attempt failed = Redrive("b");
  Claim(failed);
  EXPECT_EQ(CountParked(), 0u);
  Complete(finished);
  ReleaseAsFailed(failed);
  ReleaseAsFailed(failed);
  EXPECT_EQ(CountParked(), one);
  const Attempt parked = Redrive("b");
  Claim(parked);
  Park(parked, kEntry);
  Park(parked, kEntry);
  EXPECT_EQ(CountParked(), one);
}

WINDOW_TEST_F(RedriveTest, IfDurable, ARedriveIsParkedAgainAfterTheStoreIsOpenedAgain) {
  Parked();
  const Attempt failed = Redrive();
  Claim(failed);
  ReleaseAsFailed(failed);
  ASSERT_NO_FATAL_FAILURE(Reopen());
  ExpectParked();
  const Attempt redrive = Redrive();
  const ClaimAnswer answer = Claim(redrive);
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  if (stores_claims()) {
    EXPECT_EQ(answer.attempt, 3u);
    EXPECT_EQ(Complete(redrive), MarkerChange::kMade);
    ASSERT_NO_FATAL_FAILURE(Reopen());
    EXPECT_EQ(StateOf(), MarkerState::kDone);
  }
}

// Whether its claim outlived the process is the engine's to say: the id is not done, and its record
// runs again.
WINDOW_TEST_F(RedriveTest, (All<WithLeases, IfDurable>), ARedriveWhoseProcessDiedIsRunAgain) {
  Parked();
  Claim(Redrive());
  ASSERT_NO_FATAL_FAILURE(Reopen());
  Advance(kTimes.lease + kALittle);
  const Attempt next = Redrive();
  const ClaimAnswer answer = Claim(next);
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answer.attempt, 3u);
  EXPECT_EQ(answer.uncertain, opaque());
  EXPECT_EQ(Release(next), MarkerChange::kMade);
  ExpectParked();
}

WINDOW_TEST_F(RedriveTest, AtAtomic, ARedriveIsFinishedTogetherWithItsEffects) {
  Parked();
  const Attempt redrive = Redrive();
  EXPECT_EQ(Claim(redrive).answer, ClaimVerdict::kGranted);
  const auto effects = BatchOf(redrive);
  EXPECT_EQ(CompleteWith(*effects, redrive), MarkerChange::kMade);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
  EXPECT_EQ(Claim(Redrive()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(RedriveTest, AtAtomic, AFormerOwnersRedriveIsNotFinished) {
  Parked();
  Attempt former = Redrive();
  former.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(former).answer, ClaimVerdict::kGranted);
  Attempt next = Redrive();
  next.owner_epoch = Raise(3);
  EXPECT_EQ(Claim(next).answer, ClaimVerdict::kGranted);
  const auto late = BatchOf(former);
  EXPECT_EQ(CompleteWith(*late, former), MarkerChange::kFenced);
  EXPECT_NE(StateOf(), MarkerState::kDone);
  const auto effects = BatchOf(next);
  EXPECT_EQ(CompleteWith(*effects, next), MarkerChange::kMade);
  const auto again = BatchOf(former);
  EXPECT_EQ(CompleteWith(*again, former), MarkerChange::kFenced);
  EXPECT_EQ(StateOf(), MarkerState::kDone);
}

}  // namespace oncemq::conformance
