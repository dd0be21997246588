// SPDX-License-Identifier: Apache-2.0
// Asks about a window: the service that runs with it, or, where none does, the stores that it has
// left on disk. Which of both it was stands in the answer. A window in a server is opened, also
// while a service runs with it.
//
// A store that a process holds is never read beside it: the answer would be of no moment at all.
// The store says where its holder can be asked, so whoever names a directory need not know.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "admin_commands.h"
#include "query_service.h"

namespace oncemq {

class StoreReader;
class Window;

// Exactly one of them: a service, or a directory with stores.
struct WindowTarget {
  ServiceTarget service;
  std::string directory;
};

// A store that could not be looked at.
struct UnreadStore {
  std::string directory;
  std::string why;
  bool held = false;  // by a process that cannot be asked here; otherwise it is damaged
};

struct WindowAnswer {
  int code = 0;            // of the command; anything but kExitDone was told on standard error
  bool by_server = false;  // it stands among `services`, and none of those was asked
  std::vector<std::string> from;                 // places, for people
  std::vector<nlohmann::ordered_json> services;  // what those said that were asked
  std::vector<nlohmann::ordered_json> stores;    // what was seen in those that nobody holds
  std::vector<UnreadStore> unread;
};

using StoreQuery = std::function<Result<nlohmann::ordered_json>(StoreReader& store)>;
using ServerQuery = std::function<Result<nlohmann::ordered_json>(Window& window)>;

struct WindowQuestion {
  AdminRequest request;
  StoreQuery store;    // the same, of a store that nobody holds
  ServerQuery server;  // and of a window in PostgreSQL or Redis
  // Of what the service of a file says: that nobody else need be asked. Without it nobody is.
  std::function<bool(const nlohmann::ordered_json& result)> enough;
};

// `request` is for the service, `store` for each store in turn, `server` for an opened window.
WindowAnswer QueryWindow(const WindowTarget& target, const WindowQuestion& question);

// A line for each place that it is from.
std::string FromText(const WindowAnswer& answer);

// Tells what could not be read on standard error; the exit code that follows.
int ReportUnread(const WindowAnswer& answer);

}  // namespace oncemq
