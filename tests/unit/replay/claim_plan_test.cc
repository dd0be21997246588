// SPDX-License-Identifier: Apache-2.0
#include "claim_plan.h"

#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

ReplayWord Word(const ClaimAnswer& answer, bool opaque = false, bool stamped = true) {
  return WordOf(answer, opaque, stamped, /*ages=*/true);
}

TEST(WordOf, EachAnswerHasItsWord) {
  EXPECT_EQ(Word({.answer = ClaimVerdict::kGranted}), ReplayWord::kApplies);
  EXPECT_EQ(Word({.answer = ClaimVerdict::kDuplicate}), ReplayWord::kSuppressed);
  EXPECT_EQ(Word({.answer = ClaimVerdict::kInFlight}), ReplayWord::kInFlight);
  EXPECT_EQ(Word({.answer = ClaimVerdict::kAttached}), ReplayWord::kParked);
  EXPECT_EQ(Word({.answer = ClaimVerdict::kConflict}), ReplayWord::kConflict);
  EXPECT_EQ(Word({.answer = ClaimVerdict::kOutsideWindow}), ReplayWord::kOutside);
  EXPECT_EQ(Word({.answer = ClaimVerdict::kIncomplete}), ReplayWord::kApplies) << "a claim decides";
  EXPECT_EQ(Word({.answer = ClaimVerdict::kFenced}), ReplayWord::kInFlight) << "asked again";
}

TEST(WordOf, ADoubtCountsAtTheLevelOpaqueAlone) {
  const ClaimAnswer granted{.answer = ClaimVerdict::kGranted, .uncertain = true, .attempt = 2};
  const ClaimAnswer in_its_place{.answer = ClaimVerdict::kInFlight, .uncertain = true};
  EXPECT_EQ(Word(granted, /*opaque=*/true), ReplayWord::kUncertain);
  EXPECT_EQ(Word(in_its_place, /*opaque=*/true), ReplayWord::kUncertain);
  EXPECT_EQ(Word(granted), ReplayWord::kApplies);
}

TEST(WordOf, AnUnknownIdWithoutAStampMayBeAsOldAsAny) {
  const ClaimAnswer fresh{.answer = ClaimVerdict::kGranted, .attempt = 1};
  const ClaimAnswer known{.answer = ClaimVerdict::kGranted, .attempt = 2};
  EXPECT_EQ(Word(fresh, false, /*stamped=*/false), ReplayWord::kOutside);
  EXPECT_EQ(WordOf(fresh, false, /*stamped=*/false, /*ages=*/false), ReplayWord::kApplies);
  EXPECT_EQ(Word(known, false, /*stamped=*/false), ReplayWord::kApplies)
      << "an attempt that failed says that it is not done";
}

}  // namespace
}  // namespace oncemq::testing
