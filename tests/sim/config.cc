// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include <array>

#include "oncemq/base/bytes.h"

namespace oncemq::sim {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(FaultKind::kCount)> kFaultNames{
    "crash",
    "crash_at",
    "crash_in",
    "pause",
    "cut",
    "close",
    "rebalance",
    "rewind",
    "window_down",
    "reset",
    "expire",
    "put_back",
    "remove",
    "power_loss",
    "copy_store",
    "compact",
    "retain",
    "crash_forgetting",
    "power_forgetting",
    "read_uncommitted"};

std::string FaultText(const Fault& fault) {
  return std::string(ToString(fault.kind)) + ":" + std::to_string(fault.at) + ":" +
         std::to_string(fault.event) + ":" + std::to_string(fault.slot) + ":" +
         std::to_string(fault.partition) + ":" + std::to_string(fault.value);
}

std::optional<int64_t> Number(std::string_view text) {
  const bool negative = text.starts_with("-");
  const auto value = ParseDecimal(text.substr(negative ? 1 : 0));
  return value ? std::optional(negative ? -*value : *value) : std::nullopt;
}

std::optional<Fault> ParseFault(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) {
      break;
    }
    text.remove_prefix(colon + 1);
  }
  if (parts.size() != 6) {
    return std::nullopt;
  }
  Fault fault;
  size_t kind = 0;
  while (kind < kFaultNames.size() && kFaultNames[kind] != parts[0]) {
    kind++;
  }
  if (kind == kFaultNames.size()) {
    return std::nullopt;
  }
  fault.kind = static_cast<FaultKind>(kind);
  int64_t* const numbers[] = {&fault.at, &fault.event, &fault.slot, &fault.partition, &fault.value};
  for (size_t i = 0; i < 5; i++) {
    const auto number = Number(parts[i + 1]);
    if (!number) {
      return std::nullopt;
    }
    *numbers[i] = *number;
  }
  return fault;
}

bool ParseWord(std::string_view word, Config& config) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return false;
  }
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  if (name == "fault") {
    const auto fault = ParseFault(value);
    if (fault) {
      config.faults.push_back(*fault);
    }
    return fault.has_value();
  }
  bool known = false;
  const auto number = Number(value);
  EachNumber(config, [&](std::string_view field, int64_t& place) {
    if (field == name && number) {
      place = *number;
      known = true;
    }
  });
  return known;
}

}  // namespace

std::string_view ToString(FaultKind kind) {
  return kFaultNames[static_cast<size_t>(kind)];
}

std::string ToString(const Config& config) {
  std::vector<int64_t> defaults;
  const Config plain;
  EachNumber(plain, [&](std::string_view, int64_t value) { defaults.push_back(value); });
  std::string out;
  size_t i = 0;
  EachNumber(config, [&](std::string_view name, int64_t value) {
    if (value != defaults[i++] || name == "seed") {
      out += (out.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
    }
  });
  for (const Fault& fault : config.faults) {
    out += " fault=" + FaultText(fault);
  }
  return out;
}

std::optional<Config> ParseConfig(std::string_view text) {
  Config config;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!word.empty() && !ParseWord(word, config)) {
      return std::nullopt;
    }
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return config;
}

}  // namespace oncemq::sim
