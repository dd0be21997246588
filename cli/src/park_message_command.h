// SPDX-License-Identifier: Apache-2.0
// `oncemq park show` and `oncemq park edit`, for one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oncemq {

struct ParkMessageArguments {
  std::string config;
  bool json = false;
  // The message, by its place in the source or by its id.
  std::string topic;
  std::optional<int32_t> partition;
  std::optional<int64_t> offset;
  std::string id;
  std::string value;  // a file
  // For edit.
  std::vector<std::string> headers;  // NAME=VALUE
  std::vector<std::string> drop_headers;
  std::string run;
  bool go = false;
};

// The exit code, as of the other commands. kExitParked: the edit came too late.
int ParkShowCommand(const ParkMessageArguments& arguments);
int ParkEditCommand(const ParkMessageArguments& arguments);

}  // namespace oncemq
