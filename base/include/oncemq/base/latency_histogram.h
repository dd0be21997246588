// SPDX-License-Identifier: Apache-2.0
// LatencyHistogram: how long calls have taken, in buckets from 50 us to 30 s.
//
//   LatencyHistogram commits;
//   commits.Observe(answered - sent);
//   const LatencySnapshot now = commits.Snapshot();
//
// **Limits:** a snapshot during an Observe() may have the call in its bucket, and not yet in the
// sum.
//
// **Thread safety:** any thread, without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "oncemq/base/clock.h"

namespace oncemq {

// The upper bounds of the buckets. After them comes one without a bound.
inline constexpr std::array kLatencyBounds{
    microseconds(50),        microseconds(100),        microseconds(250),
    microseconds(500),       microseconds(1'000),      microseconds(2'500),
    microseconds(5'000),     microseconds(10'000),     microseconds(25'000),
    microseconds(50'000),    microseconds(100'000),    microseconds(250'000),
    microseconds(500'000),   microseconds(1'000'000),  microseconds(2'500'000),
    microseconds(5'000'000), microseconds(10'000'000), microseconds(30'000'000)};

struct LatencySnapshot {
  std::array<uint64_t, kLatencyBounds.size() + 1> counts{};
  microseconds sum{0};
};

class LatencyHistogram {
 public:
  // `calls` of them took as long, each.
  void Observe(microseconds took, uint64_t calls = 1) {
    const auto* const bound = std::ranges::lower_bound(kLatencyBounds, took);
    const auto bucket = static_cast<size_t>(bound - kLatencyBounds.begin());
    counts_[bucket].fetch_add(calls, std::memory_order_relaxed);
    sum_.fetch_add(took.count() * static_cast<int64_t>(calls), std::memory_order_relaxed);
  }

  LatencySnapshot Snapshot() const {
    LatencySnapshot now;
    for (size_t i = 0; i < counts_.size(); i++) {
      now.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    now.sum = microseconds(sum_.load(std::memory_order_relaxed));
    return now;
  }

 private:
  std::array<std::atomic<uint64_t>, kLatencyBounds.size() + 1> counts_{};
  std::atomic<int64_t> sum_{0};
};

}  // namespace oncemq
