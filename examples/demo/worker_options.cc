// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

namespace oncemq::demo {
namespace {

constexpr size_t kArguments = 6;

}  // namespace

std::vector<std::string> ToArguments(const WorkerOptions& options) {
  return {options.name,
          options.brokers,
          options.topic,
          options.group,
          options.window ? "window" : "no-window",
          options.effects};
}

Result<WorkerOptions> ParseWorker(std::span<const std::string_view> arguments) {
  if (arguments.size() != kArguments) {
    return Error{Code::kInvalid, Effect::kNone, "a worker is started by the demo itself"};
  }
  return WorkerOptions{.name = std::string(arguments[0]),
                       .brokers = std::string(arguments[1]),
                       .topic = std::string(arguments[2]),
                       .group = std::string(arguments[3]),
                       .window = arguments[4] == "window",
                       .effects = std::string(arguments[5])};
}

}  // namespace oncemq::demo
