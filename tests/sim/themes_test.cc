// SPDX-License-Identifier: Apache-2.0
// One kind of trouble at a time, much of it. Also what most mutants are caught by: quicker than the
// whole swarm.
#include <gtest/gtest.h>

#include "how_much.h"
#include "verdict_of_run.h"

namespace oncemq::sim {
namespace {

constexpr uint64_t kSeeds = 250;

class Themes : public testing::TestWithParam<Theme> {};

TEST_P(Themes, EverySeedKeepsEveryPromise) {
  Sometimes sometimes;
  for (uint64_t seed = 1; seed <= kSeeds; seed += static_cast<uint64_t>(OneOf())) {
    const Config config = ThemeConfig(GetParam(), seed);
    const Judgement judgement = RunAndJudge(config, sometimes);
    ASSERT_TRUE(judgement.violations.empty()) << Explain(config, judgement.violations.front());
  }
}

std::string NameOf(const testing::TestParamInfo<Theme>& info) {
  constexpr const char* kNames[] = {
      "Doubt",    "Rebalances", "Rewinds", "Zombies", "Commits",    "Carried", "Copies", "Refusals",
      "LongRuns", "TinyLimits", "Resets",  "Fencing", "Forgetting", "CatchUp", "Replay", "Clocks"};
  return kNames[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Of, Themes,
                         testing::Values(Theme::kDoubt, Theme::kRebalances, Theme::kRewinds,
                                         Theme::kZombies, Theme::kCommits, Theme::kCarried,
                                         Theme::kCopies, Theme::kRefusals, Theme::kLongRuns,
                                         Theme::kTinyLimits, Theme::kResets, Theme::kFencing,
                                         Theme::kForgetting, Theme::kCatchUp, Theme::kReplay,
                                         Theme::kClocks),
                         NameOf);

}  // namespace
}  // namespace oncemq::sim
