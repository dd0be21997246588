// SPDX-License-Identifier: Apache-2.0
// Small scopes, exhaustively: two partitions of three messages and two keys, two consumers, and a
// fault instead of each event of the first one; then pairs of a fault there and a crash instead of
// each event of the second one.
#include <gtest/gtest.h>

#include <string>

#include "how_much.h"
#include "verdict_of_run.h"

namespace oncemq::sim {
namespace {

struct Scope {
  const char* name;
  Level level;
  bool cooperative;
  int64_t copies;
  int64_t lost;   // rate of calls whose reply is lost
  int64_t batch;  // messages at once
};

void PrintTo(const Scope& scope, std::ostream* out) {
  *out << scope.name;
}

Config Small(const Scope& scope, int64_t seed) {
  Config config;
  config.seed = seed;
  config.messages = 3;
  config.keys = 2;
  config.appended_over = 0;
  config.level = static_cast<int64_t>(scope.level);
  config.cooperative = scope.cooperative;
  config.copies = scope.copies;
  config.near_copies = 500;
  config.crossing = 500;
  config.window_lost = config.commit_lost = scope.lost;
  config.batch = scope.batch;
  config.latency = 200;
  config.drain = 100 * kMilli;
  config.faults_until = 2 * kSecond;
  return config;
}

Fault InsteadOf(int64_t event, FaultKind kind, int64_t slot, int64_t value) {
  return {.kind = kind, .event = event, .slot = slot, .value = value};
}

class SmallScope : public testing::TestWithParam<Scope> {
 protected:
  // How many events the process of this slot has before the faults end.
  int64_t Events(const Config& config, size_t slot) {
    return static_cast<int64_t>(Judge(config).actor_events[slot + 1]);
  }

  Judgement Judge(const Config& config) {
    runs_++;
    Judgement judgement = RunAndJudge(config, sometimes_);
    if (!judgement.violations.empty()) {
      ADD_FAILURE() << Explain(config, judgement.violations.front());
    }
    return judgement;
  }

  // False: stop here, one failure says enough.
  bool Holds(const Config& config) {
    Judge(config);
    return !HasFailure();
  }

  void TearDown() override { RecordProperty("runs", runs_); }

  Sometimes sometimes_;
  int runs_ = 0;
};

TEST_P(SmallScope, HoldsForEveryFaultAtEveryEvent) {
  const std::pair<FaultKind, int64_t> faults[] = {
      {FaultKind::kCrash, 50 * kMilli}, {FaultKind::kPause, 15 * kSecond},
      {FaultKind::kCut, 15 * kSecond},  {FaultKind::kRebalance, 0},
      {FaultKind::kClose, 50 * kMilli}, {FaultKind::kRewind, 3}};
  for (int64_t seed = 1; seed <= 30; seed++) {
    const Config plain = Small(GetParam(), seed);
    const int64_t events = Events(plain, 0);
    ASSERT_GT(events, 30);
    for (const auto& [kind, value] : faults) {
      for (int64_t event = seed % OneOf(); event < events; event += OneOf()) {
        Config config = plain;
        config.faults = {InsteadOf(event, kind, 0, value)};
        if (!Holds(config)) {
          return;
        }
      }
    }
  }
}

TEST_P(SmallScope, HoldsForEveryPairOfFaultsHereAndThere) {
  const Config plain = Small(GetParam(), 1);
  const int64_t events = Events(plain, 0);
  const std::pair<FaultKind, int64_t> faults[] = {{FaultKind::kCrash, 300 * kMilli},
                                                  {FaultKind::kPause, 8 * kSecond},
                                                  {FaultKind::kCut, 8 * kSecond}};
  for (const auto& [kind, value] : faults) {
    for (int64_t first = 0; first < events; first++) {
      Config config = plain;
      config.faults = {InsteadOf(first, kind, 0, value)};
      const int64_t others = Events(config, 1);
      config.faults.emplace_back();
      for (int64_t second = first % OneOf(); second < others; second += OneOf()) {
        for (const auto& [there, time] : {faults[0], faults[1]}) {
          config.faults[1] = InsteadOf(second, there, 1, time);
          if (!Holds(config)) {
            return;
          }
        }
      }
    }
  }
}

// The same with a store for each partition on one disk, and the power going at every event too.
class SmallStores : public SmallScope {};

TEST_P(SmallStores, HoldForEveryFaultAtEveryEvent) {
  const std::pair<FaultKind, int64_t> faults[] = {{FaultKind::kCrash, 50 * kMilli},
                                                  {FaultKind::kPowerLoss, 50 * kMilli},
                                                  {FaultKind::kPause, 15 * kSecond},
                                                  {FaultKind::kClose, 50 * kMilli}};
  for (int64_t seed = 1; seed <= 8; seed++) {
    Config plain = Small(GetParam(), seed);
    plain.placement = static_cast<int64_t>(Placement::kPartitionStores);
    plain.crossing = plain.window_lost = 0;
    plain.store_fails = GetParam().lost / 10;
    plain.sync = seed % 3;
    plain.catch_up = 1000;
    const int64_t events = Events(plain, 0);
    ASSERT_GT(events, 30);
    for (const auto& [kind, value] : faults) {
      for (int64_t event = seed % OneOf(); event < events; event += OneOf()) {
        Config config = plain;
        config.faults = {InsteadOf(event, kind, 0, value)};
        if (!Holds(config)) {
          return;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(With, SmallStores,
                         testing::Values(Scope{"Guarded", Level::kGuarded, false, 400, 300, 3},
                                         Scope{"Opaque", Level::kOpaque, true, 400, 300, 3},
                                         Scope{"Atomic", Level::kAtomic, false, 400, 0, 3},
                                         Scope{"AtomicLossy", Level::kAtomic, true, 400, 300, 3}),
                         [](const auto& scope) { return scope.param.name; });

INSTANTIATE_TEST_SUITE_P(
    With, SmallScope,
    testing::Values(Scope{"GuardedEager", Level::kGuarded, false, 0, 0, 1},
                    Scope{"GuardedCopies", Level::kGuarded, false, 400, 0, 3},
                    Scope{"GuardedCooperativeLossy", Level::kGuarded, true, 400, 300, 3},
                    Scope{"OpaqueEager", Level::kOpaque, false, 0, 0, 1},
                    Scope{"OpaqueCopies", Level::kOpaque, false, 400, 0, 3},
                    Scope{"OpaqueCooperativeLossy", Level::kOpaque, true, 400, 300, 3}),
    [](const auto& scope) { return scope.param.name; });

}  // namespace
}  // namespace oncemq::sim
