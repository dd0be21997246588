// SPDX-License-Identifier: Apache-2.0
#include "window_command.h"

#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "exit_code.h"
#include "not_open.h"
#include "oncemq/base/bytes.h"
#include "oncemq/dedup/store_reader.h"
#include "oncemq/dedup/window.h"
#include "safe_json.h"
#include "service_commands.h"
#include "window_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr size_t kLongestId = WindowCapabilities{}.max_id_bytes;  // of every engine

std::string MarkerText(const ordered_json& marker) {
  const std::string state = marker.value("state", "?");
  if (state == "none") {
    return "none: the window keeps nothing of this id\n" + NotOpenText(marker);
  }
  std::string out = SafeText(state) + "\n";
  const std::string topic = marker.value("topic", "");
  const std::string store = marker.value("store", "");
  const std::string partition = std::to_string(marker.value("partition", -1));
  out += "from " +
         (topic.empty() ? "partition " + partition + " of the topic number " +
                              std::to_string(marker.value("source", int64_t{0}))
                        : SafeText(topic) + " [" + partition + "]") +
         ", offset " + std::to_string(marker.value("offset", int64_t{-1})) + "\n";
  out += store.empty() ? "" : "in the store " + SafeText(store) + "\n";
  if (state == "open") {
    const std::string holder = marker.value("holder", "");
    out += holder.empty() ? "nobody holds it\n" : "held by the claim " + SafeText(holder) + "\n";
  }
  if (marker.value("uncertain", false)) {
    out += "uncertain: an attempt may have had its effect without an outcome on record\n";
  }
  return out;
}

#ifdef ONCEMQ_WITH_ROCKSDB
Result<ordered_json> ShowIn(StoreReader& store, std::string_view id) {
  MarkerView view;
  if (const Status peeked = store.Peek({&id, 1}, {&view, 1}); !peeked) {
    return peeked.error();
  }
  ordered_json marker = MarkerAsJson(id, view);
  if (view.state != MarkerState::kNone) {
    const auto stat = store.Stat();
    if (!stat) {
      return stat.error();
    }
    marker["topic"] = stat->topic;
    marker["store"] = stat->directory;
  }
  return marker;
}
#else
Result<ordered_json> ShowIn(StoreReader&, std::string_view) {
  return ordered_json();
}
#endif

Result<ordered_json> ShowInServer(Window& window, std::string_view id) {
  MarkerView view;
  const Status peeked = window.Peek({&id, 1}, {&view, 1});
  return peeked ? Result<ordered_json>(MarkerAsJson(id, view)) : peeked.error();
}

bool Knows(const ordered_json& marker) {
  return marker.value("state", "none") != "none";
}

// Of the places that were asked, the one that knows the id; otherwise what all of them say.
// Nothing: there are others, which could not be asked.
std::optional<ordered_json> KnownMarker(const WindowAnswer& answer) {
  std::vector<ordered_json> markers = answer.services;
  markers.insert(markers.end(), answer.stores.begin(), answer.stores.end());
  ordered_json not_open = ordered_json::array();
  for (const ordered_json& marker : markers) {
    if (Knows(marker)) {
      return marker;
    }
    const ordered_json more = marker.value("not_open", ordered_json::array());
    not_open.insert(not_open.end(), more.begin(), more.end());
  }
  if (!answer.unread.empty()) {
    return std::nullopt;
  }
  ordered_json none = markers.front();
  if (!not_open.empty()) {
    none["not_open"] = std::move(not_open);
  }
  return none;
}

}  // namespace

int WindowShowCommand(const WindowTarget& target, const WindowShowArguments& arguments) {
  // In hex digits on the way: an id is any bytes.
  const std::string id = arguments.hex ? arguments.id : HexOfBytes(arguments.id);
  const auto read = BytesOfHex(id);
  if (!read) {
    std::cerr << SafeText(id) << " is no id in hex digits, two for each byte\n";
    return kExitUsage;
  }
  const std::string& bytes = *read;
  // Each store would refuse it, one by one, as if it were damaged.
  if (bytes.empty() || bytes.size() > kLongestId) {
    std::cerr << "an id has 1 to " << kLongestId << " bytes, not " << bytes.size() << "\n";
    return kExitUsage;
  }
  const WindowAnswer answer =
      QueryWindow(target, {.request = {.command = "window show", .arguments = {{"id_hex", id}}},
                           .store = [&](StoreReader& store) { return ShowIn(store, bytes); },
                           .server = [&](Window& window) { return ShowInServer(window, bytes); },
                           .enough = Knows});
  if (answer.code != kExitDone) {
    return answer.code;
  }
  const std::optional<ordered_json> marker = KnownMarker(answer);
  if (!marker) {
    return ReportUnread(answer);  // it may be in one of those
  }
  std::cout << (arguments.json ? SafeJson(*marker) + "\n" : FromText(answer) + MarkerText(*marker));
  return kExitDone;
}

}  // namespace oncemq
