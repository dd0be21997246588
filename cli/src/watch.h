// SPDX-License-Identifier: Apache-2.0
// Watching: `oncemq run` shows the messages of a service, and takes none of them.
//
//   const ServiceOptions watch = WatchOptions(service, {.mark = "1a2b3c4d"});
//   std::cerr << WatchText(service, watch) << "\n";
//   // opens window and runtime by `watch`
//
// **Promise:** nothing of the service is written or occupied: neither its group, window and state
// directory, nor its locks, admin socket, file of refused messages and log file. A watch shows each
// id once, as far as its window in memory remembers.
//
// **Limits:** a watch is a consumer group of its own, and commits under that name: the runtime
// takes an acknowledged commit as the proof that its session lives. The broker forgets the group
// by itself (offsets.retention.minutes).
//
// **Thread safety:** any thread.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/framework/service_options.h"

namespace oncemq {

struct WatchRequest {
  std::string mark;       // tells one watch of a service from another: 8 hex digits by chance
  bool only_new = false;  // begins with the messages that arrive from now on
};

// `<group>.watch.<mark>`. A longer group than fits into Kafka's 249 bytes is cut.
std::string WatchGroup(std::string_view group, std::string_view mark);

// The options of a watch. Nothing is refused but an id that is too long: a message without an id or
// a key is shown, and one with the id of another message counts as its copy.
ServiceOptions WatchOptions(ServiceOptions service, const WatchRequest& request);

// One line for people: the group of the watch, the things that it leaves alone, where it begins.
std::string WatchText(const ServiceOptions& service, const ServiceOptions& watch);

}  // namespace oncemq
