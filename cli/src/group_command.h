// SPDX-License-Identifier: Apache-2.0
// oncemq group, for the group of a service from outside.
#pragma once

#include <string>
#include <vector>

#include "status_watch.h"

namespace oncemq {

struct GroupArguments {
  std::string config;
  // In its place, without TLS and login.
  std::string brokers;
  std::string group;
  std::vector<std::string> topics;
  bool json = false;
  WatchArguments watch;
};

// The exit code. kExitVerification where sums do not add up, kExitFailed where something does not
// move, kExitNoService without a broker.
int GroupStatusCommand(const GroupArguments& arguments);

}  // namespace oncemq
