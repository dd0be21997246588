// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/broker_look.h"

#include <algorithm>
#include <memory>

#include "broker_error.h"
#include "client_config.h"
#include "rdkafka_ptr.h"

namespace oncemq {
namespace {

using TopicHandle = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using BrokerAnswer =
    std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>>;

// About the topics that the client has a handle of.
Result<BrokerAnswer> QueryBrokers(rd_kafka_t* client, milliseconds within) {
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, nullptr, &found, Millis(within));
  BrokerAnswer answer(found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "no broker answers");
  }
  return answer;
}

TopicLook LookOf(const std::string& name, const rd_kafka_metadata_t& answer) {
  const rd_kafka_metadata_topic_t* const end = answer.topics + answer.topic_cnt;
  const rd_kafka_metadata_topic_t* const topic =
      std::find_if(static_cast<const rd_kafka_metadata_topic_t*>(answer.topics), end,
                   [&](const rd_kafka_metadata_topic_t& each) { return each.topic == name; });
  const auto code = topic == end ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : topic->err;
  TopicLook look{.name = name};
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    look.partitions = topic->partition_cnt;
  } else {
    look.wrong = rd_kafka_err2str(code);
  }
  return look;
}

}  // namespace

Result<BrokerLook> LookAtBrokers(const RuntimeOptions& options, milliseconds within) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  std::vector<TopicHandle> handles;
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
  BrokerLook look{.brokers = (*answer)->broker_cnt, .answer_in = BootNow() - sent};
  for (const std::string& name : options.kafka.topics) {
    look.topics.push_back(LookOf(name, **answer));
  }
  return look;
}

}  // namespace oncemq
