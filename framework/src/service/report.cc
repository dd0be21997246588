// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "exit_code.h"
#include "report_terms.h"
#include "safe_json.h"

namespace oncemq {
namespace {

std::string Joined(const Terms& terms, std::string_view between) {
  std::string out;
  for (const auto& [name, value] : terms) {
    out += out.empty() ? "" : std::string(between);
    out += std::string(name) + " " + std::to_string(value);
  }
  return out;
}

bool AnyBegun(const RunReport& report) {
  return std::any_of(report.partitions.begin(), report.partitions.end(),
                     [](const PartitionReport& partition) { return partition.begun; });
}

std::string VerdictOf(const RunReport& report) {
  if (!report.counts.Balanced()) {
    return "FAILED (the deliveries do not add up)";
  }
  if (!report.error.empty()) {
    return "FAILED (it ended by itself)";
  }
  if (!report.clean) {
    return "FAILED (not everything was given back in time)";
  }
  if (!report.stops.empty()) {
    return "STOPPED (stops: " + std::to_string(report.stops.size()) + ")";
  }
  if (AnyBegun(report)) {
    return "OK";
  }
  if (!report.unreached.empty()) {
    return "NONE (no broker was reached)";
  }
  return report.partitions.empty() ? "NONE (no partition was ever assigned)"
                                   : "NONE (no partition has begun)";
}

std::string NotBegunText(const PartitionReport& partition) {
  const bool stopped = !partition.stopped.empty();
  return stopped ? "stopped: " + SafeText(partition.stopped)
                 : "waiting: " + SafeText(partition.waiting);
}

// Whether the line of a partition says it: only one that has not begun tells why.
bool IsReported(const std::string& stop, const RunReport& report) {
  return std::any_of(
      report.partitions.begin(), report.partitions.end(), [&](const PartitionReport& one) {
        return !one.begun && IsStopOf(stop, one.topic, std::to_string(one.partition), one.stopped);
      });
}

std::string PartitionText(const PartitionReport& partition) {
  const PartitionStatus& status = partition.status;
  return partition.topic + " [" + std::to_string(partition.partition) + "]: " +
         (partition.begun ? "committed " + std::to_string(status.committed) + ", in total " +
                                Joined(TermsOf(status.totals), " + ") +
                                (status.uncertain == 0
                                     ? ""
                                     : ", of these uncertain " + std::to_string(status.uncertain))
                          : "not begun, " + NotBegunText(partition)) +
         "\n";
}

}  // namespace

bool IsStopOf(std::string_view stop, const std::string& topic, const std::string& partition,
              const std::string& why) {
  const std::string name = topic + "/" + partition;
  return !why.empty() && stop.ends_with(": " + why) &&
         (stop.starts_with(name + ":") || stop.starts_with(name + " "));
}

std::string ReportText(const RunReport& report) {
  std::string out = "deliveries " + std::to_string(report.counts.deliveries) + " = " +
                    Joined(TermsOf(report.counts), " + ") + "\n";
  out +=
      "beside them, in this process since its start: " + Joined(AttributesOf(report), ", ") + "\n";
  out += report.counts.uncertain > 0 ? kUncertainMeans : "";
  for (const PartitionReport& partition : report.partitions) {
    out += PartitionText(partition);
  }
  for (const std::string& stop : report.stops) {
    out += IsReported(stop, report) ? "" : "stopped: " + SafeText(stop) + "\n";
  }
  if (!report.unreached.empty()) {
    out += (AnyBegun(report) ? "no broker answered in the end at " : "no broker was reached at ") +
           SafeText(report.unreached) + "\n";
  }
  if (!report.error.empty()) {
    out += "ended by itself: " + SafeText(report.error) + "\n";
  } else if (!report.clean) {
    out += "not everything was given back in time\n";
  }
  return out + "verdict: " + VerdictOf(report) + "\n";
}

std::string ReportJson(const RunReport& report) {
  nlohmann::ordered_json out = TermsAsJson(TermsOf(report.counts));
  out["deliveries"] = report.counts.deliveries;
  out["beside"] = TermsAsJson(AttributesOf(report));
  out["partitions"] = nlohmann::ordered_json::array();
  for (const PartitionReport& partition : report.partitions) {
    nlohmann::ordered_json one;
    one["topic"] = partition.topic;
    one["partition"] = partition.partition;
    one["begun"] = partition.begun;
    one["waiting"] = partition.waiting;
    one["stopped"] = partition.stopped;
    one["committed"] = partition.status.committed;
    one["totals"] = TermsAsJson(TermsOf(partition.status.totals));
    one["uncertain"] = partition.status.uncertain;
    out["partitions"].push_back(std::move(one));
  }
  out["stops"] = report.stops;
  out["unreached"] = report.unreached;
  out["error"] = report.error;
  out["clean"] = report.clean;
  out["verdict"] = VerdictOf(report);
  return SafeJson(out);
}

int ExitCodeOf(const RunReport& report, int signal) {
  if (!report.counts.Balanced()) {
    return kExitVerification;
  }
  if (!report.error.empty() || !report.clean) {
    return kExitFailed;
  }
  if (!report.stops.empty()) {
    return kExitStopped;
  }
  // Also after a request to stop: counts that add up to zero were no run.
  if (!AnyBegun(report)) {
    return kExitNothing;
  }
  return signal != 0 ? kExitSignal + signal : static_cast<int>(kExitDone);
}

}  // namespace oncemq
