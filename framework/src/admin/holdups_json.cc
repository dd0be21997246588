// SPDX-License-Identifier: Apache-2.0
#include "holdups_json.h"

#include <optional>
#include <string>

#include "oncemq/base/bytes.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

void AddBytes(ordered_json& out, const std::string& name, const std::string& bytes) {
  if (IsPlainText(bytes)) {
    out[name] = bytes;
  } else {
    out[name + "_hex"] = HexOfBytes(bytes);
  }
}

ordered_json HeldByAsJson(const HeldBy& held) {
  ordered_json out = OpenMessageAsJson(held.message, held.next_try);
  out["held_ms"] = held.held_for.count();
  return out;
}

// Nothing where that of a partition of this member is not known, or it has none.
std::optional<int64_t> LagOfAll(const RunReport& report) {
  std::optional<int64_t> sum;
  for (const PartitionReport& one : report.partitions) {
    if (one.owned() && !one.lag) {
      return std::nullopt;
    }
    if (one.owned()) {
      sum = sum.value_or(0) + *one.lag;
    }
  }
  return sum;
}

}  // namespace

ordered_json OpenMessageAsJson(const OpenMessage& message, std::optional<milliseconds> next_try) {
  ordered_json out;
  out["offset"] = message.offset;
  if (!message.id.empty()) {
    AddBytes(out, "id", message.id);
  }
  if (message.key) {
    AddBytes(out, "key", *message.key);
  }
  if (!message.trace_id.empty()) {
    out["trace_id"] = message.trace_id;
  }
  out["state"] = ToString(message.state);
  out["attempt"] = message.attempt;
  out["why"] = message.why;
  out["next_try_ms"] = OrNull(next_try);
  return out;
}

void AddHoldups(const PartitionReport& report, ordered_json& out) {
  out["log_end"] = OrNull(report.log_end);
  out["lag"] = OrNull(report.lag);
  out["retrying"] = report.status.retrying;
  out["unmoved_ms"] = report.unmoved.count();
  out["oldest"] = report.oldest ? HeldByAsJson(*report.oldest) : ordered_json();
}

void AddHoldups(const RunReport& report, ordered_json& out) {
  int64_t retrying = 0;
  for (const PartitionReport& one : report.partitions) {
    retrying += one.status.retrying;
  }
  out["retrying"] = retrying;
  out["lag"] = OrNull(LagOfAll(report));
  out["missing_topics"] = ordered_json::array();
  for (const MissingTopic& missing : report.missing) {
    out["missing_topics"].push_back(
        {{"topic", missing.topic}, {"missing_ms", missing.missing_for.count()}});
  }
  out["unreached_ms"] = report.unreached_for.count();
  out["age_ms"] = report.age.count();
}

}  // namespace oncemq
