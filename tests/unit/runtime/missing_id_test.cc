// SPDX-License-Identifier: Apache-2.0
// Messages without an id that a policy lets pass, on their way through the whole loop.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "journal.h"
#include "poll_loop_fixture.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

TEST_F(PollLoopTest, WhatPassesWithoutAnIdIsAppliedEachTimeAndCounted) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "", "k");
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "", "k");
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 4; }));
  const DeliveryCounts counts = loop.Stop().counts;
  EXPECT_EQ(counts.applied, 3);
  EXPECT_EQ(counts.suppressed, 1);
  EXPECT_EQ(counts.unprotected, 2);
  EXPECT_TRUE(counts.Balanced());
  EXPECT_EQ(calls_, 3);
}

TEST_F(PollLoopTest, WhatPassesIsInTheJournalBeforeItIsCommitted) {
  const TempDir dir;
  const auto journal = *Journal::Open(dir.path() / "journal", {"topic"});
  RuntimeOptions options = Options();
  options.policy.reject = RejectPolicy::kJournal;
  RunningLoop loop(options, &window_, Count(), journal.get());
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  std::ifstream in(dir.path() / "journal");
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  const auto entry = nlohmann::json::parse(line);
  EXPECT_EQ(entry["outcome"], "passed");
  EXPECT_EQ(entry["offset"], 1);
  EXPECT_EQ(entry["id"], "");
  EXPECT_FALSE(std::getline(in, line)) << "an applied id has its marker";
  const RunReport& report = loop.Stop();
  EXPECT_EQ(report.counts.applied, 2);
  EXPECT_EQ(report.counts.unprotected, 1);
}

// Rule 4: what passed is no id, so there is nothing that a new owner could take for done.
TEST_F(PollLoopTest, ACatchUpTakesNothingOfWhatPassedForDone) {
  const auto window = *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  RunningLoop loop(Options(), window.get(), Count());
  loop.script().Append(0, "", "k");
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "", "k");
  loop.script().Assign(0, /*start=*/2, /*read_from=*/0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 4; }));
  const RunReport& report = loop.Stop();
  EXPECT_EQ(report.caught_up, 1);
  EXPECT_EQ(report.counts.suppressed, 1);
  EXPECT_EQ(report.counts.applied, 1);
  EXPECT_EQ(report.counts.unprotected, 1);
}

}  // namespace
}  // namespace oncemq::testing
