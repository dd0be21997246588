// SPDX-License-Identifier: Apache-2.0
// The worker: a process that posts payments, one member of the group. Started by the parent as
// `demo worker ...`. It tells its counters as JSON lines on standard output, and at SIGTERM drains,
// leaves the group and sends its last counters. At SIGUSR1 its next handler stands still once it
// has written its effect, and the report says inside which payment: so the parent can kill it
// there. It ends with its parent.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq::demo {

struct WorkerOptions {
  std::string name;
  std::string brokers;
  std::string topic;
  std::string group;
  // Where ids are remembered.
  enum class Kind : unsigned char { kNoWindow, kOnDisk, kInRedis } kind = Kind::kOnDisk;
  // The directory of the stores; without a window, the log of effects; or the address of the Redis.
  std::string effects;
};

// As arguments of a process, and back.
std::vector<std::string> ToArguments(const WorkerOptions& options);
Result<WorkerOptions> ParseWorker(std::span<const std::string_view> arguments);

// Returns the exit code of the process.
int RunWorker(const WorkerOptions& options);

}  // namespace oncemq::demo
