// SPDX-License-Identifier: Apache-2.0
#include "explain_commands.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "holder.h"
#include "holdups_json.h"
#include "next_step.h"
#include "oncemq/base/bytes.h"
#include "safe_json.h"
#include "window_show.h"

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Less than the client waits: it is to be told of a busy poll thread.
constexpr milliseconds kFindWithin{5'000};

struct PlaceName {
  std::string topic;
  int32_t partition = 0;
};

Result<PlaceName> PlaceIn(const json& arguments) {
  const auto topic = arguments.find("topic");
  const auto partition = arguments.find("partition");
  const bool both =
      arguments.size() == 2 && topic != arguments.end() && partition != arguments.end();
  const auto number = both ? ParseDecimal(partition->get_ref<const std::string&>()) : std::nullopt;
  if (!number || *number < 0 || *number > INT32_MAX) {
    return Error{Code::kInvalid, Effect::kNone,
                 "say which partition: its `topic`, and its number in `partition`"};
  }
  return PlaceName{topic->get<std::string>(), static_cast<int32_t>(*number)};
}

const PartitionReport* Find(const RunReport& report, const PlaceName& name) {
  const auto found = std::ranges::find_if(report.partitions, [&](const PartitionReport& one) {
    return one.topic == name.topic && one.partition == name.partition;
  });
  return found == report.partitions.end() ? nullptr : &*found;
}

ordered_json PlaceAsJson(const PlaceName& name, const PartitionReport* one) {
  const bool owned = one != nullptr && one->owned();
  return {{"topic", name.topic},
          {"partition", name.partition},
          {"owned", owned},
          {"holder", ToString(owned ? HolderOf(*one) : Holder::kNone)}};
}

Result<ordered_json> ExplainPartition(const AdminSubject& subject, const json& arguments) {
  const auto name = PlaceIn(arguments);
  if (!name) {
    return name.error();
  }
  const RunReport report = subject.runtime->Report();
  const PartitionReport* const one = Find(report, *name);
  ordered_json out = PlaceAsJson(*name, one);
  if (one == nullptr || !one->owned()) {
    out["next"] = NextStepElsewhere(report, subject.topics, name->topic);
    return out;
  }
  out["phase"] = ToString(one->status.phase);
  out["waiting"] = one->waiting;
  out["stopped"] = one->stopped;
  out["frontier"] = one->status.frontier;
  out["committed"] = one->status.committed;
  out["next_offset"] = one->status.next_offset;
  AddHoldups(*one, out);
  out["client"] = {{"fetch_state", one->client.fetch_state},
                   {"record_ms", OrNull(one->client.record_ago)},
                   {"answer_ms", OrNull(one->client.answer_ago)}};
  out["trend"] =
      one->stopped.empty() ? ordered_json(ToString(one->measures.trend)) : ordered_json();
  out["age_ms"] = report.age.count();
  out["next"] = NextStepOf(*one);
  return out;
}

ordered_json WindowOf(const AdminSubject& subject, const std::string& id) {
  if (subject.window == nullptr) {
    return {};
  }
  Result<ordered_json> shown = ShowId(subject, id);
  return shown ? *std::move(shown) : ordered_json{{"error", shown.error().message}};
}

ordered_json OpenOf(const AdminSubject& subject, const std::string& id) {
  const auto found = subject.runtime->FindOpen(id, kFindWithin);
  if (!found) {
    return {{"error", found.error().message}};
  }
  ordered_json out = ordered_json::array();
  for (const FoundMessage& one : *found) {
    ordered_json message{{"topic", one.topic}, {"partition", one.partition}};
    message.update(OpenMessageAsJson(one.message, one.next_try));
    out.push_back(std::move(message));
  }
  return out;
}

// As far as the window or an open message tell it. A window tells the number of the topic, which
// this member knows by its own partitions.
std::optional<PlaceName> PlaceOf(const ordered_json& window, const ordered_json& open,
                                 const RunReport& report) {
  if (open.is_array() && !open.empty()) {
    return PlaceName{open[0]["topic"].get<std::string>(), open[0]["partition"].get<int32_t>()};
  }
  if (!window.is_object() || !window.contains("source")) {
    return std::nullopt;
  }
  const auto source = window["source"].get<uint32_t>();
  const auto of_topic = std::ranges::find_if(report.partitions, [&](const PartitionReport& one) {
    return one.begun && one.source == source;
  });
  return of_topic == report.partitions.end()
             ? std::nullopt
             : std::optional(PlaceName{of_topic->topic, window["partition"].get<int32_t>()});
}

Result<ordered_json> ExplainId(const AdminSubject& subject, const json& arguments) {
  const Result<std::string> id = AskedId(arguments);
  if (!id) {
    return id.error();
  }
  ordered_json out;
  if (IsPlainText(*id)) {
    out["id"] = *id;
  }
  out["id_hex"] = HexOfBytes(*id);
  out["window"] = WindowOf(subject, *id);
  out["open"] = OpenOf(subject, *id);
  const RunReport report = subject.runtime->Report();
  const auto place = PlaceOf(out["window"], out["open"], report);
  out["place"] = place ? PlaceAsJson(*place, Find(report, *place)) : ordered_json();
  out["next"] = NextStepOf(out);
  return out;
}

}  // namespace

void AddExplainCommands(AdminCommands& commands, const AdminSubject& subject) {
  commands.Add({.name = "explain partition", .run = [subject](const json& arguments) {
                  return ExplainPartition(subject, arguments);
                }});
  commands.Add({.name = "explain id",
                .run = [subject](const json& arguments) { return ExplainId(subject, arguments); }});
}

}  // namespace oncemq
