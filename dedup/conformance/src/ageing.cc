// SPDX-License-Identifier: Apache-2.0
// What a window that forgets by age must still know, and what it says of what it does not know any
// more: never "new". It may always know more than it must. (Transition 10; rules 22, 23, 24, 26.)
#include <string>
#include <utility>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

// Log time of the tests: in the past of every clock.
constexpr LogTime kThen{milliseconds(1'600'000'000'000)};
constexpr milliseconds kRemember = ConformanceSetup{}.remember;
constexpr milliseconds kLong = 100 * kRemember;

class AgeingTest : public WindowTest {
 public:
  using WindowTest::WindowTest;

 protected:
  // Claims and finishes an id of partition 3.
  void Finish(std::string_view id, int64_t offset, LogTime time, OwnerEpoch owner_epoch = 0,
              int32_t partition = 3) {
    Attempt attempt = At(id, offset, time, partition);
    attempt.owner_epoch = owner_epoch;
    ASSERT_EQ(Claim(attempt).answer, ClaimVerdict::kGranted) << id;
    ASSERT_EQ(Complete(attempt), MarkerChange::kMade) << id;
  }
  Attempt At(std::string_view id, int64_t offset, LogTime time, int32_t partition = 3) {
    Attempt attempt = New(id);
    attempt.at = {0, partition, offset};
    attempt.time = time;
    return attempt;
  }
  // Likewise, by its first delivery.
  void FinishFirst(std::string_view id, int64_t offset, LogTime time, OwnerEpoch owner_epoch = 0) {
    Attempt attempt = At(id, offset, time);
    attempt.owner_epoch = owner_epoch;
    attempt.first = true;
    ASSERT_EQ(Claim(attempt).answer, ClaimVerdict::kGranted) << id;
    ASSERT_EQ(Complete(attempt), MarkerChange::kMade) << id;
  }
  // A thousand other ids, so that an engine that forgets by the lot has full lots.
  void FinishMany(LogTime time, int64_t offset = 1'000) {
    for (int64_t i = 0; i < 1'000; i++) {
      FinishFirst("many-" + std::to_string(many_++), offset + i, time);
    }
  }
  // As before each commit, where the store forgets only what was announced.
  MarkerChange AnnounceCommitted(OwnerEpoch owner_epoch, int64_t frontier, LogTime watermark,
                                 int32_t partition = 3) {
    if (!subject().can().keeps_claims) {
      const Announcement announced{.partition = partition};
      EXPECT_TRUE(window().Announce({&announced, 1}));
    }
    return Committed({0, partition, owner_epoch, frontier, watermark});
  }
  // A new owner of a partition whose log time is known: the time of the first ids.
  OwnerEpoch RaiseKnown(int32_t partition) {
    const OwnerEpoch owner_epoch = Raise(partition);
    EXPECT_EQ(AnnounceCommitted(owner_epoch, 0, kThen, partition), MarkerChange::kMade);
    return owner_epoch;
  }
  // The copy of a finished id: known, or refused as too old to know. Never granted.
  void ExpectNeverGranted(const Attempt& copy) {
    const ClaimVerdict answer = Claim(copy).answer;
    EXPECT_TRUE(answer == ClaimVerdict::kDuplicate || answer == ClaimVerdict::kOutsideWindow)
        << ToString(answer);
  }

 private:
  int many_ = 0;
};

}  // namespace

