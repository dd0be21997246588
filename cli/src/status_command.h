// SPDX-License-Identifier: Apache-2.0
// oncemq status: what a running service is doing.
#pragma once

#include <string>

#include "query_service.h"
#include "status_watch.h"

namespace oncemq {

struct StatusArguments {
  bool json = false;
  std::string stalled_after;  // a duration as in a service file; empty: kStalledAfter
  WatchArguments watch;
};

// The exit code, fit for a probe: kExitFailed where a partition is stopped, or does not move
// (Standstills).
int StatusCommand(const ServiceTarget& target, const StatusArguments& arguments);

// What it said, for people. Any JSON gives a text.
std::string StatusText(const nlohmann::ordered_json& status);

// The same for a watch.
StatusTable StatusTableOf(const nlohmann::ordered_json& status);

}  // namespace oncemq
