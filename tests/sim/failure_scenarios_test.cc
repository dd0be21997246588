// SPDX-License-Identifier: Apache-2.0
// Stories about messages that fail each time: they end after their attempts, whoever made those.
#include <gtest/gtest.h>

#include <map>

#include "store_scenario.h"

namespace oncemq::sim {
namespace {

constexpr int64_t kAttempts = 4;

Config Failing() {
  Config config;
  config.keys = 20;
  config.workers = 2;
  config.hopeless = 100;
  config.attempts = kAttempts;
  return config;
}

// Calls of each id that ended in Retry: here only hopeless ones do.
std::map<uint32_t, int64_t> FailedCalls(const RunResult& result) {
  std::map<uint32_t, int64_t> failed;
  for (const Record& record : result.history.records()) {
    const bool ended = record.op == Op::kHandle && record.phase == Phase::kOk;
    if (ended && record.value == static_cast<int64_t>(Outcome(Retry{}).index())) {
      failed[record.id]++;
    }
  }
  return failed;
}

TEST(FailureScenarios, AMessageThatAlwaysFailsIsParkedAfterItsAttempts) {
  int64_t hopeless = 0;
  Play(Failing(), [&](const RunResult& result, const Sometimes&) {
    for (const auto& [id, failed] : FailedCalls(result)) {
      EXPECT_EQ(failed, kAttempts) << "id " << id;
      hopeless++;
    }
  });
  EXPECT_GT(hopeless, 0) << "nothing failed for ever: the test is blind";
}

// An attempt whose process dies before the window has its count is made again.
TEST(FailureScenarios, AnHeirGoesOnWithTheAttemptsOfItsDeadOwner) {
  int64_t spared = 0;
  Config config = Failing();
  for (int death = 1; death <= 4; death++) {
    Strike(config, FaultKind::kCrash, death * 400 * kMilli, 100 * kMilli, death % 2);
  }
  Play(config, [&](const RunResult& result, const Sometimes&) {
    for (const auto& [id, failed] : FailedCalls(result)) {
      EXPECT_GE(failed, kAttempts) << "id " << id;
      EXPECT_LE(failed, kAttempts + 4) << "id " << id;
      spared += failed == kAttempts ? 1 : 0;
    }
  });
  EXPECT_GT(spared, 0);
}

// Rule 44: keys that wait hold no credit of those that go on.
TEST(FailureScenarios, MoreMessagesAreOpenThanMayRunWhileKeysWait) {
  Config config = Failing();
  config.hopeless = 500;
  config.attempts = 8;
  config.appended_over = 100 * kMilli;
  config.in_flight = config.partition_credit = 4;
  int64_t most = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    std::map<ActorId, int64_t> open;
    for (const Record& record : result.history.records()) {
      if (record.op == Op::kAdmit) {
        most = std::max(most, ++open[record.process]);
      } else if (record.op == Op::kGone) {
        open[record.process]--;
      }
    }
  });
  EXPECT_GT(most, 3 * config.in_flight);
}

TEST(FailureScenarios, OverTheBudgetMessagesAreParkedBeforeTheirAttemptsEnd) {
  Config config = Failing();
  config.hopeless = 300;
  config.waiting = 2;
  config.waiting_parks = 1;
  int64_t early = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    std::map<uint32_t, int64_t> failed = FailedCalls(result);
    for (const Record& record : result.history.records()) {
      early += record.op == Op::kJournal && failed[record.id] < kAttempts ? 1 : 0;
    }
  });
  EXPECT_GT(early, 0);
}

// Rule 12. The checkers say that every other message is done once.
TEST(FailureScenarios, AMessageThatKillsItsProcessIsRefusedAfterDeathsInWhichItWasAlone) {
  Config config;
  config.keys = 20;
  config.workers = 3;
  config.killers = 20;
  config.deaths = 3;
  int64_t killers = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    std::map<ActorId, int64_t> running;
    std::map<uint32_t, std::vector<bool>> alone;  // of each id, by its calls
    for (const Record& record : result.history.records()) {
      if (record.op == Op::kHandle && record.phase == Phase::kInvoke) {
        alone[record.id].push_back(running[record.process]++ == 0);
      } else if (record.op == Op::kHandle) {
        running[record.process]--;
      } else if (record.op == Op::kJournal) {
        killers++;
        const std::vector<bool>& deaths = alone[record.id];
        ASSERT_GE(deaths.size(), 3u) << "id " << record.id;
        EXPECT_EQ(std::count(deaths.end() - 3, deaths.end(), false), 0) << "id " << record.id;
      }
    }
  });
  EXPECT_GT(killers, 0) << "nothing killed its process: the test is blind";
}

Config Parking() {
  Config config;
  config.park = 1;
  config.keys = 3;
  config.workers = 2;
  config.rejects = 100;
  config.mended_at = 4 * kSecond;
  return config;
}

// Rules 38 to 40, as the checkers judge them.
TEST(FailureScenarios, TheLaterMessagesOfAParkedKeyFollowItThroughKillAndMove) {
  Config config = Parking();
  for (int death = 1; death <= 4; death++) {
    Strike(config, FaultKind::kCrash, death * 400 * kMilli, 100 * kMilli, death % 2);
    Strike(config, FaultKind::kRebalance, death * 500 * kMilli);
  }
  EXPECT_GT(Met(config, Situation::kFollowed), 0U);
}

TEST(FailureScenarios, ALateRecordOfAFormerOwnerIsVoidAndNothingIsLost) {
  Config config = Parking();
  config.journal_late = 300;
  config.rejects = 300;
  // A new owner begins before a late record lands.
  config.session = 2 * kSecond;
  config.margin = 500 * kMilli;
  config.call_timeout = kSecond;
  for (int death = 1; death <= 6; death++) {
    Strike(config, FaultKind::kCrash, death * 400 * kMilli, 10 * kMilli, death % 2);
    Strike(config, FaultKind::kRebalance, death * 500 * kMilli);
  }
  EXPECT_GT(Met(config, Situation::kVoidRecord), 0U);
}

TEST(FailureScenarios, ARedriveThatAKillCutsOffGoesOn) {
  Config config = Parking();
  for (int death = 0; death <= 6; death++) {
    Strike(config, FaultKind::kCrash, config.mended_at + death * 20 * kMilli, 100 * kMilli,
           death % 2);
  }
  EXPECT_GT(Met(config, Situation::kRedriven), 0U);
}

// Rules 2 and 39: no commit covers a redriven message, so its effect is on the disk before its end
// is on record.
TEST(FailureScenarios, TheEffectOfARedrivenMessageSurvivesThePower) {
  for (const int64_t sync : {0, 1}) {
    Config config = Parking();
    config.placement = static_cast<int64_t>(Placement::kPartitionStores);
    config.level = static_cast<int64_t>(Level::kAtomic);
    config.sync = sync;
    config.appended_over = 8 * kSecond;  // of live ones the power takes something
    config.commit_interval = 800 * kMilli;
    for (int loss = 1; loss <= 6; loss++) {
      Strike(config, FaultKind::kPowerLoss, config.mended_at + loss * 30 * kMilli, 100 * kMilli);
    }
    EXPECT_GT(Met(config, Situation::kPowerLossTook), 0U);
  }
}

TEST(FailureScenarios, MessagesOverTheBudgetAreParkedInTheirOrder) {
  Config config = Failing();
  config.park = 1;
  config.hopeless = 300;
  config.waiting = 2;
  config.waiting_parks = 1;
  EXPECT_GT(Met(config, Situation::kFollowed), 0U);
}

}  // namespace
}  // namespace oncemq::sim
