// SPDX-License-Identifier: Apache-2.0
// ProcessClock: what one process believes about the time. Its boot clock began at another moment
// and runs a little fast or slow, its wall clock is wrong; only its own durations mean something.
//
// Thread safety: none; the loop outlives it.
#pragma once

#include "config.h"
#include "event_loop.h"
#include "rng.h"

namespace oncemq::sim {

class ProcessClock final : public Clock {
 public:
  ProcessClock(const Config& config, const EventLoop& loop, ActorId actor) : loop_(loop) {
    if (config.skew == 0) {
      return;
    }
    Rng rng(static_cast<uint64_t>(config.seed) * 131 + actor, "clock");
    boot_offset_ = rng.Between(0, 1000 * kSecond);
    wall_offset_ = rng.Between(-config.skew, config.skew);
    rate_ = rng.Between(-kMostDrift, kMostDrift);
  }

  BootTime Boot() const override { return ToBoot(loop_.now()); }
  WallTime Wall() const override {
    return {loop_.clock().Wall().micros + wall_offset_ + Drift(loop_.now())};
  }
  BootTime ToBoot(Micros at) const { return loop_.ToBoot(at + Drift(at) + boot_offset_); }
  // Not before the process thinks that it is so late.
  Micros FromBoot(BootTime at) const {
    const Micros own = loop_.FromBoot(at) - boot_offset_;
    Micros real = own - Drift(own);
    while (ToBoot(real) < at) {
      real++;
    }
    return real;
  }

 private:
  static constexpr int64_t kMostDrift = 500;  // parts per million
  Micros Drift(Micros at) const {
    return at / 1'000'000 * rate_ + at % 1'000'000 * rate_ / 1'000'000;
  }

  const EventLoop& loop_;
  Micros boot_offset_ = 0;
  Micros wall_offset_ = 0;
  int64_t rate_ = 0;
};

}  // namespace oncemq::sim
