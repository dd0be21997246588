// SPDX-License-Identifier: Apache-2.0
#include "health.h"

#include "safe_json.h"

namespace oncemq {
namespace {

std::string NameOf(const PartitionReport& partition) {
  return partition.topic + "/" + std::to_string(partition.partition);
}

// Given to this member, and not taken up by it.
bool WaitsToBegin(const PartitionReport& partition) {
  const PartitionPhase phase = partition.status.phase;
  return !partition.waiting.empty() &&
         (phase == PartitionPhase::kNone || phase == PartitionPhase::kRaising ||
          phase == PartitionPhase::kConfirming);
}

std::string WhyNotReady(const RunReport& report) {
  if (!report.state.starting.empty()) {
    return report.state.starting;
  }
  if (report.state.stopping || !report.error.empty()) {
    return "it is stopping" + (report.error.empty() ? "" : ": " + report.error);
  }
  if (!report.unreached.empty()) {
    return "no broker answers: " + report.unreached;
  }
  if (!report.state.joined) {
    return report.missing.empty() ? "the group has assigned nothing yet"
                                  : "no broker knows the topic " + report.missing.front().topic;
  }
  if (report.state.window_fails) {
    return "the window does not answer";
  }
  for (const PartitionReport& partition : report.partitions) {
    if (WaitsToBegin(partition)) {
      return NameOf(partition) + " waits: " + partition.waiting;
    }
  }
  return {};
}

}  // namespace

Health CheckLiveness(const RunReport& report) {
  if (report.age < kLongestReportAge) {
    return {true, "ok"};
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(report.age).count();
  return {false, "the poll thread has reported nothing for " + std::to_string(seconds) + " s"};
}

Health CheckReadiness(const RunReport& report) {
  if (Health alive = CheckLiveness(report); !alive.well) {
    return alive;
  }
  if (const std::string why = WhyNotReady(report); !why.empty()) {
    return {false, SafeText(why)};
  }
  for (const PartitionReport& partition : report.partitions) {
    if (!partition.stopped.empty()) {
      return {true, SafeText("ok, but " + NameOf(partition) + " is stopped")};
    }
  }
  return {true, "ok"};
}

}  // namespace oncemq
