// SPDX-License-Identifier: Apache-2.0
#include "service_commands.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "explain_commands.h"
#include "holdups_json.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/store_login.h"
#include "report_terms.h"
#include "window_json.h"
#include "window_show.h"

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kMostHeld = 256;

// A client takes 16 MiB, and an id may have 1 KiB.
void KeepLongestHeld(RunReport& report) {
  std::vector<PartitionReport*> held;
  for (PartitionReport& one : report.partitions) {
    if (one.oldest) {
      held.push_back(&one);
    }
  }
  if (held.size() <= kMostHeld) {
    return;
  }
  const auto rest = held.begin() + kMostHeld;
  std::ranges::nth_element(held, rest, std::greater(),
                           [](const PartitionReport* one) { return one->oldest->held_for; });
  std::for_each(rest, held.end(), [](PartitionReport* one) { one->oldest.reset(); });
}

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
  RunReport report = subject.runtime->Report();
  KeepLongestHeld(report);
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
      {.name = "explain guarantee",
       .run = [subject](const json& arguments) -> Result<ordered_json> {
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
  commands.Add(
      {.name = "window show", .run = [subject](const json& arguments) -> Result<ordered_json> {
         const Result<std::string> id = AskedId(arguments);
         return id ? ShowId(subject, *id) : id.error();
       }});
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
  AddExplainCommands(commands, subject);
}

}  // namespace oncemq
