// SPDX-License-Identifier: Apache-2.0
// Stories about windows that do not move with their partition, at the level opaque (rule 11):
// after an unclean end each repetition is told and counted, and a clean hand-over counts nothing.
#include <map>
#include <utility>

#include "store_scenario.h"

namespace oncemq::sim {
namespace {

constexpr Placement kStayBehind[] = {Placement::kPerProcess, Placement::kPartitionStores};

// Two processes, each with a window that the other one does not see, and work that no commit shows
// for long.
Config Apart(Placement placement) {
  Config config = OnDisk(Level::kOpaque);
  config.placement = static_cast<int64_t>(placement);
  config.hosts = 1;
  config.copies = 0;
  config.messages = 250;
  config.keys = 20;
  config.workers = 2;
  config.commit_interval = 800 * kMilli;
  return config;
}

// Effects of an offset beyond its first one.
int64_t RepeatedEffects(const RunResult& result) {
  std::map<std::pair<int32_t, int64_t>, int64_t> effects;
  int64_t repeated = 0;
  for (const Record& record : result.history.records()) {
    if (record.op == Op::kEffect) {
      repeated += effects[{record.partition, record.offset}]++ > 0 ? 1 : 0;
    }
  }
  return repeated;
}

int64_t UncertainCalls(const RunResult& result) {
  return Count(result, [](const Record& record) {
    return record.op == Op::kHandle && record.phase == Phase::kInvoke && record.flag;
  });
}

int64_t UncertainCounted(const RunResult& result) {
  int64_t uncertain = 0;
  for (const Record& record : result.history.records()) {
    if (record.op == Op::kCounts) {
      uncertain += result.history.counts(record.value).uncertain;
    }
  }
  return uncertain;
}

// That each repetition was told is judged by a checker; here, that there were some, that they are
// counted, and that the count is no more than the dead can have begun.
TEST(UncertainScenarios, AnHeirCountsAllThatADeadOwnerMayHaveBegun) {
  for (const Placement placement : kStayBehind) {
    Config config = Apart(placement);
    Strike(config, FaultKind::kCrash, 1'300 * kMilli, 30 * kSecond);
    int64_t repeated = 0;
    int64_t counted = 0;
    Play(config, [&](const RunResult& result, const Sometimes&) {
      EXPECT_LE(RepeatedEffects(result), UncertainCounted(result)) << ToString(config);
      EXPECT_LE(RepeatedEffects(result), UncertainCalls(result)) << ToString(config);
      repeated += RepeatedEffects(result);
      counted += UncertainCounted(result);
    });
    EXPECT_GT(repeated, 0) << "nothing was repeated: the test is blind";
    EXPECT_LT(counted, 20 * 250) << "a bound that bounds nothing";
  }
}

// An heir that dies too, before it has settled its inheritance, leaves that to the next one: also
// to one that finds its store on the disk.
TEST(UncertainScenarios, WhatAnHeirInheritedStaysInDoubtAfterItsOwnEnd) {
  for (const Placement placement : kStayBehind) {
    for (const FaultKind end : {FaultKind::kCrash, FaultKind::kClose}) {
      Config config = Apart(placement);
      config.slow = 200;
      config.slow_time = 500 * kMilli;
      Strike(config, FaultKind::kCrash, 1'300 * kMilli, 200 * kMilli, /*slot=*/0);
      for (int64_t i = 0; i < 4; i++) {
        Strike(config, end, (7'700 + 300 * i) * kMilli, 200 * kMilli, /*slot=*/i % 2);
      }
      int64_t repeated = 0;
      Play(config, [&](const RunResult& result, const Sometimes&) {
        EXPECT_LE(RepeatedEffects(result), UncertainCalls(result)) << ToString(config);
        repeated += RepeatedEffects(result);
      });
      EXPECT_GT(repeated, 0);
    }
  }
}

TEST(UncertainScenarios, ACleanHandOverCountsNothing) {
  for (const Placement placement : kStayBehind) {
    Config config = Apart(placement);
    for (int64_t i = 1; i <= 4; i++) {
      Strike(config, FaultKind::kRebalance, i * 700 * kMilli);
      Strike(config, FaultKind::kClose, (i * 700 + 350) * kMilli, 200 * kMilli, /*slot=*/i % 2);
    }
    int64_t assigned = 0;
    Play(config, [&](const RunResult& result, const Sometimes&) {
      EXPECT_EQ(RepeatedEffects(result), 0) << ToString(config);
      EXPECT_EQ(UncertainCalls(result), 0) << ToString(config);
      EXPECT_EQ(UncertainCounted(result), 0) << ToString(config);
      assigned += Count(result, [](const Record& record) { return record.op == Op::kAssign; });
    });
    EXPECT_GT(assigned, 20 * 8) << "partitions did not move";
  }
}

// Without a mark of a clean end an operator's reset is no proof either: records in the log above it
// may have been handled.
TEST(UncertainScenarios, WhatRunsAgainAfterAnOperatorsResetIsTold) {
  Config config = Apart(Placement::kPerProcess);
  Strike(config, FaultKind::kReset, kSecond, 300);
  Strike(config, FaultKind::kReset, 9 * kSecond, 100);
  int64_t repeated = 0;
  Play(config, [&](const RunResult& result, const Sometimes&) {
    EXPECT_LE(RepeatedEffects(result), UncertainCalls(result)) << ToString(config);
    repeated += RepeatedEffects(result);
  });
  EXPECT_GT(repeated, 0);
}

}  // namespace
}  // namespace oncemq::sim
