// SPDX-License-Identifier: Apache-2.0
// One log line as bytes, ending with one line feed.
//
//   text  2026-11-21T10:00:00.123Z WARN kafka commit refused topic=pay
//   JSON  {"time":"2026-11-21T10:00:00.123Z","level":"warn","area":"kafka",
//          "text":"commit refused","topic":"pay"}
//
// Text from outside is never a format string. A field called like one of the line's own keys gets a
// "_" behind it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/log.h"

namespace oncemq {

struct LogLine {
  WallTime time;
  LogLevel level = LogLevel::kInfo;
  std::string_view area;
  std::string_view text;
  std::span<const LogField> fields;
  uint64_t alike = 0;  // lines like this one that were held back
};

std::string FormatLogText(const LogLine& line);
std::string FormatLogJson(const LogLine& line);

// RFC 3339 in UTC with milliseconds.
std::string FormatLogTime(WallTime time);

}  // namespace oncemq
