// SPDX-License-Identifier: Apache-2.0
// The traces of the rules about stores on disk, each played on purpose. That effects are there
// once, none is lost and the ledger adds up is judged by the checkers; the look says that the run
// was about what it claims to be about.
#include <map>
#include <set>

#include "store_scenario.h"

namespace oncemq::sim {
namespace {

// Rule 2: handled, committed, not synced; the power goes, and effects and markers with it. The
// commit calls them finished; the store, which lost them, decides.
TEST(StoreScenarios, EffectsThatAPowerLossTookHappenAgain) {
  Config config = OnDisk(Level::kAtomic);
  config.sync = 0;
  for (int64_t i = 1; i <= 4; i++) {
    Strike(config, FaultKind::kPowerLoss, i * 700 * kMilli, 100 * kMilli);
  }
  EXPECT_GT(Met(config, Situation::kStoreRolledBack), 0U);
}

// Rule 2: an operator's commit ahead of the effects would pass them over. It is refused, with the
// position that a second act then takes.
TEST(StoreScenarios, AForeignCommitAheadOfTheEffectsStops) {
  Config config = OnDisk(Level::kAtomic);
  config.appended_over = 8 * kSecond;
  Strike(config, FaultKind::kCrash, kSecond, 8 * kSecond);
  Strike(config, FaultKind::kCrash, kSecond, 8 * kSecond, 1);
  Strike(config, FaultKind::kReset, 2 * kSecond, 1000);
  EXPECT_GT(Met(config, Situation::kForeignAhead), 0U);
}

// Rule 3: the marker is on the dead machine's disk, and nothing that moves says so. Only the target
// knows the id; what a commit has shown, the log gives back.
TEST(StoreScenarios, WhatNoCommitShowsIsKnownToTheTargetAlone) {
  Config config = OnDisk(Level::kGuarded);
  config.hosts = 1;
  config.commit_interval = 800 * kMilli;
  for (int64_t i = 1; i <= 6; i++) {
    Strike(config, FaultKind::kCrash, i * 450 * kMilli, 8 * kSecond, i % 2);
  }
  int64_t known = 0;
  EXPECT_GT(Met(config, Situation::kStoreCaughtUp,
                [&](const RunResult& result) { known += KnownToTheTarget(result); }),
            0U);
  EXPECT_GT(known, 0);
}

// Rule 4: refused messages are below the frontier and not done. A new owner that reads the log must
// not make their markers.
TEST(StoreScenarios, RefusedMessagesAreNotCaughtUpAsDone) {
  Config config = OnDisk(Level::kGuarded);
  config.hosts = config.run_incomplete = 1;
  config.rejects = 60;
  Strike(config, FaultKind::kRebalance, kSecond);
  Strike(config, FaultKind::kCrash, 1500 * kMilli, 8 * kSecond);
  int64_t refused = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    std::set<uint32_t> rejected;
    for (const Record& record : result.history.records()) {
      if (record.op == Op::kJournal) {
        rejected.insert(record.id);
      } else if (record.op == Op::kRestore && record.phase == Phase::kOk && record.value == 0) {
        EXPECT_FALSE(rejected.contains(record.id)) << record.id;
      }
    }
    refused += static_cast<int64_t>(rejected.size());
  });
  EXPECT_GT(refused, 0);
}

// Rule 5: an operator passes messages over; nothing of them is done, so their copies run.
TEST(StoreScenarios, CopiesOfWhatAnOperatorPassedOverRun) {
  Config config = OnDisk(Level::kGuarded);
  config.appended_over = 6 * kSecond;
  config.faults_until = 8 * kSecond;
  Strike(config, FaultKind::kReset, 2 * kSecond, 600);
  uint64_t ran = 0;
  Play(config, [&](const RunResult& result, const Sometimes& sometimes) {
    std::set<uint32_t> applied;
    for (const Record& record : result.history.records()) {
      if (record.op == Op::kEffect) {
        applied.insert(record.id);
      }
    }
    int64_t since = 0;
    for (const Record& record : result.history.records()) {
      since = record.op == Op::kReset && record.partition == 0 ? record.offset : since;
    }
    for (const LogRecord& record : result.log.partitions[0].records) {
      EXPECT_TRUE(record.offset < since || applied.contains(record.id)) << record.offset;
    }
    ran += sometimes.count(Situation::kOperatorForward);
  });
  EXPECT_GT(ran, 0U);
}

