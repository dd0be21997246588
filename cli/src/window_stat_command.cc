// SPDX-License-Identifier: Apache-2.0
#include "window_stat_command.h"

#include <iostream>
#include <utility>

#include "exit_code.h"
#include "not_open.h"
#include "oncemq/dedup/store_reader.h"
#include "oncemq/dedup/store_stat.h"
#include "safe_json.h"
#include "units.h"
#include "window_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

int64_t Number(const ordered_json& object, const char* key, int64_t otherwise) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_number_integer()
             ? found->get<int64_t>()
             : otherwise;
}

std::string Time(const ordered_json& object, const char* key) {
  const int64_t none = -1;
  const int64_t millis = Number(object, key, none);
  return millis < 0 ? "none" : FormatTime(millis);
}

std::string Size(const ordered_json& object, const char* key) {
  const int64_t bytes = Number(object, key, 0);
  constexpr int64_t kMiB = 1 << 20;
  return bytes < kMiB ? std::to_string(bytes / 1024) + " KiB"
                      : std::to_string(bytes / kMiB) + " MiB";
}

std::string Offset(const ordered_json& object, const char* key) {
  const int64_t offset = Number(object, key, -1);
  return offset < 0 ? "nothing" : std::to_string(offset);
}

// `alone`: nobody else's ids are in the store, so nobody is waited for but itself.
std::string PartitionText(const ordered_json& partition, bool alone, bool in_server = false) {
  std::string out = in_server ? "  topic number " + PartOf(partition, "source") + "," : " ";
  out += " partition " + PartOf(partition, "partition") + ": knows [" +
         PartOf(partition, "known_from") + ", " + PartOf(partition, "known_to") + "), announced " +
         Offset(partition, "announced") + ", committed " + Offset(partition, "frontier") +
         ", own " + PartOf(partition, "own") + ", watermark " + Time(partition, "watermark_ms") +
         "\n";
  const auto pins = partition.is_object() ? partition.find("pins") : partition.end();
  if (!alone && partition.is_object() && pins != partition.end() && *pins == ordered_json(true)) {
    out += "    nothing is forgotten before it has passed it\n";
  }
  return out;
}

// The forgotten part, and the opening of the store.
std::string AgeText(const ordered_json& store) {
  const bool forgets = Number(store, "horizon_ms", -1) >= 0;
  const milliseconds remember(Number(store, "remember_ms", 0));
  const milliseconds skew(Number(store, "skew_ms", 0));
  return (remember <= milliseconds(0) ? ""
                                      : "  remembers " + FormatDuration(remember) + ", and " +
                                            FormatDuration(skew) + " of skew\n") +
         (forgets ? "  horizon " + Time(store, "horizon_ms") + ": older ids may be forgotten"
                  : "  nothing is forgotten yet") +
         ", level " + PartOf(store, "level") + ", incarnation " + PartOf(store, "incarnation") +
         "\n";
}

std::string PartitionsText(const ordered_json& store, bool in_server = false) {
  std::string out;
  const auto partitions = store.find("partitions");
  if (partitions != store.end() && partitions->is_array()) {
    for (const ordered_json& partition : *partitions) {
      out += PartitionText(partition, partitions->size() == 1, in_server);
    }
  }
  return out;
}

// Of a window in a server, which other windows may share.
std::string ServerStatText(const ordered_json& store, bool redis, const std::string& ids) {
  if (!store.is_object()) {
    return "";
  }
  const std::string place = PartOf(store, "directory");
  return (redis ? "keys " + place + "*" : "schema " + place) + ", scope " +
         PartOf(store, "identity") + "\n  " + std::to_string(Number(store, "ids_in_history", 0)) +
         " ids, open " + PartOf(store, "open") + ", parked " + PartOf(store, "parked") +
         (redis
              ? ""
              : "; " + Size(store, "disk_bytes") + " in the database, with those of other scopes") +
         "\n" + PartitionsText(store, /*in_server=*/true) + AgeText(store) +
         (ids.empty() ? "" : "  ids: " + ids + "\n");
}

// Of a window that was read here, or by a service.
std::string PartOfWindow(const WindowAnswer& answer, const char* part) {
  return answer.services.size() == 1 ? PartOf(answer.services.front(), part) : "";
}
std::string EngineOf(const WindowAnswer& answer) {
  return PartOfWindow(answer, "engine");
}

