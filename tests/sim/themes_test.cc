// SPDX-License-Identifier: Apache-2.0
// One kind of trouble at a time, much of it. Also what most mutants are caught by: quicker than the
// whole swarm.
#include <gtest/gtest.h>

#include "how_much.h"
#include "verdict_of_run.h"

namespace oncemq::sim {
namespace {

// What each theme about stores must have been in; the swarm has no stores.
std::vector<Situation> Needed(Theme theme) {
  using enum Situation;
  switch (theme) {
    case Theme::kLocal:
      return {kStoreHeld,  kStoreReopened,    kPowerLossTook,         kStoreCaughtUp,
              kCommitGone, kUncertainGrant,   kAnnouncedNotCommitted, kCleaned,
              kIncomplete, kWentOnIncomplete, kStoreOfOthers};
    case Theme::kAtomic:
      return {kStoreRolledBack, kStoreNotTheCommits, kStoreEmpty,       kCommitGone, kForeignAhead,
              kSpoiled,         kEffectsTogether,    kFencedCompletion, kEffectsGone};
    case Theme::kAges:
      return {kAged, kAgedCopyRan, kFreshCopyKnown, kFirstIsNeverOld, kDiedForgetting};
    case Theme::kParking:
      return {kFollowed, kVoidRecord, kRedriven, kRefusedAgain, kDropped};
    default:
      return {};
  }
}

class Themes : public testing::TestWithParam<Theme> {};

TEST_P(Themes, EverySeedKeepsEveryPromise) {
  Sometimes sometimes;
  const uint64_t seeds = FromEnvironment("ONCEMQ_SIM_THEME_SEEDS", 250);
  for (uint64_t seed = 1; seed <= seeds; seed += static_cast<uint64_t>(OneOf())) {
    const Config config = ThemeConfig(GetParam(), seed);
    const Judgement judgement = RunAndJudge(config, sometimes);
    ASSERT_TRUE(judgement.violations.empty()) << Explain(config, judgement.violations.front());
  }
  // A small share of the seeds need not reach everything.
  const bool enough = OneOf() <= 4;
  for (const Situation situation : enough ? Needed(GetParam()) : std::vector<Situation>()) {
    EXPECT_GT(sometimes.count(situation), 0U) << "never seen: " << Describe(situation);
  }
}

std::string NameOf(const testing::TestParamInfo<Theme>& info) {
  constexpr const char* kNames[] = {
      "Doubt",    "Rebalances", "Rewinds",    "Zombies", "Commits", "Carried",    "Copies",
      "Refusals", "LongRuns",   "TinyLimits", "Resets",  "Fencing", "Forgetting", "CatchUp",
      "Replay",   "Clocks",     "Local",      "Atomic",  "Ages",    "Killers",    "Parking"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Of, Themes,
                         testing::Values(Theme::kDoubt, Theme::kRebalances, Theme::kRewinds,
                                         Theme::kZombies, Theme::kCommits, Theme::kCarried,
                                         Theme::kCopies, Theme::kRefusals, Theme::kLongRuns,
                                         Theme::kTinyLimits, Theme::kResets, Theme::kFencing,
                                         Theme::kForgetting, Theme::kCatchUp, Theme::kReplay,
                                         Theme::kClocks, Theme::kLocal, Theme::kAtomic,
                                         Theme::kAges, Theme::kKillers, Theme::kParking),
                         NameOf);

}  // namespace
}  // namespace oncemq::sim
