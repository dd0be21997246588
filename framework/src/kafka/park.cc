// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/park.h"

#include "broker_error.h"
#include "client_config.h"
#include "park_reader.h"
#include "rdkafka_ptr.h"
#include "topic_configs.h"

namespace oncemq {
namespace {

using NewTopicPtr = std::unique_ptr<rd_kafka_NewTopic_t, DestroyedBy<rd_kafka_NewTopic_destroy>>;

Error Unfit(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

// With these a topic forgets nothing by itself.
constexpr std::pair<const char*, const char*> kKeepAll[] = {
    {"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"}};

Status CreateTopic(rd_kafka_t* client, const std::string& topic, const TopicShape& source,
                   milliseconds within) {
  char why[256];
  const NewTopicPtr made(
      rd_kafka_NewTopic_new(topic.c_str(), source.partitions, source.replicas, why, sizeof why));
  if (made == nullptr) {
    return Unfit("the topic " + topic + " can't be made: " + why);
  }
  for (const auto& [name, value] : kKeepAll) {
    rd_kafka_NewTopic_set_config(made.get(), name, value);
  }
  const auto options = NewAdminOptions(client, RD_KAFKA_ADMIN_OP_CREATETOPICS, within);
  const QueuePtr queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* topics[] = {made.get()};
  rd_kafka_CreateTopics(client, topics, 1, options.get(), queue.get());
  const EventPtr event(rd_kafka_queue_poll(queue.get(), Millis(2 * within)));
  if (event == nullptr) {
    return Error{Code::kTimeout, Effect::kUnknown, "no broker answers"};
  }
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(rd_kafka_event_error(event.get()), "no broker answers");
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** const results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  const auto code =
      count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__BAD_MSG;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return BrokerError(code, "the topic " + topic + " can't be made");
  }
  return {};
}

// kInvalid: it has another number of partitions, or forgets. Settings without an answer pass.
Status CheckFit(rd_kafka_t* client, const TopicShape& park, int source_partitions,
                milliseconds within) {
  if (park.partitions != source_partitions) {
    return Unfit("the topic " + park.topic + " has " + std::to_string(park.partitions) +
                 " partitions, and its source has " + std::to_string(source_partitions) +
                 ": add partitions to the smaller one");
  }
  const QueuePtr queue(rd_kafka_queue_new(client));
  QueryTopicConfigs(client, {park.topic}, within, queue.get());
  const EventPtr event(rd_kafka_queue_poll(queue.get(), Millis(2 * within)));
  if (event == nullptr) {
    return {};
  }
  for (const rd_kafka_ConfigResource_t* topic : DescribedTopics(event.get())) {
    for (const auto& [name, wanted] : kKeepAll) {
      const char* const value = SettingOf(topic, name);
      if (value != nullptr && value != std::string_view(wanted)) {
        return Unfit("the topic " + park.topic + " forgets what is parked: " + name + " is " +
                     value + ", and must be " + wanted);
      }
    }
  }
  return {};
}

}  // namespace

std::string ParkTopicOf(std::string_view topic) {
  return std::string(topic).append(kParkSuffix);
}

Result<std::vector<std::string>> CreateParkTopics(const RuntimeOptions& options,
                                                  milliseconds within) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  std::vector<std::string> made;
  for (const std::string& source : options.kafka.topics) {
    const std::string topic = ParkTopicOf(source);
    const auto shape = ShapeOf(client->get(), source, within);
    if (!shape) {
      return shape.error();
    }
    const auto park = ShapeOf(client->get(), topic, within);
    if (!park && park.error().code != Code::kNotFound) {
      return park.error();
    }
    const Status fits = park ? CheckFit(client->get(), *park, shape->partitions, within)
                             : CreateTopic(client->get(), topic, *shape, within);
    if (!fits) {
      return fits.error();
    }
    if (!park) {
      made.push_back(topic);
    }
  }
  return made;
}

Status CheckParkTopics(const RuntimeOptions& options, milliseconds within) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  for (const std::string& source : options.kafka.topics) {
    const auto park = ShapeOf(client->get(), ParkTopicOf(source), within);
    if (!park) {
      return park.error().code == Code::kNotFound
                 ? Error{Code::kNotFound, Effect::kNone,
                         park.error().message + ": `oncemq park create` makes it"}
                 : park.error();
    }
    const auto shape = ShapeOf(client->get(), source, within);
    const int partitions = shape ? shape->partitions : park->partitions;
    if (const Status fits = CheckFit(client->get(), *park, partitions, within); !fits) {
      return fits;
    }
  }
  return {};
}

}  // namespace oncemq
