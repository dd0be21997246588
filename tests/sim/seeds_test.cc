// SPDX-License-Identifier: Apache-2.0
// The swarm: thousands of configurations, each played twice. ONCEMQ_SIM_SEEDS and
// ONCEMQ_SIM_FIRST_SEED choose others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "how_much.h"
#include "verdict_of_run.h"

namespace oncemq::sim {
namespace {

constexpr uint64_t kShards = 8;

class Swarm : public testing::TestWithParam<uint64_t> {};

TEST_P(Swarm, EverySeedKeepsEveryPromiseAndRepeatsItself) {
  const uint64_t seeds = FromEnvironment("ONCEMQ_SIM_SEEDS", 2000) / kShards;
  const uint64_t first = FromEnvironment("ONCEMQ_SIM_FIRST_SEED", 1) + GetParam() * seeds;
  Sometimes sometimes;
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    const Config config = RandomConfig(seed);
    const Judgement judgement = RunAndJudge(config, sometimes);
    ASSERT_TRUE(judgement.violations.empty()) << Explain(config, judgement.violations.front());
    Sometimes ignored;
    ASSERT_EQ(RunAndJudge(config, ignored).hash, judgement.hash)
        << "the second run of the same seed went another way: " << ToString(config);
  }
}

// A sweep that never gets into the situations that it is about proves nothing. Some are rare, so
// this one goes on until it has seen each of them, within a bound.
TEST(Sweep, GetsIntoEverySituation) {
  constexpr uint64_t kMost = 8'000;
  Sometimes sometimes;
  const auto missing = [&] {
    std::vector<std::string> names;
    for (size_t i = 0; i < static_cast<size_t>(Situation::kFirstOfStores); i++) {
      if (sometimes.count(static_cast<Situation>(i)) == 0) {
        names.push_back(Describe(static_cast<Situation>(i)));
      }
    }
    return names;
  };
  const uint64_t first = FromEnvironment("ONCEMQ_SIM_FIRST_SEED", 1);
  for (uint64_t seed = first; seed < first + kMost && !missing().empty(); seed++) {
    const Config config = RandomConfig(seed);
    const Judgement judgement = RunAndJudge(config, sometimes);
    ASSERT_TRUE(judgement.violations.empty()) << Explain(config, judgement.violations.front());
  }
  EXPECT_THAT(missing(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Shard, Swarm, testing::Range<uint64_t>(0, kShards));

TEST(Replay, OfTheConfigurationInTheEnvironment) {
  const char* text = std::getenv("ONCEMQ_SIM_REPLAY");
  if (text == nullptr) {
    return;  // nothing was asked for
  }
  const auto config = ParseConfig(text);
  ASSERT_TRUE(config) << "not a configuration: " << text;
  Sometimes sometimes;
  const Judgement judgement = RunAndJudge(*config, sometimes);
  EXPECT_TRUE(judgement.violations.empty()) << Explain(*config, judgement.violations.front());
}

}  // namespace
}  // namespace oncemq::sim
