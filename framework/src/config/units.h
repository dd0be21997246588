// SPDX-License-Identifier: Apache-2.0
// Reads the values of a configuration strictly: a number without its unit, a date that is no day
// or a character too many is nothing.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oncemq {

inline constexpr std::chrono::milliseconds kLongestDuration = std::chrono::hours(10'000);

// "500ms", "30s", "10m", "1h"; at most kLongestDuration.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);
std::string FormatDuration(std::chrono::milliseconds duration);

// "4096B", "64KiB", "256MiB", "2GiB".
std::optional<uint64_t> ParseByteCount(std::string_view text);
std::string FormatByteCount(uint64_t bytes);

// RFC 3339, "2026-11-21T10:00:00Z", "...00.123+01:00", as milliseconds since 1970.
std::optional<int64_t> ParseTime(std::string_view text);
std::string FormatTime(int64_t millis);

}  // namespace oncemq
