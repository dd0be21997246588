// SPDX-License-Identifier: Apache-2.0
// What happened when: counters over the time of a run, in steps of equal length, and the moments
// that a picture marks. The steps add up to the counters, whatever the sampling missed between.
// Thread safety: none; values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "effect_log.h"

namespace oncemq::demo {

inline constexpr int64_t kStepMs = 500;

struct Step {
  int64_t effects = 0;  // booked for the first time
  int64_t others = 0;   // with a window: suppressed; without: booked again
};

struct Mark {
  int64_t at_ms = 0;
  std::string text;
  bool kill = false;
};

struct Timeline {
  std::vector<Step> steps;  // of kStepMs each, from the beginning of the run on
  std::vector<Mark> marks;
};

// Takes counters that only grow, at times that don't fall.
class Sampler {
 public:
  void Sample(int64_t at_ms, Step counted);
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
  Step taken_;
};

// The bookings of a plain log by the time at which they were made.
std::vector<Step> StepsOf(const std::vector<Posting>& postings, int64_t begin_ms);

Step TotalOf(const std::vector<Step>& steps);

}  // namespace oncemq::demo
