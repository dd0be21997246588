// SPDX-License-Identifier: Apache-2.0
// What a worker tells its parent, as a line of JSON (worker_report.proto).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/framework/runtime.h"

namespace oncemq::demo {

struct WorkerReport {
  DeliveryCounts counts;
  std::map<int32_t, int64_t> active;  // partitions at work, with their committed offset
  int64_t caught_up = 0;              // ids that the log gave back to the window
  bool final = false;
  std::string error;
};

std::string ReportLine(const RunReport& report, bool final);

// Nothing: the line is not one of ours.
std::optional<WorkerReport> ParseReportLine(std::string_view line);

}  // namespace oncemq::demo
