// SPDX-License-Identifier: Apache-2.0
// Keeps a fault that repeats thousands of times a second from burying the log. Lines are alike when
// area and text are the same; of those, `per_second` pass in each second and the rest is counted,
// to be said in one line afterwards. Memory is bounded: more than a few hundred different lines in
// one second pass unlimited, since they are not alike. Thread safety: none; the writer locks.
#pragma once

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

  // 0 means no limit.
  explicit RepeatLimit(uint32_t per_second);

  bool Admit(LogLevel level, std::string_view area, std::string_view text, BootTime now);

  // What was held back in seconds that have ended by `now`; each line is told once.
  std::vector<HeldBack> Take(BootTime now);

 private:
  struct Slot {
    uint64_t hash = 0;
    BootTime since;
    uint32_t passed = 0;
    HeldBack held;
  };

  Slot* Find(uint64_t hash, BootTime now);

  const uint32_t per_second_;
  std::vector<Slot> slots_;
  std::vector<HeldBack> ended_;  // seconds that ended while the line went on
};

}  // namespace oncemq
