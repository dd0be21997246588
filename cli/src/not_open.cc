// SPDX-License-Identifier: Apache-2.0
#include "not_open.h"

#include "safe_json.h"

namespace oncemq {

std::string NotOpenText(const nlohmann::ordered_json& answer) {
  const auto list = answer.is_object() ? answer.find("not_open") : answer.end();
  if (!answer.is_object() || list == answer.end() || !list->is_array()) {
    return "";
  }
  std::string out;
  for (const nlohmann::ordered_json& one : *list) {
    const auto number = one.find("partition");
    const std::string stopped = SafeText(TextOf(one, "stopped"));
    out +=
        SafeText(TextOf(one, "topic")) + " [" + (number == one.end() ? "?" : SafeJson(*number)) +
        "]: its store is not open, " +
        (stopped.empty() ? "waiting: " + SafeText(TextOf(one, "waiting")) : "stopped: " + stopped) +
        "\n";
  }
  return out;
}

}  // namespace oncemq
