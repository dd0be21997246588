// SPDX-License-Identifier: Apache-2.0
#include "cleanup_policy.h"

#include <span>
#include <string_view>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr milliseconds kWithin{5'000};
constexpr std::string_view kName = "cleanup.policy";

using ResourcePtr =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyedBy<rd_kafka_ConfigResource_destroy>>;
using AdminOptionsPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;

void SayUnknown(std::string_view topic, const char* why) {
  Log(LogLevel::kInfo, "kafka",
      "whether a topic is compacted is not known; if it is, catch-up can't complete the window",
      {{"topic", topic}, {"error", why}});
}

// nullptr: not in the answer.
const char* PolicyOf(const rd_kafka_ConfigResource_t* topic) {
  size_t count = 0;
  const rd_kafka_ConfigEntry_t** const entries = rd_kafka_ConfigResource_configs(topic, &count);
  for (const rd_kafka_ConfigEntry_t* entry : std::span(entries, count)) {
    if (rd_kafka_ConfigEntry_name(entry) == kName) {
      return rd_kafka_ConfigEntry_value(entry);
    }
  }
  return nullptr;
}

}  // namespace

void CleanupPolicies::Query(rd_kafka_t* client, const std::vector<std::string>& topics,
                            rd_kafka_queue_t* replies) {
  std::vector<ResourcePtr> resources;
  std::vector<rd_kafka_ConfigResource_t*> requests;
  for (const std::string& topic : topics) {
    resources.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
    requests.push_back(resources.back().get());
  }
  const AdminOptionsPtr options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  char why[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Millis(kWithin), why, sizeof why);
  rd_kafka_DescribeConfigs(client, requests.data(), requests.size(), options.get(), replies);
  pending_ = true;
}

void CleanupPolicies::Answered(rd_kafka_event_t* event) {
  pending_ = false;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    SayUnknown("all", rd_kafka_event_error_string(event));
    return;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const topics = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count);
  for (const rd_kafka_ConfigResource_t* topic : std::span(topics, count)) {
    const char* const name = rd_kafka_ConfigResource_name(topic);
    const auto code = rd_kafka_ConfigResource_error(topic);
    const char* const policy = PolicyOf(topic);
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