WINDOW_TEST_F(AgeingTest, IfAges, AnIdIsKnownForAsLongAsTheWindowRemembers) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  EXPECT_EQ(AnnounceCommitted(owner_epoch, 3'000, kThen + kRemember), MarkerChange::kMade);
  EXPECT_EQ(Claim(At("x", 9, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, ACopyOfAnIdThatHasAgedIsNeverGranted) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  ExpectNeverGranted(At("x", 5, kThen));
}

WINDOW_TEST_F(AgeingTest, IfAges, ACopyIsKnownForAsLongAsTheWindowRemembersIt) {
  const LogTime later = kThen + kRemember * 9 / 10;
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  Restore("y", {0, 3, 6}, owner_epoch, kThen);
  FinishMany(kThen);
  EXPECT_EQ(Claim(At("x", 2'000, later)).answer, ClaimVerdict::kDuplicate);
  Restore("y", {0, 3, 2'001}, owner_epoch, later);
  FinishMany(later, 2'002);
  AnnounceCommitted(owner_epoch, 4'000, kThen + kRemember * 3 / 2);  // the originals have aged
  for (const char* id : {"x", "y"}) {
    EXPECT_EQ(Claim(At(id, 2'000, later)).answer, ClaimVerdict::kDuplicate)
        << id << " is read again";
    ExpectNeverGranted(At(id, 5, kThen));
  }
}

WINDOW_TEST_F(AgeingTest, IfAges, AnOldIdThatNobodyCanHaveFinishedIsGranted) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  Attempt late = At("late", 4'000, kThen);
  late.first = true;
  EXPECT_EQ(Claim(late).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(AgeingTest, IfAges, ANewIdInsideTheWindowIsGranted) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Claim(At("new", 2'999, kThen + kLong - kRemember)).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(AgeingTest, IfAges, AnIdOfUnknownTimeIsGrantedWhereItIsNotKnown) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Claim(At("timeless", 4'000, kNoLogTime)).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(AgeingTest, (All<IfAges, IfIdsCross>), TheSlowestPartitionDecidesWhatIsForgotten) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  const OwnerEpoch slow = RaiseKnown(4);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(slow, 1, kThen, 4);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Claim(At("x", 7, kThen, 4)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, (All<IfAges, IfIdsCross>),
              APartitionThatHasNotToldItsProgressKeepsEverything) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Raise(4);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Claim(At("x", 7, kThen, 4)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, APartitionWhoseLogTimeIsNotKnownKeepsEverything) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kNoLogTime);
  EXPECT_EQ(Claim(At("x", 9, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, AnIdAboveTheFrontierIsKeptHoweverOldItIs) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  FinishMany(kThen, 10'000);
  Finish("x", 50'000, kThen, owner_epoch);
  FinishMany(kThen, 20'000);
  AnnounceCommitted(owner_epoch, 10'000, kThen + kLong);
  EXPECT_EQ(Claim(At("x", 50'001, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, AParkedIdDoesNotAge) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  const Attempt parked = At("parked", 5, kThen);
  Claim(parked);
  ASSERT_EQ(Park(parked, 7), MarkerChange::kMade);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Claim(At("parked", 9, kThen)).answer, ClaimVerdict::kAttached);
}

WINDOW_TEST_F(AgeingTest, IfAges, AnOpenIdDoesNotAge) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  const Attempt open = At("open", 5, kThen);
  Claim(open);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Complete(open), MarkerChange::kMade);
  ExpectNeverGranted(At("open", 9, kThen));
}

WINDOW_TEST_F(AgeingTest, IfAges, ARestoredIdAgesByItsOwnTime) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  ASSERT_EQ(Restore("x", {0, 3, 5}, owner_epoch, kThen + kLong), MarkerChange::kMade);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  EXPECT_EQ(Claim(At("x", 9, kThen + kLong)).answer, ClaimVerdict::kDuplicate);
}

// The log is at rest, so its watermark is the time of the clock. Then a producer sends what an
// outage has held up.
WINDOW_TEST_F(AgeingTest, IfAges, AnIdWithAnOldStampIsKnownFromTheWatermarkOn) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("before", 5, kThen, owner_epoch);
  AnnounceCommitted(owner_epoch, 6, kThen + kLong);
  FinishMany(kThen);
  FinishFirst("x", 2'000, kThen, owner_epoch);
  ASSERT_EQ(Restore("y", {0, 3, 2'001}, owner_epoch, kThen), MarkerChange::kMade);
  FinishMany(kThen, 2'002);
  AnnounceCommitted(owner_epoch, 4'000, kThen + kLong + kRemember);
  for (const char* id : {"x", "y"}) {
    EXPECT_EQ(Claim(At(id, 5'000, kThen)).answer, ClaimVerdict::kDuplicate) << id;
  }
  FinishMany(kThen + 3 * kLong, 4'000);
  AnnounceCommitted(owner_epoch, 5'000, kThen + 3 * kLong);
  for (const char* id : {"x", "y"}) {
    ExpectNeverGranted(At(id, 2'000, kThen));
  }
}

// A new partition, whose first commit tells that most of its messages are younger.
WINDOW_TEST_F(AgeingTest, IfAges, AnIdWithAnOldStampIsKnownBeforeAnyWatermarkIs) {
  const OwnerEpoch owner_epoch = Raise(3);
  FinishMany(kThen);
  FinishFirst("x", 2'000, kThen, owner_epoch);
  ASSERT_EQ(Restore("y", {0, 3, 2'001}, owner_epoch, kThen), MarkerChange::kMade);
  FinishMany(kThen, 2'002);
  AnnounceCommitted(owner_epoch, 4'000, kThen + kLong);
  AnnounceCommitted(owner_epoch, 4'001, kThen + kLong + kRemember);
  for (const char* id : {"x", "y"}) {
    EXPECT_EQ(Claim(At(id, 5'000, kThen)).answer, ClaimVerdict::kDuplicate) << id;
  }
}

// As after a new assignment whose first messages have old stamps.
WINDOW_TEST_F(AgeingTest, IfAges, AStampOfThePastLowersNoWatermark) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  AnnounceCommitted(owner_epoch, 6, kThen + kLong);
  AnnounceCommitted(owner_epoch, 7, kThen);
  FinishMany(kThen);
  FinishFirst("x", 2'000, kThen, owner_epoch);
  AnnounceCommitted(owner_epoch, 4'000, kThen + kLong + kRemember);
  EXPECT_EQ(Claim(At("x", 5'000, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAgesAndDurable, AWatermarkCountsForOldStampsAfterReopening) {
  AnnounceCommitted(RaiseKnown(3), 6, kThen + kLong);
  Reopen();
  FinishFirst("x", 6, kThen);
  FinishMany(kThen);
  const OwnerEpoch owner_epoch = Raise(3);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong + kRemember);
  EXPECT_EQ(Claim(At("x", 4'000, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, TheProgressOfAFormerOwnerIsNotKept) {
  const OwnerEpoch former = RaiseKnown(3);
  const OwnerEpoch owner_epoch = Raise(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  EXPECT_EQ(AnnounceCommitted(former, 3'000, kThen + kLong), MarkerChange::kFenced);
  EXPECT_EQ(Claim(At("x", 9, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, ProgressWithoutOwnershipIsNotKept) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  EXPECT_EQ(AnnounceCommitted(0, 3'000, kThen + kLong), MarkerChange::kFenced);
  EXPECT_EQ(Claim(At("x", 9, kThen)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, (All<IfAges, IfJudges>), AnOldIdIsJudgedAsItIsClaimed) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  const Attempt late = At("late", 4'000, kThen);
  const ClaimVerdict judged = Judge(late).answer;
  EXPECT_EQ(Claim(late).answer, judged);
  Attempt first = At("first", 4'001, kThen);
  first.first = true;
  EXPECT_EQ(Judge(first).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(AgeingTest, (All<IfAges, IfJudges>), AJudgedIdAgesAsIfItWereNot) {
  const LogTime later = kThen + kRemember * 9 / 10;
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("judged", 5, kThen, owner_epoch);
  Finish("left alone", 6, kThen, owner_epoch);
  Finish("copied", 7, kThen, owner_epoch);
  FinishMany(kThen);
  EXPECT_EQ(Judge(At("judged", 2'000, later)).answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(Claim(At("copied", 2'001, later)).answer, ClaimVerdict::kDuplicate);
  FinishMany(later, 2'002);
  AnnounceCommitted(owner_epoch, 4'000, kThen + kRemember * 3 / 2);
  static_cast<void>(window().DropAged(milliseconds(10'000)));
  EXPECT_EQ(StateOf("copied"), MarkerState::kDone);
  EXPECT_TRUE(StateOf("left alone") == MarkerState::kDone ||
              StateOf("judged") == MarkerState::kNone);
}

WINDOW_TEST_F(AgeingTest, IfAgesAndDurable, ACopyOfAnIdThatHadAgedIsNotGrantedAfterReopening) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  AnnounceCommitted(owner_epoch, 3'000, kThen + kLong);
  Reopen();
  ExpectNeverGranted(At("x", 5, kThen));
}

WINDOW_TEST_F(AgeingTest, IfAgesAndDurable, AnIdInsideTheWindowIsKnownAfterReopening) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  FinishMany(kThen);
  Finish("x", 2'500, kThen + kLong, owner_epoch);
  FinishMany(kThen + kLong);
  AnnounceCommitted(owner_epoch, 9'000, kThen + kLong);
  Reopen();
  EXPECT_EQ(Claim(At("x", 2'501, kThen + kLong)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAges, AWatermarkOfTheFutureIsNoReasonToForgetWhatIsNew) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  FinishMany(kThen);
  Finish("x", 2'500, kThen + 50 * kRemember, owner_epoch);
  FinishMany(kThen + 50 * kRemember);
  EXPECT_EQ(AnnounceCommitted(owner_epoch, 1, LogTime::max()), MarkerChange::kMade);
  EXPECT_EQ(AnnounceCommitted(owner_epoch, 9'000, LogTime(milliseconds(INT64_MIN + 1))),
            MarkerChange::kMade);
  EXPECT_EQ(Claim(At("x", 2'501, kThen + 50 * kRemember)).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(AgeingTest, IfAgesAndDurable, AnyProgressThatWasTakenCanBeReadAgain) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  EXPECT_EQ(AnnounceCommitted(owner_epoch, INT64_MAX, LogTime::max()), MarkerChange::kMade);
  Reopen();
  EXPECT_EQ(Claim(At("x", 5, kThen)).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(AgeingTest, IfAgesAndDurable, WhatWasSyncedAndNotCommittedIsNotForgotten) {
  const OwnerEpoch owner_epoch = RaiseKnown(3);
  AnnounceCommitted(owner_epoch, 5, kThen);
  Finish("x", 5, kThen, owner_epoch);
  FinishMany(kThen);
  ASSERT_TRUE(window().Announce({}));
  Reopen();
  Attempt again = At("x", 5, kThen);
  again.first = true;
  EXPECT_EQ(Claim(again).answer, ClaimVerdict::kDuplicate);
}

}  // namespace oncemq::conformance
