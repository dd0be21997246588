// SPDX-License-Identifier: Apache-2.0
// What a worker tells its parent, as a line of JSON (worker_report.proto).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/framework/runtime.h"

namespace oncemq::demo {

// A partition at work.
struct OwnedPartition {
  int64_t committed = 0;
  int64_t next_offset = 0;  // above the highest that was delivered
};

struct WorkerReport {
  DeliveryCounts counts;
  std::map<int32_t, OwnedPartition> active;
  int64_t calls = 0;         // of the handler, as it counts them itself
  int64_t found_booked = 0;  // of these, that found the payment booked by another worker
  std::string inside;        // the payment in whose handler it stands still
  bool final = false;
  std::string error;
};

// What the handler says of itself.
struct HandlerReport {
  int64_t calls = 0;
  int64_t found_booked = 0;
  std::string inside;
};

std::string ReportLine(const RunReport& report, const HandlerReport& handler, bool final);

// Nothing: the line is not one of ours.
std::optional<WorkerReport> ParseReportLine(std::string_view line);

}  // namespace oncemq::demo
