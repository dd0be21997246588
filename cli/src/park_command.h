// SPDX-License-Identifier: Apache-2.0
// oncemq park: the topics of refused messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "oncemq/base/clock.h"
#include "oncemq/framework/park.h"

namespace oncemq {

// Names heads, and with each the messages that follow it.
struct ParkFilter {
  std::string topic;
  std::optional<int32_t> partition;
  std::optional<int64_t> offset;  // in the topic
  std::optional<std::string> key;
  std::string header;  // NAME=VALUE
  std::string why;     // part of the reason
  std::string older;   // a duration, by the time of the message
  std::string younger;
  bool operator==(const ParkFilter&) const = default;
};

struct ParkArguments {
  std::string config;
  bool json = false;
  uint64_t limit = 1'000;
  bool values = false;  // list shows key, value and headers too
  bool groups = false;  // or only the reasons, with their numbers
  ParkFilter filter;
  // For commands.
  std::string run;
  bool go = false;  // else it only counts
  std::optional<uint64_t> count;
  uint32_t per_second = 100;
  uint32_t most_redrives = 10;
  bool rerun_uncertain = false;
  std::string patience = "1m";
};

// The exit code, kExitUsage for a refused file or topic, kExitNoService without a broker.
int ParkCreateCommand(const ParkArguments& arguments);
int ParkListCommand(const ParkArguments& arguments);
// kExitParked where messages were refused again, have no outcome yet, or were left out.
int ParkSendCommand(const ParkArguments& arguments, ParkCommand::Kind kind);

}  // namespace oncemq
