// SPDX-License-Identifier: Apache-2.0
#include "units.h"

#include <array>
#include <cstdio>
#include <span>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  uint64_t factor;
};

// Largest first, for printing.
constexpr std::array<Unit, 4> kTimeUnits{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kByteUnits{
    {{"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}, {"B", 1}}};

constexpr uint64_t kMostBytes = 1ull << 62;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<uint64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                      uint64_t most) {
  size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) {
    digits++;
  }
  const std::optional<int64_t> number = ParseDecimal(text.substr(0, digits));
  if (!number) {
    return std::nullopt;
  }
  for (const Unit& unit : units) {
    const auto count = static_cast<uint64_t>(*number);
    if (unit.name == text.substr(digits) && count <= most / unit.factor) {
      return count * unit.factor;
    }
  }
  return std::nullopt;
}

std::string FormatWithUnit(uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value % unit.factor == 0 && value >= unit.factor) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  return "0" + std::string(units.back().name);
}

// Takes digits and separators from the front of a text; after the first failure everything fails.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  int Number(size_t digits) {
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
      if (rest_.empty() || !IsDigit(rest_.front())) {
        ok_ = false;
        return 0;
      }
      value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  bool Take(char c) {
    const bool there = !rest_.empty() && rest_.front() == c;
    if (there) {
      rest_.remove_prefix(1);
    }
    return there;
  }

  void Expect(char c) { ok_ = Take(c) && ok_; }

  // Milliseconds of a fraction of any length; what is finer is cut.
  int Fraction() {
    int millis = Number(1) * 100;
    for (int weight = 10; !rest_.empty() && IsDigit(rest_.front()); weight /= 10) {
      millis += Number(1) * weight;
    }
    return millis;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::optional<milliseconds> ParseDuration(std::string_view text) {
  const std::optional<uint64_t> millis =
      ParseWithUnit(text, kTimeUnits, static_cast<uint64_t>(kLongestDuration.count()));
  return millis ? std::optional(milliseconds(*millis)) : std::nullopt;
}

std::string FormatDuration(milliseconds duration) {
  return FormatWithUnit(static_cast<uint64_t>(duration.count()), kTimeUnits);
}

std::optional<uint64_t> ParseByteCount(std::string_view text) {
  return ParseWithUnit(text, kByteUnits, kMostBytes);
}

std::string FormatByteCount(uint64_t bytes) {
  return FormatWithUnit(bytes, kByteUnits);
}

std::optional<int64_t> ParseTime(std::string_view text) {
  namespace chr = std::chrono;
  TimeReader in(text);
  const chr::year year(in.Number(4));
  in.Expect('-');
  const chr::month month(static_cast<unsigned>(in.Number(2)));
  in.Expect('-');
  const chr::day day(static_cast<unsigned>(in.Number(2)));
  in.Expect('T');
  const int hour = in.Number(2);
  in.Expect(':');
  const int minute = in.Number(2);
  in.Expect(':');
  const int second = in.Number(2);
  const int millis = in.Take('.') ? in.Fraction() : 0;
  int offset = 0;
  if (!in.Take('Z')) {
    const bool west = in.Take('-');
    if (!west) {
      in.Expect('+');
    }
    const int hours = in.Number(2);
    in.Expect(':');
    const int minutes = in.Number(2);
    offset = (hours * 60 + minutes) * (west ? -1 : 1);
    if (hours > 23 || minutes > 59) {
      return std::nullopt;
    }
  }
  const chr::year_month_day date(year, month, day);
  if (!in.ok() || !in.at_end() || !date.ok() || hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  const chr::sys_time<milliseconds> moment = chr::sys_days(date) + chr::hours(hour) +
                                             chr::minutes(minute - offset) + chr::seconds(second) +
                                             milliseconds(millis);
  return moment.time_since_epoch().count();
}

std::string FormatTime(int64_t millis) {
  namespace chr = std::chrono;
  const chr::sys_time<milliseconds> moment{milliseconds(millis)};
  const auto day = chr::floor<chr::days>(moment);
  const chr::year_month_day date(day);
  const chr::hh_mm_ss clock(moment - day);
  char text[64];
  const int length = std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return std::string(text, static_cast<size_t>(length));
}

}  // namespace oncemq
