// SPDX-License-Identifier: Apache-2.0
#include "window_show.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/bytes.h"
#include "window_json.h"

namespace oncemq {

using nlohmann::json;
using nlohmann::ordered_json;

Result<std::string> AskedId(const json& arguments) {
  const Error wrong{Code::kInvalid, Effect::kNone,
                    "say which id: as text in `id`, or as pairs of hex digits in `id_hex`"};
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

void AddNotOpen(const RunReport& report, ordered_json& out) {
  for (const PartitionReport& partition : report.partitions) {
    const auto same = [&](const ordered_json& other) {
      return other["topic"] == partition.topic && other["partition"] == partition.partition;
    };
    if (partition.owned() && partition.status.phase == PartitionPhase::kNone &&
        std::none_of(out.begin(), out.end(), same)) {
      out.push_back({{"topic", partition.topic},
                     {"partition", partition.partition},
                     {"waiting", partition.waiting},
                     {"stopped", partition.stopped}});
    }
  }
}

Result<ordered_json> ShowId(const AdminSubject& subject, const std::string& id) {
  if (subject.window == nullptr) {
    return Error{Code::kInvalid, Effect::kNone, "the service has no window: no id is looked at"};
  }
  const std::string_view asked = id;
  // Before and after the look into the stores, since a store may open in between, unasked.
  ordered_json not_open = ordered_json::array();
  AddNotOpen(subject.runtime->Report(), not_open);
  MarkerView view;
  if (const Status peeked = subject.window->Peek({&asked, 1}, {&view, 1}); !peeked) {
    return peeked.error();
  }
  const RunReport report = subject.runtime->Report();
  ordered_json out = MarkerAsJson(id, view);
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

}  // namespace oncemq
