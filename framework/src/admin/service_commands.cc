// SPDX-License-Identifier: Apache-2.0
#include "service_commands.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "holdups_json.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/store_login.h"
#include "report_terms.h"
#include "window_json.h"

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

Error Invalid(std::string text) {
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

Status TakesNothing(const json& arguments) {
  return arguments.empty() ? Status() : Invalid("the command takes no arguments");
}

ordered_json UnprotectedAsJson(const UnprotectedTime& time) {
  return {{"since_ms", time.since.micros / 1'000},
          {"until_ms", time.until ? ordered_json(time.until->micros / 1'000) : ordered_json()}};
}

ordered_json StatusOf(const PartitionReport& report) {
  const PartitionStatus& status = report.status;
  ordered_json counts = TermsAsJson(TermsOf(status.counts));
  counts["deliveries"] = status.counts.deliveries;
  ordered_json out = {{"topic", report.topic},
                      {"partition", report.partition},
                      {"begun", report.begun},
                      {"waiting", report.waiting},
                      {"stopped", report.stopped},
                      {"phase", ToString(status.phase)},
                      {"epoch", status.epoch},
                      {"own", status.owner_epoch},
                      {"frontier", status.frontier},
                      {"committed", status.committed},
                      {"next_offset", status.next_offset},
                      {"suspect_to", status.suspect_to},
                      {"totals", TermsAsJson(TermsOf(status.totals))},
                      {"uncertain", status.uncertain},
                      {"counts", std::move(counts)}};
  out["unprotected"] = report.unprotected ? UnprotectedAsJson(*report.unprotected) : ordered_json();
  AddHoldups(report, out);
  return out;
}

ordered_json StatusOf(const AdminSubject& subject) {
  const RunReport report = subject.runtime->Report();
  ordered_json out;
  out["group"] = subject.group;
  out["pid"] = getpid();
  out["guarantee"] = subject.runtime->guarantee();
  out["counts"] = TermsAsJson(TermsOf(report.counts));
  out["counts"]["deliveries"] = report.counts.deliveries;
  out["beside"] = TermsAsJson(AttributesOf(report));
  out["partitions"] = ordered_json::array();
  for (const PartitionReport& partition : report.partitions) {
    out["partitions"].push_back(StatusOf(partition));
  }
  out["stops"] = report.stops;
  out["unreached"] = report.unreached;
  out["refused_logins"] = StoreLogin::Refusals();
  out["error"] = report.error;
  AddHoldups(report, out);
  return out;
}

// Text, or hex digits for any bytes.
Result<std::string> IdOf(const json& arguments) {
  const Error wrong =
      Invalid("say which id: as text in `id`, or as pairs of hex digits in `id_hex`");
  if (arguments.size() != 1 || !arguments.begin()->is_string()) {
    return wrong;
  }
  const std::string text = arguments.begin()->get<std::string>();
  if (arguments.contains("id")) {
    return text;
  }
  if (const auto bytes = BytesOfHex(text); bytes && arguments.contains("id_hex")) {
    return *bytes;
  }
  return wrong;
}

// Adds the partitions whose store is not open here, since they have not begun; each once.
void AddNotOpen(const RunReport& report, ordered_json& out) {
  for (const PartitionReport& partition : report.partitions) {
    const auto same = [&](const ordered_json& other) {
      return other["topic"] == partition.topic && other["partition"] == partition.partition;
    };
    const bool given = !partition.waiting.empty() || !partition.stopped.empty();
    if (given && partition.status.phase == PartitionPhase::kNone &&
        std::none_of(out.begin(), out.end(), same)) {
      out.push_back({{"topic", partition.topic},
                     {"partition", partition.partition},
                     {"waiting", partition.waiting},
                     {"stopped", partition.stopped}});
    }
  }
}

Result<ordered_json> ShowId(const AdminSubject& subject, const json& arguments) {
  const Result<std::string> id = IdOf(arguments);
  if (!id) {
    return id.error();
  }
  if (subject.window == nullptr) {
    return Invalid("the service has no window: no id is looked at");
  }
  const std::string_view asked = *id;
  // Looked at on both sides of the look into the stores: one that opens in between was not asked.
  ordered_json not_open = ordered_json::array();
  AddNotOpen(subject.runtime->Report(), not_open);
  MarkerView view;
  if (const Status peeked = subject.window->Peek({&asked, 1}, {&view, 1}); !peeked) {
    return peeked.error();
  }
  const RunReport report = subject.runtime->Report();
  ordered_json out = MarkerAsJson(*id, view);
  for (const PartitionReport& one : report.partitions) {
    const bool its =
        one.begun && one.source == view.at.source && one.partition == view.at.partition;
    if (view.state != MarkerState::kNone && its) {
      out["topic"] = one.topic;
    }
  }
  if (subject.window->capabilities().by_partition && view.state == MarkerState::kNone) {
    AddNotOpen(report, not_open);
    out["not_open"] = std::move(not_open);
  }
  return out;
}

Result<ordered_json> ListUncertain(const AdminSubject& subject, const json& arguments) {
  const auto since =
      arguments.size() == 1 ? ParseDecimal(arguments.value("since_ms", "")) : std::nullopt;
  if (!since) {
    return Invalid("say since when, in milliseconds since 1970, in `since_ms`");
  }
  if (subject.window == nullptr) {
    return Invalid("the service has no window: no call is on record");
  }
  auto records = subject.window->ListUncertain({*since * 1'000});
  if (!records) {
    return records.error();
  }
  const RunReport report = subject.runtime->Report();
  for (UncertainRecord& record : *records) {
    for (const PartitionReport& one : report.partitions) {
      const bool its = one.begun && one.source == record.at.source;
      record.topic = record.topic.empty() && its ? one.topic : record.topic;
    }
  }
  return UncertainAsJson(*records);
}

Result<ordered_json> StatOf(const AdminSubject& subject) {
  Window* const window = subject.window;
  if (window == nullptr) {
    return Invalid("the service has no window: no id is looked at");
  }
  const auto stats = window->Stat();
  if (!stats) {
    return stats.error();
  }
  ordered_json out;
  out["engine"] = window->capabilities().engine;
  out["ids"] = IdsText(window->capabilities());
  out["stores"] = ordered_json::array();
  for (const StoreStat& stat : *stats) {
    out["stores"].push_back(StatAsJson(stat));
  }
  if (window->capabilities().by_partition) {
    out["not_open"] = ordered_json::array();
    AddNotOpen(subject.runtime->Report(), out["not_open"]);
  }
  return out;
}

}  // namespace

void AddServiceCommands(AdminCommands& commands, const AdminSubject& subject) {
  commands.Add({.name = "status", .run = [subject](const json& arguments) -> Result<ordered_json> {
                  if (const Status none = TakesNothing(arguments); !none) {
                    return none.error();
                  }
                  return StatusOf(subject);
                }});
  commands.Add(
      {.name = "guarantee", .run = [subject](const json& arguments) -> Result<ordered_json> {
         if (const Status none = TakesNothing(arguments); !none) {
           return none.error();
         }
         const std::string& line = subject.runtime->guarantee();
         ordered_json out{{"line", line},
                          {"text", subject.guarantee.empty() ? line + "\n" : subject.guarantee}};
         const auto times = subject.window == nullptr
                                ? Result<RememberTimes>(RememberTimes{})
                                : subject.window->Remember(RememberChange::kNone);
         if (times && times->remember > milliseconds(0)) {  // of the scope, not of the file
           out["remember_ms"] = times->remember.count();
           out["skew_ms"] = times->skew.count();
         }
         return out;
       }});
  commands.Add({.name = "window show",
                .run = [subject](const json& arguments) { return ShowId(subject, arguments); }});
  commands.Add({.name = "window uncertain", .run = [subject](const json& arguments) {
                  return ListUncertain(subject, arguments);
                }});
  commands.Add(
      {.name = "window stat", .run = [subject](const json& arguments) -> Result<ordered_json> {
         if (const Status none = TakesNothing(arguments); !none) {
           return none.error();
         }
         return StatOf(subject);
       }});
}

}  // namespace oncemq
