// SPDX-License-Identifier: Apache-2.0
#include "status_command.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>

#include "exit_code.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr char kNeverAssigned[] =
    "no partition was ever assigned: the group assigns when all its members have joined, and waits "
    "for a dead one until its session ends\n";

// A part that another version of the service does not have is "?".
std::string Part(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return "?";
  }
  return found->is_string() ? SafeText(found->get<std::string>()) : SafeJson(*found);
}

std::string Sum(const ordered_json& object, const char* key, std::string_view between) {
  std::string out;
  const auto terms = object.find(key);
  if (terms == object.end() || !terms->is_object()) {
    return "?";
  }
  for (const auto& [name, value] : terms->items()) {
    if (name != "deliveries") {
      std::string words = SafeText(name);
      std::replace(words.begin(), words.end(), '_', ' ');
      out += (out.empty() ? "" : std::string(between)) + words + " " + SafeJson(value);
    }
  }
  return out;
}

// The words before the numbers.
std::string StateOf(const ordered_json& partition) {
  for (const char* state : {"stopped", "waiting"}) {
    if (const std::string why = TextOf(partition, state); !why.empty()) {
      return std::string(state) + ": " + SafeText(why) + "; ";
    }
  }
  const std::string phase = Part(partition, "phase");
  return (phase == "none" ? "not assigned any more" : phase) + ", ";
}

std::string PartitionText(const ordered_json& partition) {
  std::string out =
      Part(partition, "topic") + " [" + Part(partition, "partition") + "]: " + StateOf(partition);
  if (const auto begun = partition.find("begun"); begun != partition.end() && *begun == false) {
    return out + "not begun\n";
  }
  const std::string committed = Part(partition, "committed");
  return out + "frontier " + Part(partition, "frontier") + ", committed " +
         (committed == "-1" ? "nothing" : committed) + ", next offset " +
         Part(partition, "next_offset") + ", in total " + Sum(partition, "totals", " + ") + "\n";
}

// Whether the partition's own line says it: "topic/partition...: why".
bool IsTold(const std::string& stop, const ordered_json& partitions) {
  return std::any_of(partitions.begin(), partitions.end(), [&](const ordered_json& partition) {
    const std::string why = TextOf(partition, "stopped");
    const std::string name = TextOf(partition, "topic") + "/" + Part(partition, "partition");
    return !why.empty() && stop.ends_with(": " + why) &&
           (stop.starts_with(name + ":") || stop.starts_with(name + " "));
  });
}

}  // namespace

std::string StatusText(const ordered_json& status) {
  if (!status.is_object()) {
    return "?\n";
  }
  std::string out = "group " + Part(status, "group") + ", process " + Part(status, "pid") + "\n";
  out += "guarantee: " + Part(status, "guarantee") + "\n";
  const auto counts = status.find("counts");
  out += "deliveries " + (counts == status.end() ? "?" : Part(*counts, "deliveries")) + " = " +
         Sum(status, "counts", " + ") + "\n";
  out += "beside them: " + Sum(status, "beside", ", ") + "\n";
  const ordered_json none = ordered_json::array();
  const auto list = [&](const char* key) -> const ordered_json& {
    const auto found = status.find(key);
    return found != status.end() && found->is_array() ? *found : none;
  };
  for (const ordered_json& partition : list("partitions")) {
    out += PartitionText(partition);
  }
  out += list("partitions").empty() ? kNeverAssigned : "";
  for (const ordered_json& stop : list("stops")) {
    const std::string text = stop.is_string() ? stop.get<std::string>() : "?";
    out += IsTold(text, list("partitions")) ? "" : "stopped: " + SafeText(text) + "\n";
  }
  for (const auto& [key, says] : {std::pair("unreached", "no broker was reached at "),
                                  std::pair("error", "ended by itself: ")}) {
    const std::string part = Part(status, key);
    out += part.empty() || !status.contains(key) ? "" : says + part + "\n";
  }
  return out;
}

int StatusCommand(const ServicePlace& place, bool json) {
  const Asked asked = AskService(place, {.command = "status"});
  if (asked.code == kExitDone) {
    std::cout << (json ? SafeJson(asked.result) + "\n" : StatusText(asked.result));
  }
  return asked.code;
}

}  // namespace oncemq
