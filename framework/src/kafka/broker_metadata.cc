// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/broker_metadata.h"

#include <algorithm>

#include "broker_error.h"
#include "client_config.h"
#include "rdkafka_ptr.h"

namespace oncemq {
namespace {

// About the topics that the client has a handle of.
Result<MetadataPtr> QueryBrokers(rd_kafka_t* client, milliseconds within) {
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, nullptr, &found, Millis(within));
  MetadataPtr answer(found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "no broker answers");
  }
  return answer;
}

TopicMetadata MetadataOf(const std::string& name, const rd_kafka_metadata_t& answer) {
  const rd_kafka_metadata_topic_t* const end = answer.topics + answer.topic_cnt;
  const rd_kafka_metadata_topic_t* const topic =
      std::find_if(static_cast<const rd_kafka_metadata_topic_t*>(answer.topics), end,
                   [&](const rd_kafka_metadata_topic_t& each) { return each.topic == name; });
  const auto code = topic == end ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : topic->err;
  TopicMetadata metadata{.name = name};
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    metadata.partitions = topic->partition_cnt;
  } else {
    metadata.wrong = rd_kafka_err2str(code);
  }
  return metadata;
}

}  // namespace

Result<BrokerMetadata> QueryMetadata(const RuntimeOptions& options, milliseconds within) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  std::vector<TopicPtr> handles;
  for (const std::string& name : options.kafka.topics) {
    handles.emplace_back(rd_kafka_topic_new(client->get(), name.c_str(), nullptr));
  }
  // The first answer comes after the connection.
  if (const auto connected = QueryBrokers(client->get(), within); !connected) {
    return connected.error();
  }
  const BootTime sent = BootNow();
  const auto answer = QueryBrokers(client->get(), within);
  if (!answer) {
    return answer.error();
  }
  BrokerMetadata metadata{.brokers = (*answer)->broker_cnt, .answer_in = BootNow() - sent};
  for (const std::string& name : options.kafka.topics) {
    metadata.topics.push_back(MetadataOf(name, **answer));
  }
  return metadata;
}

}  // namespace oncemq
