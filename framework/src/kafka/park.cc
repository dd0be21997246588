// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/park.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <span>

#include "broker_error.h"
#include "client_config.h"
#include "rdkafka_ptr.h"

namespace oncemq {
namespace {

using TopicHandle = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using NewTopicPtr = std::unique_ptr<rd_kafka_NewTopic_t, DestroyedBy<rd_kafka_NewTopic_destroy>>;
using ResourcePtr =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyedBy<rd_kafka_ConfigResource_destroy>>;
using AdminOptionsPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;
using RecordPtr = std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>>;

Error Unfit(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

constexpr std::string_view kFirstParkHeader = "__dlq.errors.topic";

struct TopicShape {
  int partitions = 0;
  int replicas = 0;
};

// kNotFound: there is none.
Result<TopicShape> ShapeOf(rd_kafka_t* client, const std::string& topic, milliseconds within) {
  const TopicHandle handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, handle.get(), &found, Millis(within));
  const std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>> answer(
      found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "no broker answers");
  }
  if (found->topic_cnt != 1 || found->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    return Error{Code::kNotFound, Effect::kNone, "the topic " + topic + " does not exist"};
  }
  const rd_kafka_metadata_topic_t& of = found->topics[0];
  if (of.err != RD_KAFKA_RESP_ERR_NO_ERROR || of.partition_cnt == 0) {
    return BrokerError(of.err, "the topic " + topic + " is not ready");
  }
  return TopicShape{of.partition_cnt, of.partitions[0].replica_cnt};
}

// The answer to an admin request, or kTimeout.
Result<EventPtr> Await(rd_kafka_queue_t* queue, milliseconds within) {
  EventPtr event(rd_kafka_queue_poll(queue, Millis(within)));
  if (event == nullptr) {
    return Error{Code::kTimeout, Effect::kUnknown, "no broker answers"};
  }
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(rd_kafka_event_error(event.get()), "no broker answers");
  }
  return event;
}

Status CreateTopic(rd_kafka_t* client, const std::string& topic, const TopicShape& shape,
                   milliseconds within) {
  char why[256];
  const NewTopicPtr made(
      rd_kafka_NewTopic_new(topic.c_str(), shape.partitions, shape.replicas, why, sizeof why));
  if (made == nullptr) {
    return Unfit("the topic " + topic + " can't be made: " + why);
  }
  for (const auto& [name, value] :
       {std::pair("cleanup.policy", "delete"), std::pair("retention.ms", "-1"),
        std::pair("retention.bytes", "-1")}) {
    rd_kafka_NewTopic_set_config(made.get(), name, value);
  }
  const AdminOptionsPtr options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Millis(within), why, sizeof why);
  const QueuePtr queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* topics[] = {made.get()};
  rd_kafka_CreateTopics(client, topics, 1, options.get(), queue.get());
  const auto event = Await(queue.get(), 2 * within);
  if (!event) {
    return event.error();
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** const results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event->get()), &count);
  const auto code =
      count == 1 ? rd_kafka_topic_result_error(results[0]) : RD_KAFKA_RESP_ERR__BAD_MSG;
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
    return BrokerError(code, "the topic " + topic + " can't be made");
  }
  return {};
}

// kInvalid where an entry would go by itself. Settings without an answer pass.
Status CheckRetention(rd_kafka_t* client, const std::string& topic, milliseconds within) {
  const ResourcePtr resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const AdminOptionsPtr options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  char why[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Millis(within), why, sizeof why);
  const QueuePtr queue(rd_kafka_queue_new(client));
  rd_kafka_ConfigResource_t* resources[] = {resource.get()};
  rd_kafka_DescribeConfigs(client, resources, 1, options.get(), queue.get());
  const auto event = Await(queue.get(), 2 * within);
  if (!event) {
    return event.error();
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const answers = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event->get()), &count);
  size_t entry_count = 0;
  const rd_kafka_ConfigEntry_t** const entries =
      count == 1 ? rd_kafka_ConfigResource_configs(answers[0], &entry_count) : nullptr;
  const std::map<std::string_view, std::string_view> wanted{
      {"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"}};
  for (const rd_kafka_ConfigEntry_t* entry : std::span(entries, entry_count)) {
    const auto setting = wanted.find(rd_kafka_ConfigEntry_name(entry));
    const char* const value = rd_kafka_ConfigEntry_value(entry);
    if (setting != wanted.end() && value != nullptr && setting->second != value) {
      return Unfit("the topic " + topic +
                   " forgets what is parked: " + std::string(setting->first) + " is " + value +
                   ", and must be " + std::string(setting->second));
    }
  }
  return {};
}

int64_t NumberOf(const std::optional<std::string>& text) {
  int64_t number = -1;
  const char* const begin = text ? text->data() : nullptr;
  if (begin != nullptr) {
    std::from_chars(begin, begin + text->size(), number);
  }
  return number;
}

std::optional<std::string> BytesOf(const void* bytes, size_t size) {
  return bytes == nullptr ? std::nullopt
                          : std::optional(std::string(static_cast<const char*>(bytes), size));
}

