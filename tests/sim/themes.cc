// SPDX-License-Identifier: Apache-2.0
// Themes: the swarm finds what mixtures break; a theme gives one kind of trouble so often that few
// seeds are enough to find what only that kind breaks.
#include <algorithm>

#include "config.h"
#include "rng.h"

namespace oncemq::sim {
namespace {

void Add(Config& c, Rng& rng, FaultKind kind, int64_t count, int64_t least, int64_t most) {
  for (int64_t i = 0; i < count; i++) {
    c.faults.push_back({.kind = kind,
                        .at = rng.Between(10 * kMilli, c.faults_until),
                        .slot = rng.Between(0, c.processes - 1),
                        .partition = rng.Between(0, c.partitions - 1),
                        .value = rng.Between(least, most)});
  }
}

void Share(Config& c) {
  c.placement = static_cast<int64_t>(Placement::kShared);
}

void Doubt(Config& c, Rng& rng) {
  Share(c);
  c.level = static_cast<int64_t>(Level::kOpaque);
  c.fence = 0;
  c.retries = 200;
  c.effect_lost = 150;
  c.window_lost = 200;
  c.window_refused = 100;
  c.window_late = rng.Chance(300) ? 100 : 0;
  Add(c, rng, FaultKind::kRebalance, 5, 0, 0);
}

void Rebalances(Config& c, Rng& rng) {
  c.processes = rng.Between(2, 4);
  c.slow = 100;
  c.drain = rng.Chance(500) ? 100 * kMilli : 2 * kSecond;
  Add(c, rng, FaultKind::kRebalance, 20, 0, 0);
  Add(c, rng, FaultKind::kClose, 4, kMilli, kSecond);
}

void Rewinds(Config& c, Rng& rng) {
  c.retries = 200;
  c.slow = 50;
  c.slow_time = 500 * kMilli;
  Add(c, rng, FaultKind::kRewind, 40, 1, 30);
  Add(c, rng, FaultKind::kCrash, 3, kMilli, kSecond);
}

void Zombies(Config& c, Rng& rng) {
  Share(c);
  c.processes = rng.Between(2, 4);
  c.slow = 100;
  c.slow_time = 4 * kSecond;
  c.commit_interval = 10 * kMilli;
  Add(c, rng, FaultKind::kPause, 6, c.session - 2 * kSecond, c.session + 4 * kSecond);
  Add(c, rng, FaultKind::kCut, 6, c.session - 2 * kSecond, c.session + 4 * kSecond);
}

void Commits(Config& c, Rng& rng) {
  c.commit_lost = c.commit_late = c.commit_dropped = c.commit_unknown = 100;
  c.commit_retried = 200;
  c.commit_interval = 10 * kMilli;
  Add(c, rng, FaultKind::kRebalance, 12, 0, 0);
  Add(c, rng, FaultKind::kCut, 3, kMilli, 8 * kSecond);
}

void Carried(Config& c, Rng& rng) {
  Share(c);
  c.order = rng.Chance(700) ? static_cast<int64_t>(Order::kUnordered) : c.order;
  c.slow = 80;
  c.slow_time = 4 * kSecond;
  c.workers = 3;
  c.lane_batch = 1;
  c.batch = 4;
  c.commit_interval = 10 * kMilli;
  c.window_lost = 50;
  c.map_room = rng.Chance(300) ? rng.Between(4, 40) : 4096;
  Add(c, rng, FaultKind::kCrash, 8, kMilli, 500 * kMilli);
  Add(c, rng, FaultKind::kCrashAtStep, 3, 0, 0);
  Add(c, rng, FaultKind::kCrashInStep, 3, 0, 0);
}

void Copies(Config& c, Rng& rng) {
  Share(c);
  c.copies = 500;
  c.near_copies = 500;
  c.crossing = rng.Chance(500) ? 400 : 0;
  c.rekeyed = rng.Chance(300) ? 300 : 0;
  c.workers = rng.Between(1, 3);
  c.retries = 300;
  c.rejects = 60;
  c.journal = 1;
  c.conflicting = rng.Chance(500) ? 150 : 0;
  c.collide = rng.Chance(200);
}

void Refusals(Config& c, Rng& rng) {
  c.rejects = 100;
  c.malformed = 30;
  c.copies = 300;
  c.journal = rng.Chance(700);
  c.journal_lost = c.journal_refused = 150;
  Add(c, rng, FaultKind::kCrashAtStep, 2, 5, 6);
  Add(c, rng, FaultKind::kCrashInStep, 2, 5, 6);
  Add(c, rng, FaultKind::kRebalance, 4, 0, 0);
  c.pass = rng.Chance(500);  // drawn last
}

void LongRuns(Config& c, Rng& rng) {
  Share(c);
  c.processes = rng.Between(2, 3);
  c.partitions = rng.Between(2, 4);
  c.messages = 12;
  c.copies = 500;
  c.crossing = 700;
  c.slow = 500;
  c.slow_time = 4 * kSecond;
  c.lease = kSecond;
  c.max_lease = 30 * kSecond;
  c.renew = 1;
}

void TinyLimits(Config& c, Rng& rng) {
  c.in_flight = rng.Between(2, 12);
  c.in_flight_bytes = rng.Chance(500) ? 1000 : 1 << 20;
  c.partition_credit = rng.Between(2, 8);
  c.span = rng.Between(4, 16);
  c.batch = rng.Between(1, 6);
  c.retries = 200;
  Add(c, rng, FaultKind::kRebalance, 10, 0, 0);
}

void Resets(Config& c, Rng& rng) {
  Add(c, rng, FaultKind::kReset, 3, 0, 1000);
}

void Fencing(Config& c, Rng& rng) {
  Share(c);
  c.raise_late = 600;
  c.commit_slow = 500;
  c.commit_interval = 10 * kMilli;
  c.drain = 100 * kMilli;
  Add(c, rng, FaultKind::kRebalance, 8, 0, 0);
}

void Forgetting(Config& c, Rng& rng) {
  c.remember = rng.Between(4, 60);
  c.messages = 120;
  c.copies = 500;
  c.near_copies = rng.Chance(500) ? 0 : 500;
  c.retries = 100;
  Add(c, rng, FaultKind::kRewind, 10, 1, 30);
  Add(c, rng, FaultKind::kCrash, 2, kMilli, kSecond);
}

// What the log's own policies take, and what a catch-up may cost.
void Cleans(Config& c, Rng& rng) {
  c.compacted = rng.Chance(400);
  Add(c, rng, c.compacted != 0 ? FaultKind::kCompact : FaultKind::kRetain, 6, 0, 1000);
  c.run_incomplete = rng.Chance(500);
  c.catch_up = rng.Chance(300) ? rng.Between(1, 60) : c.catch_up;
  c.catch_up_time = rng.Chance(500) ? rng.Between(50, 200) * kMilli : 0;
  c.window_refused = rng.Chance(600) ? 600 : c.window_refused;
  // One that lands behind a later one would stand below what is gone.
  c.commit_late = c.commit_retried = 0;
}

void CatchingUp(Config& c, Rng& rng) {
  c.placement = static_cast<int64_t>(Placement::kPerProcess);
  c.fence = 0;
  c.catch_up = rng.Chance(800) ? 100'000 : rng.Between(1, 50);
  c.processes = rng.Between(2, 4);
  c.copies = 500;
  c.near_copies = 0;
  c.rejects = c.malformed = rng.Chance(200) ? 30 : 0;
  c.window_refused = rng.Chance(500) ? 300 : 0;
  Add(c, rng, FaultKind::kRebalance, 10, 0, 0);
  Add(c, rng, FaultKind::kCrash, 3, kMilli, kSecond);
  Add(c, rng, FaultKind::kClose, 3, kMilli, kSecond);
  Add(c, rng, FaultKind::kRewind, 3, 1, 30);
  if (rng.Chance(300)) {
    Cleans(c, rng);
  }
}

void Replay(Config& c, Rng& rng) {
  Share(c);
  c.replay = rng.Between(200, 1000);
  c.order = static_cast<int64_t>(Order::kUnordered);  // rule 43 promises no order to a replay
  c.fence = 0;                                        // and nobody has given it one
  c.slow = 200;
  c.slow_time = 500 * kMilli;
  c.renew = 1;
  c.max_lease = 30 * kSecond;
  Add(c, rng, FaultKind::kCrash, 3, kMilli, kSecond);
  Add(c, rng, FaultKind::kRebalance, 4, 0, 0);
}

void Clocks(Config& c, Rng& rng) {
  c.skew = rng.Chance(500) ? kSecond : 3600 * kSecond;
  if (PlacementOf(c) != Placement::kShared) {
    c.fence = 0;  // fences of two windows in memory are as good as their clocks: docs/guarantees.md
  }
  c.processes = rng.Between(2, 4);
  c.slow = 100;
  Add(c, rng, FaultKind::kRebalance, 6, 0, 0);
  Add(c, rng, FaultKind::kCrash, 4, kMilli, kSecond);
  Add(c, rng, FaultKind::kPause, 3, c.session - 2 * kSecond, c.session + 4 * kSecond);
}

void Stores(Config& c, Rng& rng) {
  c.placement = static_cast<int64_t>(Placement::kPartitionStores);
  c.fence = c.conflicting = c.replay = c.skew = c.pass = c.raise_late = 0;
  c.remember = kForgetsNothing;
  c.catch_up = 100'000;
  c.run_incomplete = 0;
  c.sync = rng.Chance(200) ? 0 : rng.Between(1, 2);
  c.store_busy = rng.Chance(300) ? rng.Between(1, 60) : 0;
  c.store_fails = rng.Chance(300) ? rng.Between(1, 60) : 0;
  c.processes = rng.Between(1, 3);
  Add(c, rng, FaultKind::kRebalance, 4, 0, 0);
  Add(c, rng, FaultKind::kCrash, 3, kMilli, kSecond);
  Add(c, rng, FaultKind::kPowerLoss, rng.Between(0, 4), kMilli, kSecond);
  // Who sleeps holds its stores, whatever the group thinks.
  Add(c, rng, FaultKind::kPause, rng.Between(0, 2), c.session - 2 * kSecond,
      c.session + 4 * kSecond);
}

// What people do to stores and commits.
void Moves(Config& c, Rng& rng) {
  if (rng.Chance(300)) {
    Add(c, rng, FaultKind::kCopyStore, 3, 0, 0);
    Add(c, rng, FaultKind::kPutBack, 1, 0, 0);
  }
  Add(c, rng, FaultKind::kRemove, rng.Chance(150), 0, 0);
  Add(c, rng, FaultKind::kExpire, rng.Chance(150), 0, 0);
  Add(c, rng, FaultKind::kReset, rng.Chance(300), 0, 1000);
}

void Local(Config& c, Rng& rng) {
  Stores(c, rng);
  Moves(c, rng);
  c.level = static_cast<int64_t>(rng.Chance(500) ? Level::kOpaque : Level::kGuarded);
  c.hosts = rng.Chance(300);
  c.rejects = c.malformed = rng.Chance(200) ? 30 : 0;
  c.copies = 400;
  if (c.hosts == 0 && rng.Chance(200)) {
    c.processes = rng.Between(2, 3);
    c.faults = {{.kind = FaultKind::kPause,
                 .at = rng.Between(10 * kMilli, c.appended_over + kSecond),
                 .value = 2 * c.session}};
  } else if (rng.Chance(300)) {
    Cleans(c, rng);
    c.hosts = rng.Chance(700);
    Add(c, rng, FaultKind::kRebalance, 4, 0, 0);
  }
  c.aborted = rng.Chance(200) ? 150 : 0;
  Add(c, rng, FaultKind::kReadUncommitted, c.aborted > 0 && rng.Chance(300), 0, 0);
  c.collide = rng.Chance(100);
}

void Atomic(Config& c, Rng& rng) {
  Stores(c, rng);
  Moves(c, rng);
  c.level = static_cast<int64_t>(Level::kAtomic);
  c.copies = 300;
  c.retries = rng.Chance(500) ? 150 : 0;
  c.batch = 16;
  c.workers = rng.Between(1, 3);
  c.slow = rng.Chance(500) ? 60 : 0;
  c.slow_time = 500 * kMilli;
  if (rng.Chance(200)) {
    Cleans(c, rng);
  }
}

void Ages(Config& c, Rng& rng) {
  Stores(c, rng);
  c.level = rng.Between(0, 2);
  c.remember_for = rng.Between(1, 4) * kSecond;
  c.appended_over = 20 * kSecond;
  c.faults_until = 20 * kSecond;
  c.messages = 120;
  c.copies = 500;
  c.near_copies = rng.Chance(500) ? 0 : 500;
  c.stamps = rng.Chance(300) ? 50 : 0;
  Add(c, rng, FaultKind::kPowerLoss, rng.Chance(500), kSecond, 12 * kSecond);
  Add(c, rng, FaultKind::kReset, rng.Chance(300), 0, 1000);
  const bool power = rng.Chance(500);
  Add(c, rng, power ? FaultKind::kPowerForgetting : FaultKind::kCrashForgetting, 2, 0, 2);
}

void Killers(Config& c, Rng& rng) {
  constexpr void (*kNextTo[])(Config&, Rng&) = {Doubt,  Commits,    Carried, Copies,
                                                Resets, TinyLimits, Local,   Atomic};
  if (rng.Chance(700)) {
    kNextTo[rng.Between(0, std::size(kNextTo) - 1)](c, rng);
  }
  c.killers = rng.Between(5, 20);  // each of them costs a minute and more
  c.deaths = 6;                    // more than the other deaths of a run
  c.journal = 1;
  c.park = c.attempts = c.waiting_parks = 0;  // a killer kills at its redrive, too
  c.replay = 0;
  c.workers = rng.Between(1, 4);
  Add(c, rng, FaultKind::kRebalance, 6, 0, 0);
}

void Parking(Config& c, Rng& rng) {
  Share(c);
  c.order = static_cast<int64_t>(Order::kKey);
  c.park = 1;
  c.rejects = rng.Between(20, 200);
  c.malformed = rng.Chance(300) ? 30 : 0;
  c.pass = rng.Chance(300);
  c.keys = rng.Between(2, 8);
  c.copies = rng.Chance(500) ? 300 : 0;
  c.hopeless = rng.Chance(300) ? 100 : 0;
  c.attempts = rng.Between(1, 4);
  c.waiting_parks = rng.Chance(500);
  c.remember = kForgetsNothing;
  c.replay = 0;
  const int64_t most = rng.Chance(500) ? 100 : 0;
  c.journal_lost = c.journal_refused = c.journal_late = most;
  Add(c, rng, FaultKind::kCrash, 3, kMilli, kSecond);
  Add(c, rng, FaultKind::kCrashInStep, 2, 5, 6);
  Add(c, rng, FaultKind::kCrashAtStep, 2, 4, 6);
  Add(c, rng, FaultKind::kRebalance, 4, 0, 0);
  Add(c, rng, FaultKind::kPause, 3, 100 * kMilli, 10 * kSecond);
}

}  // namespace

Config ThemeConfig(Theme theme, uint64_t seed) {
  Rng rng(seed, "theme");
  Config config = RandomConfig(seed);
  config.faults.resize(std::min<size_t>(config.faults.size(), 3));
  config.seed = static_cast<int64_t>(seed + 1'000'000 * (1 + static_cast<uint64_t>(theme)));
  constexpr void (*kThemes[])(Config&, Rng&) = {
      Doubt,    Rebalances, Rewinds,    Zombies, Commits, Carried,    Copies,
      Refusals, LongRuns,   TinyLimits, Resets,  Fencing, Forgetting, CatchingUp,
      Replay,   Clocks,     Local,      Atomic,  Ages,    Killers,    Parking};
  static_assert(std::size(kThemes) == static_cast<size_t>(Theme::kCount));
  kThemes[static_cast<size_t>(theme)](config, rng);
  if (PlacementOf(config) != Placement::kShared) {
    config.crossing = config.rekeyed = 0;
  }
  const bool moved = std::ranges::any_of(config.faults, [](const Fault& fault) {
    return fault.kind == FaultKind::kPutBack || fault.kind == FaultKind::kRemove;
  });
  if (config.hosts != 0 || moved) {
    // Such a store does not learn of a redriven id (docs/failures.md, Limits).
    config.park = config.attempts = config.waiting_parks = 0;
  }
  if (config.crossing > 0 && config.slow > 0) {
    config.renew = 1;
    config.max_lease = std::max(config.max_lease, 3 * config.slow_time);
  }
  return config;
}

}  // namespace oncemq::sim
