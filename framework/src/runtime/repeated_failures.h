// SPDX-License-Identifier: Apache-2.0
// RepeatedFailures: which failures of a call that is repeated are worth a line: the first one, then
// one in ten seconds with the count of all, and the end of an outage.
//
//   if (const auto told = failures.Failed(now)) Log(..., {{"failures", told->count}});
//   if (const auto told = failures.Succeeded(now)) Log(...);
//
// **Limits:** one line of failures in kEvery, also where calls succeed in between. Only failures
// that went on for a second without a success have an end that is told.
//
// **Thread safety:** none.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "oncemq/base/clock.h"

namespace oncemq {

class RepeatedFailures {
 public:
  static constexpr microseconds kEvery{10'000'000};
  static constexpr microseconds kWorthAnEnd{1'000'000};

  struct Summary {
    uint64_t count = 0;     // of failures since the last line of them; at the end: of all
    microseconds since{0};  // the first failure without a success after it
  };

  // Nothing: no line now.
  std::optional<Summary> Failed(BootTime now) {
    count_++;
    all_++;
    since_ = since_.value_or(now);
    if (logged_at_ && now < *logged_at_ + kEvery) {
      return std::nullopt;
    }
    logged_at_ = now;
    return Summary{std::exchange(count_, 0), now - *since_};
  }

  std::optional<Summary> Succeeded(BootTime now) {
    if (!since_) {
      return std::nullopt;
    }
    const Summary end{std::exchange(all_, 0), now - *std::exchange(since_, std::nullopt)};
    return end.since >= kWorthAnEnd ? std::optional(end) : std::nullopt;
  }

 private:
  uint64_t count_ = 0;
  uint64_t all_ = 0;
  std::optional<BootTime> since_;      // nothing: the last call has succeeded
  std::optional<BootTime> logged_at_;  // the last line
};

}  // namespace oncemq
