// SPDX-License-Identifier: Apache-2.0
#include "oncemq/dedup/window.h"

#include <gtest/gtest.h>

#include <set>

namespace oncemq {
namespace {

TEST(Window, EveryWordHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Level level : {Level::kAtomic, Level::kGuarded, Level::kOpaque}) {
    names.insert(ToString(level));
  }
  EXPECT_EQ(names.size(), 3u);
  for (const MarkerState state : {MarkerState::kNone, MarkerState::kOpen, MarkerState::kDone,
                                  MarkerState::kParked, MarkerState::kHanded}) {
    names.insert(ToString(state));
  }
  EXPECT_EQ(names.size(), 8u);
  for (const ClaimVerdict answer :
       {ClaimVerdict::kGranted, ClaimVerdict::kDuplicate, ClaimVerdict::kInFlight,
        ClaimVerdict::kAttached, ClaimVerdict::kConflict, ClaimVerdict::kOutsideWindow,
        ClaimVerdict::kIncomplete, ClaimVerdict::kFenced}) {
    names.insert(ToString(answer));
  }
  EXPECT_EQ(names.size(), 16u);
  EXPECT_FALSE(names.contains("?"));
}

TEST(Window, AnAnswerThatNobodyGaveIsNotGranted) {
  EXPECT_EQ(ClaimAnswer{}.answer, ClaimVerdict::kIncomplete);
}

}  // namespace
}  // namespace oncemq
