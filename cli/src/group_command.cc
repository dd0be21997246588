// SPDX-License-Identifier: Apache-2.0
#include "group_command.h"

#include <iostream>
#include <optional>
#include <utility>

#include "exit_code.h"
#include "group_text.h"
#include "kafka_names.h"
#include "oncemq/framework/service_file.h"
#include "park_text.h"
#include "query_service.h"
#include "safe_json.h"

namespace oncemq {
namespace {

constexpr milliseconds kWithin{10'000};
// A watch reads whole park topics, so it does that more rarely.
constexpr milliseconds kCountParkedEvery{30'000};

Error Unnamed(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

Result<ServiceOptions> GroupOptionsOf(const GroupArguments& arguments) {
  if (!arguments.config.empty()) {
    return LoadService(arguments.config);
  }
  if (arguments.brokers.empty() || arguments.group.empty() || arguments.topics.empty()) {
    return Unnamed("say which group: by its service file, or by --brokers, --group and --topics");
  }
  if (const Status fit = CheckBrokers(arguments.brokers); !fit) {
    return Unnamed("--brokers " + fit.error().message);
  }
  if (const Status fit = CheckGroup(arguments.group); !fit) {
    return Unnamed("--group " + fit.error().message);
  }
  for (const std::string& topic : arguments.topics) {
    if (const Status fit = CheckTopic(topic); !fit) {
      return Unnamed("--topics: " + fit.error().message);
    }
  }
  ServiceOptions options;
  options.runtime.kafka.brokers = arguments.brokers;
  options.runtime.kafka.group = arguments.group;
  options.runtime.kafka.topics = arguments.topics;
  return options;
}

class GroupLook {
 public:
  explicit GroupLook(ServiceOptions options) : options_(std::move(options)) {
    view_.group = options_.runtime.kafka.group;
  }

  StatusLook Look() {
    auto status = QueryGroup(options_.runtime, kWithin);
    if (!status) {
      return Failed(status.error());
    }
    view_.status = *std::move(status);
    if (!counted_ || BootNow() >= *counted_ + kCountParkedEvery) {
      auto parked = CountParked(options_.runtime, kWithin);
      if (!parked) {
        return Failed(parked.error());
      }
      view_.parked = *std::move(parked);
      counted_ = BootNow();
    }
    // Often no member runs on this host.
    view_.here = options_.admin.socket.empty()
                     ? nlohmann::ordered_json()
                     : QuerySocket(options_.admin.socket, {.command = "status"}).result;
    nlohmann::ordered_json json = GroupJson(view_);
    const int code = ExitCodeOfGroup(json);
    return {.code = code, .result = std::move(json)};
  }

 private:
  static StatusLook Failed(const Error& error) {
    return {.code = ParkFailed(error), .why = SafeText(error.message)};
  }

  const ServiceOptions options_;
  GroupView view_;
  std::optional<BootTime> counted_;
};

}  // namespace

int GroupStatusCommand(const GroupArguments& arguments) {
  auto options = GroupOptionsOf(arguments);
  if (!options) {
    return ParkFailed(options.error());
  }
  GroupLook group(*std::move(options));
  const auto look = [&] { return group.Look(); };
  if (arguments.watch.watch) {
    return WatchStatus(arguments.watch, arguments.json, look, GroupTableOf);
  }
  const StatusLook now = look();
  if (now.result.is_null()) {
    return now.code;
  }
  std::cout << (arguments.json
                    ? SafeJson(now.result) + "\n"
                    : TableText(GroupTableOf(now.result), {.color = LookOfOutput().color}));
  return now.code;
}

}  // namespace oncemq