// Rule 6e: the commit expired while everybody was down. The store says that this is no fresh start.
TEST(StoreScenarios, AnExpiredCommitIsNoFreshStart) {
  for (const Level level : {Level::kGuarded, Level::kAtomic}) {
    Config config = OnDisk(level);
    Strike(config, FaultKind::kExpire, 2 * kSecond);
    int64_t again = 0;
    EXPECT_GT(Met(config, Situation::kCommitGone,
                  [&](const RunResult& result) { again += KnownToTheTarget(result); }),
              0U);
    EXPECT_EQ(again, 0) << "it goes on where the store stands";
  }
}

// Rule 22: down for longer than the window. The backlog is not too old, and copies in it are known.
TEST(StoreScenarios, DowntimeLetsNoCopyThroughAndRefusesNoBacklog) {
  for (const Level level : {Level::kAtomic, Level::kGuarded, Level::kOpaque}) {
    Config config = Ageing(level);
    config.processes = 1;
    Strike(config, FaultKind::kCrash, 6 * kSecond, 9 * kSecond);
    EXPECT_GT(Met(config, Situation::kFreshCopyKnown,
                  [](const RunResult& result) {
                    EXPECT_EQ(Answers(result, ClaimVerdict::kOutsideWindow), 0);
                  }),
              0U);
    EXPECT_GT(Met(config, Situation::kAged), 0U);
  }
}

// Rule 22: only an acknowledged commit lets ids go. Most commits are dropped here, and the process
// dies before the next one: what was only announced comes again, and is known.
TEST(StoreScenarios, OnlyWhatWasAcknowledgedIsForgotten) {
  Config config = Ageing(Level::kAtomic);
  config.processes = 1;
  config.commit_dropped = 800;
  config.appended_over = config.faults_until = 60 * kSecond;
  for (int64_t i = 1; i <= 4; i++) {
    Strike(config, FaultKind::kCrash, i * 13 * kSecond, kSecond);
  }
  EXPECT_GT(Met(config, Situation::kAnnouncedNotCommitted,
                [](const RunResult& result) {
                  EXPECT_EQ(Answers(result, ClaimVerdict::kOutsideWindow), 0);
                }),
            0U);
  EXPECT_GT(Met(config, Situation::kAged), 0U);
}

// Rule 23: producers stamp as they like. A first delivery is never too old.
TEST(StoreScenarios, AFirstDeliveryIsNeverTooOld) {
  Config config = Ageing(Level::kAtomic);
  config.stamps = 100;
  Strike(config, FaultKind::kCrash, 9 * kSecond, kSecond);
  Strike(config, FaultKind::kCrash, 9 * kSecond, kSecond, 1);
  EXPECT_GT(Met(config, Situation::kFirstIsNeverOld,
                [](const RunResult& result) {
                  EXPECT_EQ(Answers(result, ClaimVerdict::kOutsideWindow), 0);
                }),
            0U);
}

// Rule 27: much is finished above a stuck head when the power goes. What a commit has named, in its
// offset or in its map, is as durable as the commit.
TEST(StoreScenarios, WhatACommitNamesSurvivesThePower) {
  for (const Level level : {Level::kGuarded, Level::kOpaque, Level::kAtomic}) {
    Config config = OnDisk(level);
    config.order = static_cast<int64_t>(Order::kUnordered);
    config.slow = 60;
    config.slow_time = kSecond;
    config.workers = 3;
    for (int64_t i = 1; i <= 4; i++) {
      Strike(config, FaultKind::kPowerLoss, i * 900 * kMilli, 100 * kMilli);
    }
    EXPECT_GT(Met(config, Situation::kPowerLossTook), 0U);
  }
}

