// SPDX-License-Identifier: Apache-2.0
// JSON for a terminal or a pipe: plain ASCII, so that no text from outside can paint or forge a
// line, and any bytes are taken.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace oncemq {

inline std::string SafeJson(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

// The same for a part of a line of text, which needs no quotes around it.
inline std::string SafeText(const std::string& text) {
  const std::string quoted = SafeJson(text);
  return quoted.substr(1, quoted.size() - 2);
}

// The text of a field; empty where it is not there, or no text.
inline std::string TextOf(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace oncemq
