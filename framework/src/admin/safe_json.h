// SPDX-License-Identifier: Apache-2.0
// JSON for a terminal or a pipe: plain ASCII, so that no text from outside can paint or forge a
// line, and any bytes are taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"

namespace oncemq {

inline std::string SafeJson(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

// The same for a part of a line of text, which needs no quotes around it, and keeps its own. A
// backslash stays doubled, or an escape could be forged.
inline std::string SafeText(const std::string& text) {
  const std::string quoted = SafeJson(text);
  std::string safe;
  for (size_t at = 1; at + 1 < quoted.size(); at++) {
    if (quoted[at] == '\\') {
      at++;
      safe += quoted[at] == '"' ? "" : "\\";
    }
    safe += quoted[at];
  }
  return safe;
}

// Whether a JSON text gives the bytes back as they were, and a person can type them.
inline bool IsPlainText(std::string_view bytes) {
  const bool controls = std::any_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  // Bytes that are no UTF-8 come back as something else.
  return !controls && nlohmann::json::parse(SafeJson(std::string(bytes)), nullptr, false) == bytes;
}

inline nlohmann::ordered_json OrNull(const std::optional<int64_t>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

inline nlohmann::ordered_json OrNull(const std::optional<milliseconds>& time) {
  return time ? nlohmann::ordered_json(time->count()) : nlohmann::ordered_json();
}

// The text of a field; empty where it is not there, or no text.
inline std::string TextOf(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A field as text for a line; "?" where another version of the service does not have it.
inline std::string PartOf(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return "?";
  }
  return found->is_string() ? SafeText(found->get<std::string>()) : SafeJson(*found);
}

}  // namespace oncemq
