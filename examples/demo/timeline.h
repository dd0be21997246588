// SPDX-License-Identifier: Apache-2.0
// A run over time: counters in steps of equal length, the moments that a picture marks, and the
// stretches in which the run waits. The steps add up to the counters, however rare the samples are.
//
// Thread safety: none; values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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

// A stretch in which little or nothing is handled, and the reason.
struct Wait {
  int64_t begin_ms = 0;
  int64_t end_ms = 0;
  std::string reason;
};

struct Timeline {
  std::vector<Step> steps;  // of kStepMs each, from the beginning of the run on
  std::vector<Mark> marks;
  std::vector<Wait> waits;
};

// Collects marks and waits while a run goes on, at times that don't fall.
class Moments {
 public:
  void Add(Mark mark) { marks_.push_back(std::move(mark)); }
  void BeginWait(int64_t at_ms, std::string reason);  // ends an open one
  void EndWait(int64_t at_ms);                        // without an open one: nothing
  const std::vector<Mark>& marks() const { return marks_; }
  const std::vector<Wait>& waits() const { return waits_; }  // those that have ended

 private:
  std::vector<Mark> marks_;
  std::vector<Wait> waits_;
  std::optional<Wait> open_;
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
