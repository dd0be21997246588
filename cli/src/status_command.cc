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

std::string DeliveriesText(const ordered_json& status) {
  const auto counts = status.find("counts");
  return "deliveries " + (counts == status.end() ? "?" : PartOf(*counts, "deliveries")) + " = " +
         Sum(status, "counts", " + ");
}

StatusRow StatusRowOf(const ordered_json& partition) {
  StatusRow row;
  std::string state = PartOf(partition, "phase");
  std::string held = HeldText(partition);
  if (const std::string_view begin = "  held up "; held.starts_with(begin)) {
    held = held.substr(begin.size(), held.size() - begin.size() - 1);  // and without its line feed
  }
  for (const char* other : {"waiting", "stopped"}) {
    if (!TextOf(partition, other).empty()) {
      state = other;
      held = PartOf(partition, other);
    }
  }
  row.mood = state == "stopped" ? Mood::kBad : held.empty() ? Mood::kGood : Mood::kHeld;
  if (HasNumber(partition, "lag")) {
    row.lag = NumberOf(partition, "lag");
  }
  const auto totals = partition.find("totals");
  const int64_t refused =
      totals == partition.end() ? 0 : NumberOf(*totals, "parked") + NumberOf(*totals, "rejected");
  const std::string committed = PartOf(partition, "committed");
  row.cells = {PartitionNameOf(partition),
               std::move(state),
               committed == "-1" ? "-" : committed,
               PartOf(partition, "frontier"),
               row.lag ? std::to_string(*row.lag) : "?",
               std::to_string(refused),
               std::to_string(NumberOf(partition, "uncertain")),
               std::move(held)};
  return row;
}

// The answer with its `standstills`.
StatusLook LookAtService(const ServiceTarget& target, milliseconds after) {
  ServiceAnswer reply = QueryService(target, {.command = "status"});
  if (reply.code != kExitDone) {
    return {.code = reply.code, .why = std::move(reply.why)};
  }
  const std::vector<std::string> standstills = Standstills(reply.result, after);
  if (reply.result.is_object()) {
    reply.result["standstills"] = standstills;
  }
  return {.code = standstills.empty() ? kExitDone : kExitFailed, .result = std::move(reply.result)};
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
  out += DeliveriesText(status) + "\n";
  out += "beside them, in this process since its start: " + Sum(status, "beside", ", ") + "\n";
  const auto beside = status.find("beside");
  const std::string uncertain = beside == status.end() ? "?" : PartOf(*beside, "uncertain");
  out += uncertain == "?" || uncertain == "0" ? "" : kUncertainMeans;
  for (const ordered_json& partition : ListOf(status, "partitions")) {
    out += PartitionText(partition);
  }
  out += HoldupsText(status);
  out += UnreachedText(status);
  out += ListOf(status, "partitions").empty() && ListOf(status, "missing_topics").empty()
             ? kNeverAssigned
             : "";
  for (const ordered_json& stop : ListOf(status, "stops")) {
    const std::string text = stop.is_string() ? stop.get<std::string>() : "?";
    out +=
        IsReported(text, ListOf(status, "partitions")) ? "" : "stopped: " + SafeText(text) + "\n";
  }
  const std::string error = PartOf(status, "error");
  out += error.empty() || !status.contains("error") ? "" : "ended by itself: " + error + "\n";
  return out;
}

StatusTable StatusTableOf(const ordered_json& status) {
  StatusTable table;
  if (!status.is_object()) {
    return table;
  }
  table.head = {"group " + PartOf(status, "group") + ", process " + PartOf(status, "pid"),
                DeliveriesText(status)};
  table.columns = {"partition", "state",   "committed", "frontier",
                   "lag",       "refused", "uncertain", "held up"};
  for (const ordered_json& partition : ListOf(status, "partitions")) {
    table.rows.push_back(StatusRowOf(partition));
  }
  for (const ordered_json& line : ListOf(status, "standstills")) {
    table.alarms.push_back("does not move: " + (line.is_string() ? line.get<std::string>() : "?"));
  }
  return table;
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
  const auto look = [&] { return LookAtService(target, *after); };
  if (arguments.watch.watch) {
    return WatchStatus(arguments.watch, arguments.json, look, StatusTableOf);
  }
  const StatusLook now = look();
  if (now.result.is_null()) {
    return now.code;
  }
  if (arguments.json) {
    std::cout << SafeJson(now.result) + "\n";
    return now.code;
  }
  std::cout << StatusText(now.result);
  for (const ordered_json& line : ListOf(now.result, "standstills")) {
    std::cout << "does not move: " << line.get<std::string>() << "\n";
  }
  return now.code;
}

}  // namespace oncemq
