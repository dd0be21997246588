// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "worker.h"

namespace oncemq::demo {
namespace {

constexpr size_t kArguments = 6;

constexpr std::pair<std::string_view, WorkerOptions::Kind> kKinds[] = {
    {"no-window", WorkerOptions::Kind::kNoWindow},
    {"disk", WorkerOptions::Kind::kOnDisk},
    {"redis", WorkerOptions::Kind::kInRedis}};

}  // namespace

std::vector<std::string> ToArguments(const WorkerOptions& options) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const auto& one) { return one.second == options.kind; });
  return {options.name,  options.brokers,          options.topic,
          options.group, std::string(kind->first), options.effects};
}

Result<WorkerOptions> ParseWorker(std::span<const std::string_view> arguments) {
  const auto kind = arguments.size() != kArguments
                        ? std::end(kKinds)
                        : std::find_if(std::begin(kKinds), std::end(kKinds),
                                       [&](const auto& one) { return one.first == arguments[4]; });
  if (kind == std::end(kKinds)) {
    return Error{Code::kInvalid, Effect::kNone, "a worker is started by the demo itself"};
  }
  return WorkerOptions{.name = std::string(arguments[0]),
                       .brokers = std::string(arguments[1]),
                       .topic = std::string(arguments[2]),
                       .group = std::string(arguments[3]),
                       .kind = kind->second,
                       .effects = std::string(arguments[5])};
}

}  // namespace oncemq::demo
