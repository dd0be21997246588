// SPDX-License-Identifier: Apache-2.0
// Which librdkafka properties a user may pass on. What is not in the list is refused: a property
// that nobody has judged may load code, run a shell, skip a check or move the position behind the
// runtime's back. Pure: knows names only, and needs no librdkafka.
// Thread safety: constant data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

enum class PropertyUse : unsigned char {
  kAllowed,
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

// kInvalid with a reason that names the property, and never its value.
Status CheckKafkaProperty(std::string_view name, std::string_view value);

// What may be printed of it.
std::string PrintableKafkaProperty(std::string_view name, std::string_view value);

}  // namespace oncemq
