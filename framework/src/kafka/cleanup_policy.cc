// SPDX-License-Identifier: Apache-2.0
#include "cleanup_policy.h"

#include <string_view>

#include "oncemq/base/log.h"
#include "topic_configs.h"

namespace oncemq {
namespace {

constexpr milliseconds kWithin{5'000};
constexpr std::string_view kName = "cleanup.policy";

void SayUnknown(std::string_view topic, const char* why) {
  Log(LogLevel::kInfo, "kafka",
      "whether a topic is compacted is not known; if it is, catch-up can't complete the window",
      {{"topic", topic}, {"error", why}});
}

}  // namespace

void CleanupPolicies::Query(rd_kafka_t* client, const std::vector<std::string>& topics,
                            rd_kafka_queue_t* replies) {
  QueryTopicConfigs(client, topics, kWithin, replies);
  pending_ = true;
}

void CleanupPolicies::Answered(rd_kafka_event_t* event) {
  pending_ = false;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    SayUnknown("all", rd_kafka_event_error_string(event));
    return;
  }
  for (const rd_kafka_ConfigResource_t* topic : DescribedTopics(event)) {
    const char* const name = rd_kafka_ConfigResource_name(topic);
    const auto code = rd_kafka_ConfigResource_error(topic);
    const char* const policy = SettingOf(topic, kName);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || policy == nullptr) {
      SayUnknown(name, code != RD_KAFKA_RESP_ERR_NO_ERROR ? rd_kafka_err2str(code)
                                                          : "the answer does not name its policy");
    } else if (std::string_view(policy).find("compact") != std::string_view::npos) {
      compacted_.insert(name);
      Log(LogLevel::kWarn, "kafka",
          "the topic is compacted: catch-up can't complete the window, because it does not see the "
          "ids that are gone; do not count on it, a copy of such an id runs again after a move",
          {{"topic", name}, {kName, policy}});
    }
  }
}

}  // namespace oncemq
