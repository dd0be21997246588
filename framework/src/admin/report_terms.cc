// SPDX-License-Identifier: Apache-2.0
#include "report_terms.h"

#include <algorithm>
#include <string>

namespace oncemq {

Terms TermsOf(const DeliveryCounts& counts) {
  return {{"applied", counts.applied},         {"suppressed", counts.suppressed},
          {"parked", counts.parked},           {"rejected", counts.rejected},
          {"handed back", counts.handed_back}, {"open", counts.open}};
}

Terms TermsOf(const Totals& totals) {
  return {{"applied", totals.applied},
          {"suppressed", totals.suppressed},
          {"parked", totals.parked},
          {"rejected", totals.rejected},
          {"skipped", totals.skipped}};
}

Terms AttributesOf(const RunReport& report) {
  const DeliveryCounts& counts = report.counts;
  return {{"uncertain", counts.uncertain},
          {"own redelivery", counts.own_redelivery},
          {"attached", counts.attached},
          {"conflict", counts.conflict},
          {"repaired", counts.repaired},
          {"stale", counts.stale},
          {"result dropped", counts.result_dropped},
          {"unprotected", counts.unprotected},
          {"caught up", report.caught_up},
          {"handler calls", counts.handler_calls},
          {"stood in", report.stood_in},
          {"window errors", report.window_errors},
          {"journal errors", report.journal_errors}};
}

nlohmann::ordered_json TermsAsJson(const Terms& terms) {
  nlohmann::ordered_json out;
  for (const auto& [name, value] : terms) {
    std::string key(name);
    std::replace(key.begin(), key.end(), ' ', '_');
    out[key] = value;
  }
  return out;
}

}  // namespace oncemq
