// SPDX-License-Identifier: Apache-2.0
// oncemq park: the topics of refused messages.
#pragma once

#include <cstdint>
#include <string>

namespace oncemq {

struct ParkArguments {
  std::string config;
  bool json = false;
  uint64_t limit = 1'000;
  bool values = false;  // list shows key, value and headers too
};

// The exit code, kExitUsage for a refused file or topic, kExitNoService without a broker.
int ParkCreateCommand(const ParkArguments& arguments);
int ParkListCommand(const ParkArguments& arguments);

}  // namespace oncemq
