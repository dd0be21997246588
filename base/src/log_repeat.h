// SPDX-License-Identifier: Apache-2.0
// Keeps a fault that repeats thousands of times a second from burying the log. Of lines that are
// alike, `most` pass in each interval and the rest is counted, to be said in one line afterwards.
// Memory is bounded: more than a few hundred different lines in one interval pass unlimited, since
// they are not alike.
//
// Thread safety: none; the writer locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/log.h"

namespace oncemq {

class RepeatLimit {
 public:
  struct HeldBack {
    LogLevel level = LogLevel::kInfo;
    std::string area;
    std::string text;
    uint64_t count = 0;
  };

  // Which lines are alike: those of one area whose texts are the same, or differ in digits only, as
  // in the number of a file or of a partition.
  enum class Alike : unsigned char { kSameText, kButForDigits };

  // 0 means no limit.
  explicit RepeatLimit(uint32_t most, microseconds interval = std::chrono::seconds(1),
                       Alike alike = Alike::kSameText);

  bool Admit(LogLevel level, std::string_view area, std::string_view text, BootTime now);

  // The lines held back in intervals that have ended by `now`; each line is told once.
  std::vector<HeldBack> Take(BootTime now);

 private:
  struct Slot {
    uint64_t hash = 0;
    BootTime since;
    uint32_t passed = 0;
    HeldBack held;
  };

  uint64_t HashOf(std::string_view area, std::string_view text) const;
  Slot* Find(uint64_t hash, BootTime now);

  const uint32_t most_;
  const microseconds interval_;
  const Alike alike_;
  std::vector<Slot> slots_;
  std::vector<HeldBack> ended_;  // intervals that ended while the line went on
};

}  // namespace oncemq
