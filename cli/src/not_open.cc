// SPDX-License-Identifier: Apache-2.0
#include "not_open.h"

#include "safe_json.h"

namespace oncemq {

std::string NotOpenText(const nlohmann::ordered_json& answer) {
  const auto list = answer.is_object() ? answer.find("not_open") : answer.end();
  if (!answer.is_object() || list == answer.end() || !list->is_array()) {
    return "";
  }
  const auto text = [](const nlohmann::ordered_json& one, const char* key) {
    const auto found = one.find(key);
    return found != one.end() && found->is_string() ? SafeText(found->get<std::string>()) : "";
  };
  std::string out;
  for (const nlohmann::ordered_json& one : *list) {
    const auto number = one.find("partition");
    const std::string stopped = text(one, "stopped");
    out += text(one, "topic") + " [" + (number == one.end() ? "?" : SafeJson(*number)) +
           "]: its store is not open, " +
           (stopped.empty() ? "waiting: " + text(one, "waiting") : "stopped: " + stopped) + "\n";
  }
  return out;
}

}  // namespace oncemq