// Rule 28: a copy of the store is put back. It looks sound, and its commit rests on another one.
TEST(StoreScenarios, AStoreThatWasPutBackIsNotTheCommits) {
  for (const Level level : {Level::kAtomic, Level::kGuarded}) {
    Config config = OnDisk(level);
    Strike(config, FaultKind::kCopyStore, 700 * kMilli);
    // Whoever opens it from here on gives it another incarnation than the copy's.
    Strike(config, FaultKind::kPowerLoss, kSecond, 100 * kMilli);
    Strike(config, FaultKind::kPutBack, 10 * kSecond);
    const Situation found =
        level == Level::kAtomic ? Situation::kStoreNotTheCommits : Situation::kStoreCaughtUp;
    EXPECT_GT(Met(config, found), 0U);
  }
}

// Rule 29, finished by the map and not in the store: where effects live elsewhere the marker is
// written now, or a copy would run; where they live in the store the handler runs again.
TEST(StoreScenarios, WhereMapAndStoreDisagreeTheMarkerIsRepairedOrTheHandlerRuns) {
  for (const Level level : {Level::kGuarded, Level::kAtomic}) {
    Config config = OnDisk(level);
    config.order = static_cast<int64_t>(Order::kUnordered);
    config.sync = 0;
    config.slow = 80;
    config.slow_time = kSecond;
    config.workers = 3;
    config.lane_batch = 1;
    config.commit_interval = 10 * kMilli;
    for (int64_t i = 1; i <= 3; i++) {
      Strike(config, FaultKind::kPowerLoss, i * 800 * kMilli, 100 * kMilli);
    }
    int64_t repaired = 0;
    const uint64_t again = Met(config, Situation::kStoreRolledBack, [&](const RunResult& result) {
      repaired += Count(result, [](const Record& record) {
        return record.op == Op::kSettle && FateOf(record) == DeliveryFate::kRestored;
      });
    });
    EXPECT_GT(level == Level::kAtomic ? again : static_cast<uint64_t>(repaired), 0U);
  }
}

// Rule 49: another store under the commit, as on a second machine, refuses to start at the level
// atomic; from the log's beginning, by a person's act, it becomes the ledger.
TEST(StoreScenarios, AnotherMachinesStoreRefusesToStart) {
  Config config = OnDisk(Level::kAtomic);
  Strike(config, FaultKind::kRemove, 3500 * kMilli);
  EXPECT_GT(Met(config, Situation::kStoreEmpty), 0U);
}

// A process that sleeps holds its stores. Nobody else opens them, and nothing is handled there
// until it wakes or dies.
TEST(StoreScenarios, ASleepersStoreIsNotOpenedBySomebodyElse) {
  Config config = OnDisk(Level::kAtomic);
  Strike(config, FaultKind::kPause, kSecond, 10 * kSecond);
  EXPECT_GT(Met(config, Situation::kStoreHeld), 0U);
}

// Rule 13: the partition was given back at the deadline with a handler still running. Its process
// lives, so the claim is not dead, though its store was opened anew.
TEST(StoreScenarios, AtOpaqueANewOwnerWaitsForAHandlerThatStillRuns) {
  Config config = OnDisk(Level::kOpaque);
  config.slow = 300;
  config.slow_time = 4 * kSecond;
  config.drain = 100 * kMilli;
  for (int64_t i = 1; i <= 6; i++) {
    Strike(config, FaultKind::kRebalance, i * kSecond);
  }
  int64_t both = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    std::map<uint32_t, ActorId> handled;
    for (const Record& record : result.history.records()) {
      if (record.op != Op::kHandle) {
        continue;
      }
      const auto other = handled.find(record.id);
      if (record.phase == Phase::kOk) {
        if (other != handled.end() && other->second == record.process) handled.erase(other);
      } else {
        both += other != handled.end() && other->second != record.process;
        handled[record.id] = record.process;
      }
    }
  });
  EXPECT_EQ(both, 0);
}

}  // namespace
}  // namespace oncemq::sim
