// SPDX-License-Identifier: Apache-2.0
#include "topic_configs.h"

namespace oncemq {

void QueryTopicConfigs(rd_kafka_t* client, const std::vector<std::string>& topics,
                       milliseconds within, rd_kafka_queue_t* replies, void* opaque) {
  using ResourcePtr =
      std::unique_ptr<rd_kafka_ConfigResource_t, DestroyedBy<rd_kafka_ConfigResource_destroy>>;
  std::vector<ResourcePtr> resources;
  std::vector<rd_kafka_ConfigResource_t*> requests;
  for (const std::string& topic : topics) {
    resources.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
    requests.push_back(resources.back().get());
  }
  const auto options = NewAdminOptions(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, within);
  rd_kafka_AdminOptions_set_opaque(options.get(), opaque);
  rd_kafka_DescribeConfigs(client, requests.data(), requests.size(), options.get(), replies);
}

std::span<const rd_kafka_ConfigResource_t* const> DescribedTopics(rd_kafka_event_t* event) {
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {};
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const topics = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count);
  return {topics, count};
}

const char* SettingOf(const rd_kafka_ConfigResource_t* topic, std::string_view name) {
  size_t count = 0;
  const rd_kafka_ConfigEntry_t** const entries = rd_kafka_ConfigResource_configs(topic, &count);
  for (const rd_kafka_ConfigEntry_t* entry : std::span(entries, count)) {
    if (rd_kafka_ConfigEntry_name(entry) == name) {
      return rd_kafka_ConfigEntry_value(entry);
    }
  }
  return nullptr;
}

}  // namespace oncemq
