// SPDX-License-Identifier: Apache-2.0
// Configurations that once broke a promise, shrunk, each with a line on what it was. Always played.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "verdict_of_run.h"

namespace oncemq::sim {
namespace {

TEST(Regressions, NothingThatOnceFailedFailsAgain) {
  std::ifstream file(ONCEMQ_SIM_REGRESSIONS);
  ASSERT_TRUE(file) << "cannot read " << ONCEMQ_SIM_REGRESSIONS;
  int played = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) {
      continue;
    }
    const auto config = ParseConfig(line);
    ASSERT_TRUE(config) << "not a configuration: " << line;
    Sometimes sometimes;
    const Judgement judgement = RunAndJudge(*config, sometimes);
    EXPECT_TRUE(judgement.violations.empty()) << Explain(*config, judgement.violations.front());
    played++;
  }
  EXPECT_GT(played, 0);
}

TEST(Config, ItsTextFormIsReadBack) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    const Config config = RandomConfig(seed);
    const auto back = ParseConfig(ToString(config));
    ASSERT_TRUE(back);
    EXPECT_EQ(ToString(*back), ToString(config));
  }
}

TEST(Config, WhatIsNoConfigurationIsRefused) {
  EXPECT_FALSE(ParseConfig("seed"));
  EXPECT_FALSE(ParseConfig("sed=1"));
  EXPECT_FALSE(ParseConfig("seed=x"));
  EXPECT_FALSE(ParseConfig("fault=crash:1:2"));
  EXPECT_FALSE(ParseConfig("fault=crush:1:2:3:4:5"));
}

}  // namespace
}  // namespace oncemq::sim
