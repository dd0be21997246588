// SPDX-License-Identifier: Apache-2.0
// Stories about what a window knows: what the log cannot give back is said, never called complete
// (rules 6, 7); what is forgotten is never new (rule 26); and what looks alike is not the same
// (rule 35). That nothing is lost, or there twice, or known by name only, the checkers judge; the
// look says that the run was about what it claims to be about.
#include <map>
#include <set>

#include "store_scenario.h"

namespace oncemq::sim {
namespace {

// Partitions that move between hosts, each with stores of its own: every new owner has to read.
Config Moving(Level level) {
  Config config = OnDisk(level);
  config.hosts = 1;
  config.copies = 400;
  config.keys = 3;
  config.appended_over = 6 * kSecond;
  for (int64_t i = 1; i <= 8; i++) {
    Strike(config, FaultKind::kRebalance, i * kSecond);
  }
  return config;
}

void StrikeBoth(Config& config, FaultKind kind, Micros at, int64_t value = 0) {
  for (int64_t partition = 0; partition < config.partitions; partition++) {
    config.faults.push_back({.kind = kind, .at = at, .partition = partition, .value = value});
  }
}

// Where the log cannot complete the window: to stop means that nobody starts so, and to run that
// copies of what is not known run again, and that the store says so.
void EachPolicySaysSo(Config config) {
  config.run_incomplete = 0;
  EXPECT_GT(Met(config, Situation::kIncomplete), 0U);
  config.run_incomplete = 1;
  int64_t again = 0;
  EXPECT_GT(Met(config, Situation::kWentOnIncomplete,
                [&](const RunResult& result) { again += KnownToTheTarget(result); }),
            0U);
  EXPECT_GT(again, 0);
}

// Rule 6a: x is applied and compacted away. Whose store is behind cannot read it, and nothing in
// the log shows that it was there.
TEST(CompletenessScenarios, ACompactedLogCompletesNoWindow) {
  Config config = Moving(Level::kGuarded);
  config.compacted = 1;
  for (int64_t i = 1; i <= 8; i++) {
    StrikeBoth(config, FaultKind::kCompact, i * kSecond - 100 * kMilli);
  }
  EXPECT_GT(Met(config, Situation::kCleaned), 0U);
  EachPolicySaysSo(config);
}

// The same where effects live in the store: what it has lost cannot be handled again.
TEST(CompletenessScenarios, LostEffectsWhoseMessagesMayBeGoneStop) {
  for (const FaultKind kind : {FaultKind::kCompact, FaultKind::kRetain}) {
    Config config = OnDisk(Level::kAtomic);
    config.sync = 0;
    config.keys = 3;
    config.compacted = kind == FaultKind::kCompact ? 1 : 0;
    for (int64_t i = 1; i <= 4; i++) {
      StrikeBoth(config, kind, i * 700 * kMilli - kMilli, 1000);
      Strike(config, FaultKind::kPowerLoss, i * 700 * kMilli, 100 * kMilli);
    }
    EXPECT_GT(Met(config, Situation::kEffectsGone), 0U);
  }
}

// Rule 6b: who reads committed messages only reads the log below its start in the same way. What an
// aborted transaction has left there is no message, and its id is new when it is sent again.
TEST(CompletenessScenarios, AnAbortedMessageIsNotCaughtUpAsDone) {
  Config config = Moving(Level::kGuarded);
  config.aborted = 200;
  int64_t below = 0;
  EXPECT_GT(Met(config, Situation::kStoreCaughtUp,
                [&](const RunResult& result) {
                  const std::vector<LogRecord>& aborted = result.log.partitions[0].aborted;
                  below += Count(result, [&](const Record& record) {
                    return record.op == Op::kAssign && record.partition == 0 && !aborted.empty() &&
                           aborted.front().offset < record.offset;
                  });
                }),
            0U);
  EXPECT_GT(below, 0);
}

// A commit may stand behind aborted messages alone, and new owners start there.
TEST(CompletenessScenarios, AHoleAtTheEndOfTheLogIsPassed) {
  Config config = Moving(Level::kGuarded);
  config.aborted = 200;
  EXPECT_GT(Met(config, Situation::kHolePassed), 0U);
}

// Rule 6b: a store that was written by who handles aborted messages too is not ours, though group,
// scope and topic are.
TEST(CompletenessScenarios, AStoreOfAnotherIsolationIsRefused) {
  for (const Level level : {Level::kGuarded, Level::kAtomic}) {
    Config config = OnDisk(level);
    config.aborted = 200;
    Strike(config, FaultKind::kReadUncommitted, 1500 * kMilli);
    EXPECT_GT(Met(config, Situation::kStoreOfOthers), 0U);
  }
}

// Rule 6c: retention has passed what the store knows.
TEST(CompletenessScenarios, WhatRetentionTookIsMissing) {
  Config config = Moving(Level::kGuarded);
  for (int64_t i = 1; i <= 8; i++) {
    StrikeBoth(config, FaultKind::kRetain, i * kSecond - 100 * kMilli, 1000);
  }
  EachPolicySaysSo(config);
}

// Rule 6c: and while it was read.
TEST(CompletenessScenarios, WhatRetentionTakesFromUnderTheReadingIsMissing) {
  for (const int64_t run : {0, 1}) {
    Config config = Moving(Level::kGuarded);
    config.run_incomplete = run;
    config.window_refused = 700;  // reading is slow
    for (const int64_t at : {2300, 5300, 7300}) {
      StrikeBoth(config, FaultKind::kRetain, at * kMilli, 900);
    }
    EXPECT_GT(Met(config, Situation::kOvertaken), 0U);
  }
}

// Rule 7: a budget of offsets.
TEST(CompletenessScenarios, WhatTheBudgetDoesNotReachIsMissing) {
  Config config = Moving(Level::kGuarded);
  config.catch_up = 8;
  EachPolicySaysSo(config);
}

// Rule 7: a budget of time.
TEST(CompletenessScenarios, WhatTakesTooLongToReadIsMissing) {
  for (const int64_t run : {0, 1}) {
    Config config = Moving(Level::kGuarded);
    config.run_incomplete = run;
    config.catch_up_time = 150 * kMilli;
    config.window_refused = 600;
    int64_t again = 0;
    EXPECT_GT(Met(config, Situation::kOverdue,
                  [&](const RunResult& result) { again += KnownToTheTarget(result); }),
              0U);
    EXPECT_TRUE(run == 0 || again > 0);
  }
}

// Rule 7: what was suppressed, and offsets that do not exist, are known as well as what was
// applied. Who comes back has nothing to read.
TEST(CompletenessScenarios, TheSecondAssignmentHasNothingToRead) {
  Config config = Moving(Level::kGuarded);
  config.hosts = 0;
  config.copies = 600;
  config.holes = 300;
  int64_t assignments = 0;
  int64_t suppressed = 0;
  EXPECT_EQ(Met(config, Situation::kStoreCaughtUp,
                [&](const RunResult& result) {
                  suppressed += Answers(result, ClaimVerdict::kDuplicate);
                  assignments +=
                      Count(result, [](const Record& record) { return record.op == Op::kAssign; });
                }),
            0U);
  EXPECT_GT(assignments, 40);
  EXPECT_GT(suppressed, 0);
}

// Everything is read again after a while: what was finished is known, or too old to be, and never
// new.
Config ReadAgain(Level level) {
  Config config = Ageing(level);
  config.processes = 1;
  config.messages = 200;
  config.appended_over = config.faults_until = 40 * kSecond;
  Strike(config, FaultKind::kReset, 32 * kSecond);
  return config;
}

// Rule 26: process or host die between the steps of forgetting.
TEST(CompletenessScenarios, WhoDiesWhileItForgetsLetsNoCopyThrough) {
  for (const Level level : {Level::kAtomic, Level::kGuarded, Level::kOpaque}) {
    for (const FaultKind kind : {FaultKind::kCrashForgetting, FaultKind::kPowerForgetting}) {
      for (const ForgetStep step : {ForgetStep::kRaise, ForgetStep::kDrop, ForgetStep::kEnd}) {
        Config config = ReadAgain(level);
        for (int64_t i = 0; i < 3; i++) {
          Strike(config, kind, (5 + 8 * i) * kSecond, static_cast<int64_t>(step));
        }
        int64_t too_old = 0;
        EXPECT_GT(Met(config, Situation::kDiedForgetting,
                      [&](const RunResult& result) {
                        too_old += Answers(result, ClaimVerdict::kOutsideWindow);
                      }),
                  0U);
        EXPECT_GT(too_old, 0) << ToString(config);
      }
    }
  }
}

// Rule 26: the original has aged, and its copy has not. Both are read again.
TEST(CompletenessScenarios, ASuppressedCopyKeepsItsIdFromAgeing) {
  Config config = ReadAgain(Level::kAtomic);
  config.copies = 700;
  EXPECT_GT(Met(config, Situation::kFreshCopyKnown), 0U);
  EXPECT_GT(Met(config, Situation::kAged), 0U);
}

// Rule 35: all ids have one hash. Each is handled for itself all the same, and its copies are its
// own.
TEST(CompletenessScenarios, IdsThatCollideAreDifferentIds) {
  for (const Placement placement :
       {Placement::kShared, Placement::kPerProcess, Placement::kPartitionStores}) {
    for (const Level level : {Level::kGuarded, Level::kOpaque}) {
      Config config = OnDisk(level);
      config.placement = static_cast<int64_t>(placement);
      config.collide = 1;
      config.near_copies = 500;
      config.copies = 400;
      config.rejects = 60;
      config.retries = 100;
      config.run_incomplete = 1;
      config.workers = 2;
      Strike(config, FaultKind::kCrash, kSecond, 100 * kMilli);
      Strike(config, FaultKind::kRebalance, 2 * kSecond);
      int64_t duplicates = 0;
      int64_t attached = 0;
      Play(config, [&](const RunResult& result, const Sometimes&) {
        duplicates += Answers(result, ClaimVerdict::kDuplicate);
        attached += Answers(result, ClaimVerdict::kAttached);
      });
      EXPECT_GT(duplicates, 0);
      EXPECT_GT(attached, 0);
    }
  }
}

}  // namespace
}  // namespace oncemq::sim
