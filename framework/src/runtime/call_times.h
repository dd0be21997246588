// SPDX-License-Identifier: Apache-2.0
// CallTimes: the time of each call of a handler in a batch, without a look at the precise clock for
// each. Calls within a tick of the coarse clock share a tick at most. The last one before the tick
// moved has the rest, so no long call hides among short ones.
//
// **Thread safety:** none. It belongs to its job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/latency_histogram.h"

namespace oncemq {

class CallTimes {
 public:
  void Reset() {
    spans_.clear();
    total_ = microseconds(0);
  }
  void Begin(BootTime now) {
    calls_ = 0;
    seen_ = now;
  }
  void Returned() { calls_++; }
  void SeeTime(BootTime now) {
    const microseconds time = now - seen_;
    seen_ = now;
    total_ += time;
    if (calls_ == 0) {
      return;
    }
    const microseconds shared = std::min(time, kTick) / calls_;
    const uint32_t others = calls_ - 1;
    if (others > 0) {
      spans_.push_back({shared, others});
    }
    spans_.push_back({time - shared * others, 1});
    calls_ = 0;
  }

  microseconds total() const { return total_; }
  void MoveTo(LatencyHistogram& times) {
    for (const Span& span : spans_) {
      times.Observe(span.each, span.calls);
    }
    spans_.clear();
  }

 private:
  static constexpr microseconds kTick{10'000};  // as of Clock::Tick()
  struct Span {
    microseconds each;
    uint32_t calls;
  };
  BootTime seen_{};
  uint32_t calls_ = 0;  // since then
  microseconds total_{0};
  std::vector<Span> spans_;
};

}  // namespace oncemq
