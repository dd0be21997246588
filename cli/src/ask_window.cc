// SPDX-License-Identifier: Apache-2.0
#include "ask_window.h"

#include <iostream>
#include <utility>

#include "admin_client.h"
#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"
#ifdef ONCEMQ_WITH_ROCKSDB
#include "oncemq/dedup/store_look.h"
#endif

namespace oncemq {
namespace {

WindowAnswer Told(const std::string& text, int code) {
  std::cerr << SafeText(text) << "\n";
  WindowAnswer answer;
  answer.code = code;
  return answer;
}

#ifdef ONCEMQ_WITH_ROCKSDB

// `unasked`: why no running service was asked; empty: nobody named one.
WindowAnswer LookIntoStores(const std::string& directory, const std::string& unasked,
                            const LookIntoStore& look) {
  const std::vector<std::string> stores = FindStores(directory);
  if (stores.empty()) {
    return Told((unasked.empty() ? "" : unasked + "; ") + directory +
                    ": no store of a window lies there, nor in <topic>/<partition> below it",
                kExitUsage);
  }
  WindowAnswer answer;
  answer.of_service = false;
  answer.from =
      "# Read from the directory " + directory + (unasked.empty() ? "" : ", since " + unasked);
  for (const std::string& store : stores) {
    const auto opened = StoreLook::Open(store, SystemClock::Instance());
    auto seen = opened ? look(**opened) : Result<nlohmann::ordered_json>(opened.error());
    if (seen) {
      answer.stores.push_back(*std::move(seen));
      continue;
    }
    const bool held = seen.error().code == Code::kUnavailable;
    const std::string cannot =
        unasked.empty() ? "; ask it: name its socket with --socket, or its service file with -c"
                        : ", and cannot be asked: " + unasked;
    answer.unread.push_back({store, seen.error().message + (held ? cannot : ""), held});
  }
  return answer;
}

#else

WindowAnswer LookIntoStores(const std::string& directory, const std::string&,
                            const LookIntoStore&) {
  return Told(directory + ": this build has no window on disk (ONCEMQ_WITH_ROCKSDB=OFF)",
              kExitUsage);
}

#endif

WindowAnswer OfService(Asked asked) {
  WindowAnswer answer;
  answer.code = asked.code;
  answer.from = "# By the service that runs at " + asked.socket;
  answer.result = std::move(asked.result);
  return answer;
}

// The file names a service and, if the window lies on disk, its stores.
WindowAnswer AskByFile(const std::string& config, const AdminRequest& request,
                       const LookIntoStore& look) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    WindowAnswer answer;
    answer.code = kExitUsage;
    return answer;
  }
  const std::string& socket = options->admin.socket;
  const bool on_disk = options->engine == ServiceOptions::Engine::kRocksDb;
  if (!on_disk) {
    return OfService(AskService({.config = config}, request));
  }
  if (socket.empty()) {
    return LookIntoStores(options->local.directory, "`admin.socket` is not set in " + config, look);
  }
  Asked asked = AskSocket(socket, request);
  if (asked.code == kExitNoService) {
    return LookIntoStores(options->local.directory, asked.why, look);
  }
  if (asked.code != kExitDone) {
    std::cerr << asked.why << "\n";
  }
  return OfService(std::move(asked));
}

}  // namespace

WindowAnswer AskWindow(const WindowPlace& place, const AdminRequest& request,
                       const LookIntoStore& look) {
  if (!place.directory.empty()) {
    return LookIntoStores(place.directory, "", look);
  }
  return place.service.config.empty() ? OfService(AskService(place.service, request))
                                      : AskByFile(place.service.config, request, look);
}

int ToldUnread(const WindowAnswer& answer) {
  int code = kExitDone;
  for (const UnreadStore& store : answer.unread) {
    std::cerr << SafeText(store.why) << "\n";
    code = store.held ? (code == kExitDone ? kExitNoService : code) : kExitFailed;
  }
  return code;
}

}  // namespace oncemq
