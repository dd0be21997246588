// SPDX-License-Identifier: Apache-2.0
// The swarm: each seed leaves most faults out and turns some up, because a run with a little of
// everything finds less than many runs with much of something.
#include <algorithm>

#include "config.h"
#include "oncemq/framework/batch_machine.h"
#include "rng.h"

namespace oncemq::sim {
namespace {

int64_t Pick(Rng& rng, std::initializer_list<int64_t> values) {
  return values.begin()[rng.Below(values.size())];
}

// Zero in most runs, else something up to `most`.
int64_t Rate(Rng& rng, int64_t often, int64_t most) {
  return rng.Chance(often) ? rng.Between(1, most) : 0;
}

void Shape(Rng& rng, Config& c) {
  c.partitions = rng.Between(1, 4);
  c.processes = rng.Between(1, 4);
  c.workers = Pick(rng, {1, 1, 2, 3});
  c.cooperative = rng.Chance(500);
  c.messages = Pick(rng, {5, 12, 30, 60, 120, 250});
  c.keys = Pick(rng, {1, 2, 5, 20});
  c.no_key = Rate(rng, 200, 1000);
  c.copies = Rate(rng, 700, 400);
  c.near_copies = Pick(rng, {0, 300, 900});
  c.holes = Rate(rng, 400, 300);
  c.map_room = rng.Chance(150) ? rng.Between(4, 40) : c.map_room;
  c.appended_over = Pick(rng, {0, kSecond, 8 * kSecond});
}

void Promise(Rng& rng, Config& c) {
  c.order = Pick(rng, {1, 1, 1, 0, 2});
  c.level = static_cast<int64_t>(rng.Chance(500) ? Level::kOpaque : Level::kGuarded);
  c.placement = Pick(rng, {0, 0, 0, 0, 0, 1, 1, 2});
  // Ids that cross partitions need a shared window; anything else is refused at start.
  if (PlacementOf(c) == Placement::kShared) {
    c.crossing = Rate(rng, 400, 1000);
    c.rekeyed = Rate(rng, 200, 500);
  }
  c.fence = LevelOf(c) == Level::kGuarded && rng.Chance(400);
  c.journal = rng.Chance(850);
  c.slow = Rate(rng, 400, 200);
  c.slow_time = Pick(rng, {500 * kMilli, 4 * kSecond, 9 * kSecond});
  c.retries = Rate(rng, 500, 300);
  c.rejects = Rate(rng, 300, 100);
  c.malformed = Rate(rng, 150, 60);
}

void Limits(Rng& rng, Config& c) {
  c.in_flight = Pick(rng, {8, 32, 256, 256});
  c.in_flight_bytes = Pick(rng, {2000, 1 << 20});
  c.partition_credit = Pick(rng, {4, 32, 128});
  c.span = Pick(rng, {16, 128, 1024});
  c.batch = Pick(rng, {3, 16, 64});
  c.lane_batch = Pick(rng, {1, 4, 16});
  c.commit_interval = Pick(rng, {10 * kMilli, 100 * kMilli, 800 * kMilli});
  c.lease = Pick(rng, {kSecond, 3 * kSecond, 10 * kSecond});
  c.max_lease = c.lease * Pick(rng, {1, 4, 10});
  c.renew = !rng.Chance(100);
  if (c.crossing > 0 && c.slow > 0) {
    // Two copies whose handler takes longer than its claim can live take each other's claim for
    // ever.
    c.renew = 1;
    c.max_lease = std::max(c.max_lease, 3 * c.slow_time);
  }
  c.handler_timeout = Pick(rng, {kSecond, 4 * kSecond});
  c.drain = Pick(rng, {100 * kMilli, 2 * kSecond, 5 * kSecond});
  c.latency = Pick(rng, {200, kMilli, 20 * kMilli});
}

void Calls(Rng& rng, Config& c) {
  const int64_t most = Pick(rng, {20, 100, 300});
  c.window_lost = Rate(rng, 300, most);
  c.window_refused = Rate(rng, 200, most);
  c.window_partial = Rate(rng, 200, most);
  c.window_late = Rate(rng, 200, most);
  c.commit_lost = Rate(rng, 250, most);
  c.commit_dropped = Rate(rng, 200, most);
  c.commit_late = Rate(rng, 200, most);
  c.commit_retried = Rate(rng, 200, most);
  c.commit_unknown = Rate(rng, 200, most);
  c.journal_lost = Rate(rng, 200, most);
  c.journal_refused = Rate(rng, 200, most);
  c.effect_lost = Rate(rng, 200, most);
}

Fault RandomFault(Rng& rng, const Config& c) {
  Fault fault;
  // Resets bring the whole group down, so they are rare.
  fault.kind = rng.Chance(20) ? FaultKind::kReset : static_cast<FaultKind>(rng.Below(9));
  fault.at = rng.Between(10 * kMilli, c.faults_until);
  fault.slot = rng.Between(0, c.processes - 1);
  fault.partition = rng.Between(0, c.partitions - 1);
  switch (fault.kind) {
    case FaultKind::kCrashAtStep:
    case FaultKind::kCrashInStep:
      fault.value = c.rejects > 0 && rng.Chance(300) ? Pick(rng, {5, 6})
                                                     : Pick(rng, {0, 0, 0, 1, 2, 3, 4, 7});
      break;
    case FaultKind::kCrash:
    case FaultKind::kClose:
      fault.value = rng.Between(kMilli, 3 * kSecond);
      break;
    case FaultKind::kPause:
    case FaultKind::kCut:
      // Often about as long as the session, when the group and the member disagree.
      fault.value = rng.Chance(300)   ? c.session + rng.Between(-kSecond, 2 * kSecond)
                    : rng.Chance(500) ? rng.Between(kMilli, kSecond)
                                      : rng.Between(kSecond, 15 * kSecond);
      break;
    case FaultKind::kWindowDown:
      fault.value = rng.Between(kMilli, 5 * kSecond);
      break;
    case FaultKind::kRewind:
      fault.value = rng.Between(1, 20);
      break;
    case FaultKind::kReset:
      fault.value = static_cast<int64_t>(rng.Below(1000));
      break;
    default:
      break;
  }
  return fault;
}

// Drawn last, so that a seed keeps what it had before these were thought of.
void Beyond(Rng& rng, Config& c) {
  c.commit_slow = Rate(rng, 150, 200);
  c.raise_late = Rate(rng, 150, 200);
  if (c.rejects > 0 && c.journal != 0 && rng.Chance(300)) {
    // Else so rare that a sweep takes thousands of seeds to see it.
    c.faults.push_back({.kind = FaultKind::kCrashInStep,
                        .at = rng.Between(10 * kMilli, c.faults_until),
                        .slot = rng.Between(0, c.processes - 1),
                        .value = static_cast<int64_t>(BatchStep::kPark)});
  }
  if (rng.Chance(60)) {
    c.remember = rng.Between(4, 60);
  } else if (PlacementOf(c) == Placement::kPerProcess && rng.Chance(600)) {
    c.catch_up = 1000;
  }
  if (OrderOf(c) == Order::kUnordered && c.fence == 0) {
    c.replay = Rate(rng, 300, 1000);
  }
  if (rng.Chance(200)) {
    c.skew = Pick(rng, {10 * kMilli, kSecond, 3600 * kSecond});
    c.fence &= PlacementOf(c) == Placement::kShared;  // docs/guarantees.md: fences follow clocks
  }
  c.pass = c.malformed > 0 && rng.Chance(500);
  c.waiting = Pick(rng, {1, 8, 64});
  c.waiting_bytes = Pick(rng, {500, 1 << 20});
  if (OrderOf(c) == Order::kKey && PlacementOf(c) == Placement::kShared &&
      c.remember == kForgetsNothing && rng.Chance(200)) {
    c.park = 1;
    c.attempts = rng.Between(1, 4);
    c.waiting_parks = rng.Chance(500);
    c.journal_late = Rate(rng, 300, 100);
  }
}

}  // namespace

Config RandomConfig(uint64_t seed) {
  Rng rng(seed, "swarm");
  Config config;
  config.seed = static_cast<int64_t>(seed);
  Shape(rng, config);
  Promise(rng, config);
  Limits(rng, config);
  Calls(rng, config);
  const auto faults = static_cast<size_t>(Pick(rng, {0, 2, 6, 15, 40}));
  for (size_t i = 0; i < faults; i++) {
    config.faults.push_back(RandomFault(rng, config));
  }
  config.conflicting = Rate(rng, 200, 200);
  Beyond(rng, config);
  return config;
}

}  // namespace oncemq::sim