// Nothing for a foreign record. A message with an earlier parking has such headers of its own.
std::optional<ParkedEntry> EntryOf(const rd_kafka_message_t& record) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&record, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  ParkedEntry entry{.park_offset = record.offset};
  std::map<std::string, std::optional<std::string>> ours;
  size_t own = 0;
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       i++) {
    if (name == kFirstParkHeader) {
      own = i;
      ours.clear();
    }
    ours[name] = BytesOf(value, size);
    entry.headers.emplace_back(name, BytesOf(value, size));
  }
  const std::string outcome = ours[std::string(kParkHeader)].value_or("");
  if (outcome != kParkedEntry && outcome != kPassedEntry) {
    return std::nullopt;
  }
  entry.headers.resize(own);
  entry.passed = outcome == kPassedEntry;
  entry.topic = ours[std::string(kFirstParkHeader)].value_or("");
  entry.partition = static_cast<int32_t>(NumberOf(ours["__dlq.errors.partition"]));
  entry.offset = NumberOf(ours["__dlq.errors.offset"]);
  entry.attempts = static_cast<uint32_t>(
      std::clamp<int64_t>(NumberOf(ours["__dlq.errors.delivery.count"]), 0, UINT32_MAX));
  entry.why = ours["__dlq.errors.message"].value_or("");
  entry.id = ours[std::string(kParkIdHeader)].value_or("");
  rd_kafka_timestamp_type_t kind;
  entry.timestamp_ms = rd_kafka_message_timestamp(&record, &kind);
  entry.key = BytesOf(record.key, record.key_len);
  entry.value = BytesOf(record.payload, record.len);
  return entry;
}

// One partition from its begin to its present end.
class ParkReader {
 public:
  ParkReader(rd_kafka_t* client, const std::string& topic, milliseconds within)
      : client_(client),
        topic_(topic),
        within_(within),
        handle_(rd_kafka_topic_new(client, topic.c_str(), nullptr)) {}

  // False: `take` has seen enough.
  Result<bool> Read(int32_t partition, const std::function<bool(const ParkedEntry&)>& take) {
    int64_t begin = 0;
    int64_t end = 0;
    const auto marks = rd_kafka_query_watermark_offsets(client_, topic_.c_str(), partition, &begin,
                                                        &end, Millis(within_));
    if (marks != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(marks, "the end of " + topic_ + " is not known");
    }
    if (begin >= end) {
      return true;
    }
    if (rd_kafka_consume_start(handle_.get(), partition, begin) != 0) {
      return BrokerError(rd_kafka_last_error(), topic_ + " can't be read");
    }
    const Result<bool> all = ReadTo(partition, end, take);
    rd_kafka_consume_stop(handle_.get(), partition);
    return all;
  }

 private:
  Result<bool> ReadTo(int32_t partition, int64_t end,
                      const std::function<bool(const ParkedEntry&)>& take) {
    std::set<std::pair<std::string, int64_t>> seen;  // the first entry of a message counts
    BootTime until = BootNow() + within_;
    for (int64_t next = 0; next < end;) {
      const RecordPtr record(rd_kafka_consume(handle_.get(), partition, 100));
      if (record == nullptr) {
        if (BootNow() > until) {
          return Error{Code::kTimeout, Effect::kNone, topic_ + " can't be read: no broker answers"};
        }
        continue;
      }
      if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        return true;
      }
      if (record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return BrokerError(record->err, topic_ + " can't be read");
      }
      until = BootNow() + within_;
      next = record->offset + 1;
      const auto entry = EntryOf(*record);
      if (entry && seen.insert({entry->topic, entry->offset}).second && !take(*entry)) {
        return false;
      }
    }
    return true;
  }

  rd_kafka_t* const client_;
  const std::string topic_;
  const milliseconds within_;
  const TopicHandle handle_;
};

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
    const auto there = ShapeOf(client->get(), topic, within);
    if (there) {
      continue;
    }
    if (there.error().code != Code::kNotFound) {
      return there.error();
    }
    if (const Status created = CreateTopic(client->get(), topic, *shape, within); !created) {
      return created.error();
    }
    made.push_back(topic);
  }
  return made;
}

Status CheckParkTopics(const RuntimeOptions& options, milliseconds within) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  for (const std::string& source : options.kafka.topics) {
    const std::string topic = ParkTopicOf(source);
    const auto park = ShapeOf(client->get(), topic, within);
    if (!park) {
      return park.error().code == Code::kNotFound
                 ? Error{Code::kNotFound, Effect::kNone,
                         park.error().message + ": `oncemq park create` makes it"}
                 : park.error();
    }
    const auto shape = ShapeOf(client->get(), source, within);
    if (shape && shape->partitions != park->partitions) {
      return Unfit("the topic " + topic + " has " + std::to_string(park->partitions) +
                   " partitions, and " + source + " has " + std::to_string(shape->partitions) +
                   ": add partitions to the smaller one");
    }
    if (const Status keeps = CheckRetention(client->get(), topic, within);
        !keeps && keeps.error().code == Code::kInvalid) {
      return keeps;
    }
  }
  return {};
}

Status ReadParked(const RuntimeOptions& options, milliseconds within,
                  const std::function<bool(const ParkedEntry&)>& take) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  for (const std::string& source : options.kafka.topics) {
    const std::string topic = ParkTopicOf(source);
    const auto shape = ShapeOf(client->get(), topic, within);
    if (!shape) {
      return shape.error();
    }
    ParkReader reader(client->get(), topic, within);
    for (int32_t partition = 0; partition < shape->partitions; partition++) {
      const auto goes_on = reader.Read(partition, take);
      if (!goes_on) {
        return goes_on.error();
      }
      if (!*goes_on) {
        return {};
      }
    }
  }
  return {};
}

}  // namespace oncemq