Result<ordered_json> StatInServer(Window& window) {
  const auto stats = window.Stat();
  if (!stats) {
    return stats.error();
  }
  ordered_json out{{"engine", window.capabilities().engine},
                   {"ids", IdsText(window.capabilities())},
                   {"stores", ordered_json::array()}};
  for (const StoreStat& stat : *stats) {
    out["stores"].push_back(StatAsJson(stat));
  }
  return out;
}

#ifdef ONCEMQ_WITH_ROCKSDB
Result<ordered_json> StatIn(StoreReader& store) {
  const auto stat = store.Stat();
  return stat ? Result<ordered_json>(StatAsJson(*stat)) : stat.error();
}
#else
Result<ordered_json> StatIn(StoreReader&) {
  return ordered_json();
}
#endif

ordered_json AsOneObject(const WindowAnswer& answer) {
  ordered_json out;
  out["from"] = answer.by_server          ? (EngineOf(answer) == "redis" ? "redis" : "database")
                : answer.services.empty() ? "stores"
                : answer.stores.empty()   ? "service"
                                          : "both";
  if (const std::string ids = PartOfWindow(answer, "ids"); !ids.empty()) {
    out["ids"] = ids;
  }
  out["stores"] = ordered_json::array();
  for (const ordered_json& service : answer.services) {
    for (const char* part : {"stores", "not_open"}) {
      const auto list = service.is_object() ? service.find(part) : service.end();
      if (service.is_object() && list != service.end() && list->is_array()) {
        ordered_json& all = out.emplace(part, ordered_json::array()).first.value();
        all.insert(all.end(), list->begin(), list->end());
      }
    }
  }
  for (const ordered_json& store : answer.stores) {
    out["stores"].push_back(store);
  }
  return out;
}

}  // namespace

std::string StoreText(const ordered_json& store) {
  if (!store.is_object() || store.contains("error")) {
    return PartOf(store, "directory") + ": not read: " + PartOf(store, "error") + "\n";
  }
  const std::string topic = PartOf(store, "topic");
  const int64_t in_memory = Number(store, "ids_in_memory", 0);
  const int64_t in_history = Number(store, "ids_in_history", 0);
  std::string out = (topic.empty() ? "" : topic + ": ") + PartOf(store, "directory") + "\n";
  out += "  " + std::to_string(in_memory + in_history) + " ids: " + std::to_string(in_memory) +
         " in memory, " + std::to_string(in_history) +
         " in the history (buckets: " + PartOf(store, "buckets") + "); open " +
         PartOf(store, "open") + ", parked " + PartOf(store, "parked") + "; " +
         Size(store, "disk_bytes") + " on disk, " + Size(store, "memory_bytes") + " in memory\n";
  out += PartitionsText(store) + AgeText(store);
  return out + "  of " + PartOf(store, "identity") + "\n";
}

int WindowStatCommand(const WindowTarget& target, bool json) {
  const WindowAnswer answer =
      QueryWindow(target, {.request = {.command = "window stat"},
                           .store = [](StoreReader& store) { return StatIn(store); },
                           .server = StatInServer,
                           .enough = nullptr});
  if (answer.code != kExitDone) {
    return answer.code;
  }
  ordered_json stat = AsOneObject(answer);
  if (json) {
    for (const UnreadStore& store : answer.unread) {
      stat["stores"].push_back({{"directory", store.directory}, {"error", store.why}});
    }
    std::cout << SafeJson(stat) << "\n";
    return ReportUnread(answer);
  }
  std::cout << FromText(answer);
  const ordered_json& stores = stat["stores"];
  const std::string not_open = NotOpenText(stat);
  if (stores.empty() && not_open.empty() && !answer.services.empty()) {
    std::cout << (stat.contains("not_open") ? "no store is open: no partition is assigned\n"
                                            : "the window has no stores: it is in memory\n");
  }
  const std::string engine = EngineOf(answer);
  const bool redis = engine == "redis";
  for (const ordered_json& store : stores) {
    std::cout << (redis || engine == "postgres"
                      ? ServerStatText(store, redis, PartOfWindow(answer, "ids"))
                      : StoreText(store));
  }
  std::cout << not_open;
  return ReportUnread(answer);
}

}  // namespace oncemq
