// SPDX-License-Identifier: Apache-2.0
// LagWatch judges a partition by its commits and its lag, with Burrow's rules and words
// (core/internal/evaluator/caching.go of linkedin/Burrow).
//
//   watch.Begin(now);                       // an assignment begins
//   watch.Note(now, committed, lag);        // a commit was acknowledged
//   const LagTrend trend = watch.Judge(now, lag);
//
// The first rule that holds gives the word:
//
//   REWIND   a commit was below the one before
//   STOP     no commit for a minute
//   STALL    half a minute or more of commits at one offset
//   WARN     in such a time the lag never fell from one commit to the next
//   OK       else, and always without a lag, now or at a commit of the last minute
//
// **Limits:** commits within kSpacing count as one.
//
// **Thread safety:** none. No I/O.
#pragma once

#include <deque>

#include "oncemq/framework/runtime.h"

namespace oncemq {

class LagWatch {
 public:
  static constexpr microseconds kWindow{60'000'000};
  static constexpr microseconds kComplete{30'000'000};
  static constexpr microseconds kSpacing{5'000'000};

  void Begin(BootTime now) { last_commit_ = now; }
  void Note(BootTime now, int64_t committed, int64_t lag);
  LagTrend Judge(BootTime now, int64_t lag) const;

 private:
  struct Sample {
    BootTime at{};
    int64_t committed = 0;
    int64_t lag = 0;
  };

  std::deque<Sample> samples_;  // of the last minute
  BootTime last_commit_{};
};

}  // namespace oncemq
