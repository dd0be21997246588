// SPDX-License-Identifier: Apache-2.0
#include "status_command.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "exit_code.h"
#include "report.h"
#include "report_terms.h"
#include "safe_json.h"
#include "status_holdups.h"
#include "units.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr char kNeverAssigned[] =
    "no partition was ever assigned: the group assigns when all its members have joined, and waits "
    "for a dead one until its session ends\n";

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
  const std::string phase = PartOf(partition, "phase");
  return (phase == "none" ? "not assigned any more" : phase) + ", ";
}

// Nothing where it is not known.
std::string LagText(const ordered_json& partition) {
  const auto lag = partition.find("lag");
  return lag != partition.end() && lag->is_number() ? ", lag " + SafeJson(*lag) : "";
}

// Only while it lasts: the log keeps the times.
std::string UnprotectedText(const ordered_json& partition) {
  const auto time = partition.find("unprotected");
  const bool lasts = time != partition.end() && time->is_object() && time->contains("until_ms") &&
                     (*time)["until_ms"].is_null();
  return lasts ? ", its window has lost ids and lacks some still" : "";
}

std::string UncertainText(const ordered_json& partition) {
  const std::string uncertain = PartOf(partition, "uncertain");
  return uncertain == "?" || uncertain == "0" ? "" : ", of these uncertain " + uncertain;
}

std::string PartitionText(const ordered_json& partition) {
  std::string out = PartOf(partition, "topic") + " [" + PartOf(partition, "partition") +
                    "]: " + StateOf(partition);
  if (const auto begun = partition.find("begun"); begun != partition.end() && *begun == false) {
    return out + "not begun\n";
  }
  const std::string committed = PartOf(partition, "committed");
  const std::string suspect_to = PartOf(partition, "suspect_to");
  return out + "frontier " + PartOf(partition, "frontier") + ", committed " +
         (committed == "-1" ? "nothing" : committed) + ", next offset " +
         PartOf(partition, "next_offset") +
         (suspect_to == "?" || suspect_to == "-1" ? "" : ", uncertain below " + suspect_to) +
         UnprotectedText(partition) + LagText(partition) + ", in total " +
         Sum(partition, "totals", " + ") + UncertainText(partition) + "\n" + HeldText(partition);
}

// Whether the partition's own line says it.
bool IsReported(const std::string& stop, const ordered_json& partitions) {
  return std::any_of(partitions.begin(), partitions.end(), [&](const ordered_json& partition) {
    return IsStopOf(stop, TextOf(partition, "topic"), PartOf(partition, "partition"),
                    TextOf(partition, "stopped"));
  });
}

}  // namespace

std::string StatusText(const ordered_json& status) {
  if (!status.is_object()) {
    return "?\n";
  }
  std::string out =
      "group " + PartOf(status, "group") + ", process " + PartOf(status, "pid") + "\n";
  out += "guarantee: " + PartOf(status, "guarantee") + "\n";
  const auto counts = status.find("counts");
  out += "deliveries " + (counts == status.end() ? "?" : PartOf(*counts, "deliveries")) + " = " +
         Sum(status, "counts", " + ") + "\n";
  out += "beside them, in this process since its start: " + Sum(status, "beside", ", ") + "\n";
  const auto beside = status.find("beside");
  const std::string uncertain = beside == status.end() ? "?" : PartOf(*beside, "uncertain");
  out += uncertain == "?" || uncertain == "0" ? "" : kUncertainMeans;
  const ordered_json none = ordered_json::array();
  const auto list = [&](const char* key) -> const ordered_json& {
    const auto found = status.find(key);
    return found != status.end() && found->is_array() ? *found : none;
  };
  for (const ordered_json& partition : list("partitions")) {
    out += PartitionText(partition);
  }
  out += HoldupsText(status);
  out += UnreachedText(status);
  out += list("partitions").empty() && list("missing_topics").empty() ? kNeverAssigned : "";
  for (const ordered_json& stop : list("stops")) {
    const std::string text = stop.is_string() ? stop.get<std::string>() : "?";
    out += IsReported(text, list("partitions")) ? "" : "stopped: " + SafeText(text) + "\n";
  }
  const std::string error = PartOf(status, "error");
  out += error.empty() || !status.contains("error") ? "" : "ended by itself: " + error + "\n";
  return out;
}

int StatusCommand(const ServiceTarget& target, const StatusArguments& arguments) {
  const std::optional<milliseconds> after = arguments.stalled_after.empty()
                                                ? std::optional(kStalledAfter)
                                                : ParseDuration(arguments.stalled_after);
  if (!after || *after <= milliseconds(0)) {
    std::cerr << "--stalled-after takes a time with its unit, such as 60s, not "
              << SafeText(arguments.stalled_after) << "\n";
    return kExitUsage;
  }
  ServiceAnswer reply = QueryService(target, {.command = "status"});
  if (reply.code != kExitDone) {
    return reply.code;
  }
  const std::vector<std::string> standstills = Standstills(reply.result, *after);
  if (arguments.json) {
    if (reply.result.is_object()) {
      reply.result["standstills"] = standstills;
    }
    std::cout << SafeJson(reply.result) + "\n";
  } else {
    std::cout << StatusText(reply.result);
    for (const std::string& line : standstills) {
      std::cout << "does not move: " << line << "\n";
    }
  }
  return standstills.empty() ? kExitDone : kExitFailed;
}

}  // namespace oncemq
