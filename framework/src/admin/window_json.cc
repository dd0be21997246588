// SPDX-License-Identifier: Apache-2.0
#include "window_json.h"

#include "oncemq/base/bytes.h"
#include "safe_json.h"
#include "service_commands.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// Milliseconds since 1970; null: not known.
ordered_json TimeAsJson(LogTime time) {
  return time == kNoLogTime ? ordered_json() : ordered_json(time.time_since_epoch().count());
}

ordered_json StatAsJson(const PartitionStat& stat) {
  return {{"source", stat.source},     {"partition", stat.partition},
          {"own", stat.owner_epoch},   {"known_from", stat.known_from},
          {"known_to", stat.known_to}, {"announced", stat.announced},
          {"frontier", stat.frontier}, {"watermark_ms", TimeAsJson(stat.watermark)},
          {"pins", stat.pins}};
}

ordered_json RecordAsJson(const UncertainRecord& record) {
  ordered_json out;
  if (IsPlainText(record.id)) {
    out["id"] = record.id;
  } else {
    out["id_hex"] = HexOfBytes(record.id);
  }
  out["topic"] = record.topic;
  out["source"] = record.at.source;
  out["partition"] = record.at.partition;
  out["offset"] = record.at.offset;
  out["attempt"] = record.attempt;
  out["first_ms"] = record.first.micros / 1'000;
  out["last_ms"] = record.last.micros / 1'000;
  return out;
}

}  // namespace

std::string IdsText(const WindowCapabilities& window) {
  return window.still_crossing    ? "crossing, of a scope of an earlier version"
         : window.partition_owned ? "partition_owned"
                                  : "crossing";
}

ordered_json StatAsJson(const StoreStat& stat) {
  ordered_json out;
  out["directory"] = stat.directory;
  if (!stat.error.empty()) {
    out["error"] = stat.error;
    return out;
  }
  out["topic"] = stat.topic;
  out["identity"] = stat.identity;
  out["level"] = ToString(stat.level);
  out["incarnation"] = Hex(stat.incarnation);
  out["ids_in_memory"] = stat.recent;
  out["ids_in_history"] = stat.history;
  out["buckets"] = stat.buckets;
  out["merges"] = stat.merges;
  out["merges_failed"] = stat.merges_failed;
  out["looks"] = {{"known", stat.known},
                  {"known_pages", stat.known_pages},
                  {"fresh", stat.fresh},
                  {"fresh_pages", stat.fresh_pages}};
  out["open"] = stat.open;
  out["parked"] = stat.parked;
  out["memory_bytes"] = stat.memory_bytes;
  out["disk_bytes"] = stat.disk_bytes;
  out["remember_ms"] = stat.remembers.remember.count();
  out["skew_ms"] = stat.remembers.skew.count();
  out["horizon_ms"] = TimeAsJson(stat.horizon);
  out["partitions"] = ordered_json::array();
  for (const PartitionStat& partition : stat.partitions) {
    out["partitions"].push_back(StatAsJson(partition));
  }
  return out;
}

ordered_json UncertainAsJson(const std::vector<UncertainRecord>& records) {
  ordered_json out;
  out["uncertain"] = ordered_json::array();
  constexpr size_t kMostBytes = 8 << 20;  // about; an answer of a service has an end
  constexpr size_t kBesideId = 250;
  size_t bytes = 0;
  for (const UncertainRecord& record : records) {
    bytes += 6 * record.id.size() + record.topic.size() + kBesideId;
    if (bytes > kMostBytes) {
      break;
    }
    out["uncertain"].push_back(RecordAsJson(record));
  }
  out["more"] = out["uncertain"].size() < records.size();
  return out;
}

ordered_json MarkerAsJson(std::string_view id, const MarkerView& view) {
  ordered_json out;
  if (IsPlainText(id)) {
    out["id"] = id;
  }
  out["id_hex"] = HexOfBytes(id);
  out["state"] = ToString(view.state);
  if (view.state != MarkerState::kNone) {
    out["source"] = view.at.source;
    out["partition"] = view.at.partition;
    out["offset"] = view.at.offset;
    out["uncertain"] = view.uncertain;
    if (!view.store.empty()) {
      out["store"] = view.store;
    }
  }
  if (!view.token.empty()) {
    out["holder"] = Hex(view.token.process) + Hex(view.token.attempt);
  }
  return out;
}

}  // namespace oncemq
