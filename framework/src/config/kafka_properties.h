// SPDX-License-Identifier: Apache-2.0
// Which librdkafka properties a user may pass on. What is not in the list is refused: a property
// that nobody has judged may load code, run a shell, skip a check or move the position behind the
// runtime's back. Pure: knows names only, and needs no librdkafka.
//
// Thread safety: constant data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

enum class PropertyUse : unsigned char {
  kAllowed,
  kNumber,   // allowed; the value must be a KafkaNumber()
  kSecret,   // allowed; its value is never printed
  kInShell,  // allowed; librdkafka puts the value into a shell command, so few characters are taken
  kRefused,
};

struct KafkaProperty {
  std::string_view name;
  PropertyUse use = PropertyUse::kRefused;
  std::string_view why = {};  // of kRefused: the reason, and what to write instead
};

std::span<const KafkaProperty> KafkaProperties();

// nullptr: a property that nobody has judged.
const KafkaProperty* FindKafkaProperty(std::string_view name);

// A whole number that everybody reads alike: librdkafka would take 0x10, 010, +10 and 10ms too, and
// a bound that reads them otherwise, or not at all, would bind nothing.
std::optional<int32_t> KafkaNumber(std::string_view value);

// kInvalid with a reason that names the property, and never its value.
Status CheckKafkaProperty(std::string_view name, std::string_view value);

// Of `heartbeat.interval.ms`, others pass: it must not be longer than the session margin
// (docs/model, clause 10C). What can't be read is refused.
Status CheckHeartbeat(std::string_view name, std::string_view value, microseconds session_margin);

// What may be printed of it.
std::string PrintableKafkaProperty(std::string_view name, std::string_view value);

}  // namespace oncemq
