// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_copy.h"

#include <gtest/gtest.h>

#include "switch_times.h"

namespace oncemq {
namespace {

using Seen = SwitchCopy::Seen;

using testing::kSwitchLease;
using testing::kSwitchStart;

SwitchRecord Single(uint32_t epoch) {
  return {.epoch = epoch, .from = "a"};
}

TEST(SwitchCopy, IsOfNoUseBeforeAnythingWasSeen) {
  EXPECT_FALSE(SwitchCopy().good(kSwitchStart));
  EXPECT_EQ(SwitchCopy().may_end_at(), std::nullopt);
}

TEST(SwitchCopy, IsGoodForALeaseFromTheSendingOfTheQuestion) {
  SwitchCopy copy;
  EXPECT_EQ(copy.Saw(Single(1), kSwitchStart, kSwitchStart + milliseconds(4'000)), Seen::kNews);
  EXPECT_TRUE(copy.good(kSwitchStart + kSwitchLease - milliseconds(20)));
  EXPECT_FALSE(copy.good(kSwitchStart + kSwitchLease));
  EXPECT_EQ(
      copy.Saw(Single(1), kSwitchStart + milliseconds(5'000), kSwitchStart + milliseconds(5'001)),
      Seen::kSame)
      << "nothing new";
  EXPECT_TRUE(copy.good(kSwitchStart + kSwitchLease));
}

TEST(SwitchCopy, AQuestionThatWasOvertakenMakesNothingOlder) {
  SwitchCopy copy;
  copy.Saw(Single(1), kSwitchStart + milliseconds(5'000), kSwitchStart + milliseconds(5'001));
  const BootTime good = copy.good_until();
  copy.Saw(Single(1), kSwitchStart, kSwitchStart + milliseconds(6'000));
  EXPECT_EQ(copy.good_until(), good);
}

TEST(SwitchCopy, ARecordThatGoesBackIsNotBelieved) {
  SwitchCopy copy;
  copy.Saw(Single(5), kSwitchStart, kSwitchStart);
  const BootTime good = copy.good_until();
  EXPECT_EQ(
      copy.Saw(Single(4), kSwitchStart + milliseconds(9'000), kSwitchStart + milliseconds(9'001)),
      Seen::kWentBack);
  EXPECT_EQ(copy.record().epoch, 5u);
  EXPECT_EQ(copy.good_until(), good);
}

TEST(SwitchCopy, AnAnswerThatAnotherOneWasQuickerThanIsNoRecordThatWentBack) {
  SwitchCopy copy;
  copy.Saw(Single(5), kSwitchStart + milliseconds(10), kSwitchStart + milliseconds(20));
  const BootTime good = copy.good_until();
  EXPECT_EQ(copy.Saw(Single(4), kSwitchStart + milliseconds(15), kSwitchStart + milliseconds(30)),
            Seen::kOvertaken);
  EXPECT_EQ(copy.record().epoch, 5u);
  EXPECT_EQ(copy.good_until(), good);
}

TEST(SwitchCopy, ASwitchEndsWhenOldCopiesAndTheirLeasesAreOver) {
  SwitchCopy copy;
  const SwitchRecord both = *BeginSwitch(Single(1), "b", SwitchMode::kBoth, "");
  const BootTime seen = kSwitchStart + milliseconds(70);
  EXPECT_EQ(copy.Saw(both, kSwitchStart, seen), Seen::kNews);
  ASSERT_TRUE(copy.may_end_at().has_value());
  EXPECT_EQ(*copy.may_end_at(), seen + both.config_lease + both.longest);
  copy.Saw(both, seen, seen + milliseconds(10));
  EXPECT_EQ(*copy.may_end_at(), seen + both.config_lease + both.longest) << "seen again";
  copy.Saw(*EndSwitch(both, ""), seen, seen);
  EXPECT_EQ(copy.may_end_at(), std::nullopt);
}

}  // namespace
}  // namespace oncemq
