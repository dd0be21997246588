// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

namespace oncemq::demo {
namespace {

constexpr size_t kArguments = 7;

}  // namespace

std::vector<std::string> ToArguments(const WorkerOptions& options) {
  return {options.name,
          options.brokers,
          options.topic,
          options.group,
          options.effects,
          options.window ? "window" : "no-window",
          options.catch_up ? "catch-up" : "no-catch-up"};
}

Result<WorkerOptions> ParseWorker(std::span<const std::string_view> arguments) {
  if (arguments.size() != kArguments) {
    return Error{Code::kInvalid, Effect::kNone, "a worker is started by the demo itself"};
  }
  return WorkerOptions{.name = std::string(arguments[0]),
                       .brokers = std::string(arguments[1]),
                       .topic = std::string(arguments[2]),
                       .group = std::string(arguments[3]),
                       .effects = std::string(arguments[4]),
                       .window = arguments[5] == "window",
                       .catch_up = arguments[6] == "catch-up"};
}

}  // namespace oncemq::demo
