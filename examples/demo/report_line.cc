// SPDX-License-Identifier: Apache-2.0
#include "report_line.h"

#include <google/protobuf/util/json_util.h>

#include "worker_report.pb.h"

namespace oncemq::demo {
namespace {

using Counts = wire::WorkerReport::Counts;

void Write(const DeliveryCounts& from, Counts& to) {
  to.set_deliveries(from.deliveries);
  to.set_applied(from.applied);
  to.set_suppressed(from.suppressed);
  to.set_parked(from.parked);
  to.set_rejected(from.rejected);
  to.set_handed_back(from.handed_back);
  to.set_open(from.open);
  to.set_own_redelivery(from.own_redelivery);
  to.set_uncertain(from.uncertain);
  to.set_repaired(from.repaired);
  to.set_stale(from.stale);
  to.set_handler_calls(from.handler_calls);
}

DeliveryCounts Read(const Counts& from) {
  DeliveryCounts to;
  to.deliveries = from.deliveries();
  to.applied = from.applied();
  to.suppressed = from.suppressed();
  to.parked = from.parked();
  to.rejected = from.rejected();
  to.handed_back = from.handed_back();
  to.open = from.open();
  to.own_redelivery = from.own_redelivery();
  to.uncertain = from.uncertain();
  to.repaired = from.repaired();
  to.stale = from.stale();
  to.handler_calls = from.handler_calls();
  return to;
}

std::string WhyItEnded(const RunReport& report) {
  std::string why = report.error;
  for (const std::string& stop : report.stops) {
    why += (why.empty() ? "" : "; ") + stop;
  }
  return why;
}

}  // namespace

std::string ReportLine(const RunReport& report, const HandlerReport& handler, bool final) {
  wire::WorkerReport message;
  Write(report.counts, *message.mutable_counts());
  for (const PartitionReport& partition : report.partitions) {
    wire::WorkerReport::Partition& line = *message.add_partitions();
    line.set_partition(partition.partition);
    line.set_active(partition.status.phase == PartitionPhase::kActive);
    line.set_committed(partition.status.committed);
    line.set_next_offset(partition.status.next_offset);
  }
  message.set_calls(handler.calls);
  message.set_found_booked(handler.found_booked);
  message.set_inside(handler.inside);
  message.set_final(final);
  message.set_error(WhyItEnded(report));
  std::string line;
  // Fails only for messages with types that are not known here.
  static_cast<void>(google::protobuf::util::MessageToJsonString(message, &line).ok());
  return line += '\n';
}

std::optional<WorkerReport> ParseReportLine(std::string_view line) {
  wire::WorkerReport message;
  if (!google::protobuf::util::JsonStringToMessage({line.data(), line.size()}, &message).ok()) {
    return std::nullopt;
  }
  WorkerReport report;
  report.counts = Read(message.counts());
  report.calls = message.calls();
  report.found_booked = message.found_booked();
  report.inside = message.inside();
  report.final = message.final();
  report.error = message.error();
  for (const auto& partition : message.partitions()) {
    if (partition.active()) {
      report.active[partition.partition()] = {partition.committed(), partition.next_offset()};
    }
  }
  return report;
}

}  // namespace oncemq::demo
