// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_record.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr std::string_view kHeading = "oncemq switch record, version 1";
constexpr size_t kLongestText = 4'096;
constexpr size_t kLongestWhy = 512;
constexpr milliseconds kLongestTime = std::chrono::hours(24);

constexpr std::array<std::pair<SwitchMode, std::string_view>, 3> kModes{
    {{SwitchMode::kSingle, "single"}, {SwitchMode::kBoth, "both"}, {SwitchMode::kDrain, "drain"}}};

// One line, whatever was said.
std::string OneLine(std::string_view why) {
  std::string line(why.substr(0, kLongestWhy));
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

// "name value\n" from the front of the text.
std::optional<std::string_view> Field(std::string_view& text, std::string_view name) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end < name.size() + 1 || !text.starts_with(name) ||
      text[name.size()] != ' ') {
    return std::nullopt;
  }
  const std::string_view value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

// 0 for what is no epoch.
uint32_t EpochOf(std::optional<std::string_view> value) {
  const int64_t epoch = value ? ParseDecimal(*value).value_or(0) : 0;
  return epoch > 0 && epoch <= std::numeric_limits<uint32_t>::max() ? static_cast<uint32_t>(epoch)
                                                                    : 0;
}

std::optional<milliseconds> Time(std::optional<std::string_view> value) {
  const auto count = value ? ParseDecimal(*value) : std::nullopt;
  if (!count || *count < 1 || milliseconds(*count) > kLongestTime) {
    return std::nullopt;
  }
  return milliseconds(*count);
}

std::optional<SwitchMode> ModeOf(std::optional<std::string_view> value) {
  for (const auto& [mode, name] : kModes) {
    if (value && *value == name) {
      return mode;
    }
  }
  return std::nullopt;
}

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

// S2.
Result<SwitchRecord> Next(SwitchRecord record, std::string_view why) {
  if (record.epoch == std::numeric_limits<uint32_t>::max()) {
    return Invalid("this was the last epoch");
  }
  record.epoch++;
  record.why = OneLine(why);
  return record;
}

}  // namespace

std::string_view ToString(SwitchMode mode) {
  return kModes[static_cast<size_t>(mode)].second;
}

bool IsStoreName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

std::string Format(const SwitchRecord& record) {
  std::string text(kHeading);
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append("\n").append(name).append(" ").append(value);
  };
  add("epoch", std::to_string(record.epoch));
  add("mode", ToString(record.mode));
  add("from", record.from);
  add("to", record.to);
  add("config_lease_ms", std::to_string(record.config_lease.count()));
  add("longest_ms", std::to_string(record.longest.count()));
  add("why", OneLine(record.why));
  return text + "\n";
}

Result<SwitchRecord> ParseSwitchRecord(std::string_view text) {
  const Error corrupt{Code::kCorrupt, Effect::kNone, "this is no switch record of version 1"};
  if (text.size() > kLongestText || !text.starts_with(kHeading) ||
      !text.substr(kHeading.size()).starts_with("\n")) {
    return corrupt;
  }
  text.remove_prefix(kHeading.size() + 1);
  const uint32_t epoch = EpochOf(Field(text, "epoch"));
  const auto mode = ModeOf(Field(text, "mode"));
  const auto from = Field(text, "from");
  const auto to = Field(text, "to");
  const auto config_lease = Time(Field(text, "config_lease_ms"));
  const auto longest = Time(Field(text, "longest_ms"));
  const auto why = Field(text, "why");
  if (epoch == 0 || !mode || !from || !to || !config_lease || !longest || !why || !text.empty() ||
      OneLine(*why) != *why) {
    return corrupt;
  }
  const bool single = *mode == SwitchMode::kSingle;
  if (!IsStoreName(*from) || (single ? !to->empty() : !IsStoreName(*to) || *to == *from)) {
    return corrupt;
  }
  return SwitchRecord{epoch,         *mode,    std::string(*from), std::string(*to),
                      *config_lease, *longest, std::string(*why)};
}

std::vector<std::string> StoresThatGrant(const SwitchRecord& record, bool fenced) {
  switch (record.mode) {
    case SwitchMode::kSingle:
      return {record.from};
    case SwitchMode::kBoth:
      return {record.from, record.to};
    case SwitchMode::kDrain:
      break;
  }
  return fenced ? std::vector{record.to} : std::vector<std::string>();
}

std::vector<std::string> StoresInForce(const SwitchRecord& record) {
  switch (record.mode) {
    case SwitchMode::kSingle:
      return {record.from};
    case SwitchMode::kBoth:
      return {record.from, record.to};
    case SwitchMode::kDrain:
      break;
  }
  return {record.to};
}

Result<SwitchRecord> BeginSwitch(const SwitchRecord& now, std::string_view to, SwitchMode mode,
                                 std::string_view why) {
  if (mode == SwitchMode::kSingle || !IsStoreName(to)) {
    return Invalid("no such step of a switch");
  }
  if (to == now.from) {
    return Invalid("the store " + now.from + " is in force already");
  }
  if (now.mode != SwitchMode::kSingle) {
    return Invalid("a switch from " + now.from + " to " + now.to + " is under way");
  }
  SwitchRecord next = now;
  next.mode = mode;
  next.to = to;
  return Next(std::move(next), why);
}

Result<SwitchRecord> EndSwitch(const SwitchRecord& now, std::string_view why) {
  if (now.mode == SwitchMode::kSingle) {
    return Invalid("no switch is under way");
  }
  SwitchRecord next = now;
  next.mode = SwitchMode::kSingle;
  next.from = std::exchange(next.to, "");
  return Next(std::move(next), why);
}

Result<SwitchRecord> CallOffSwitch(const SwitchRecord& now, std::string_view why) {
  if (now.mode == SwitchMode::kSingle) {
    return Invalid("no switch is under way");
  }
  SwitchRecord next = now;
  next.mode = SwitchMode::kSingle;
  next.to.clear();
  return Next(std::move(next), why);
}

milliseconds HowLongToEnd(const SwitchRecord& record) {
  return record.config_lease + record.longest;
}

}  // namespace oncemq
