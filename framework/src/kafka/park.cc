// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/park.h"

#include "broker_error.h"
#include "client_config.h"
#include "park_book.h"
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

struct TopicShape {
  std::string topic;
  int partitions = 0;
  int replicas = 0;
};

// kNotFound: there is none.
Result<TopicShape> ShapeOf(rd_kafka_t* client, const std::string& topic, milliseconds within) {
  const TopicPtr handle(rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, handle.get(), &found, Millis(within));
  const MetadataPtr answer(found);
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
  return TopicShape{topic, of.partition_cnt, of.partitions[0].replica_cnt};
}

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

std::optional<std::string> BytesOf(const void* bytes, size_t size) {
  return bytes == nullptr ? std::nullopt
                          : std::optional(std::string(static_cast<const char*>(bytes), size));
}

// The records of one park topic.
class ParkReader {
 public:
  using Take = std::function<bool(const rd_kafka_message_t&)>;

  ParkReader(rd_kafka_t* client, const std::string& source, milliseconds within)
      : client_(client),
        topic_(ParkTopicOf(source)),
        within_(within),
        handle_(rd_kafka_topic_new(client, topic_.c_str(), nullptr)) {}

  // One partition from its begin to its present end. False: `take` has seen enough.
  Result<bool> Read(int32_t partition, const Take& take) {
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
  Result<bool> ReadTo(int32_t partition, int64_t end, const Take& take) {
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
      if (!take(*record)) {
        return false;
      }
    }
    return true;
  }

  rd_kafka_t* const client_;
  const std::string topic_;
  const milliseconds within_;
  const TopicPtr handle_;
};

// An entry of the book, with what only its record has.
ParkedEntry EntryOf(const rd_kafka_message_t& record, const std::string& source,
                    const ParkRecord& read, ParkHeaders own, const ParkBook& book) {
  const ParkBook::Entry& its = book.entries().at(read.offset);
  const ParkBook::Chain& chain = book.chains().at(its.chain);
  return {.topic = source,
          .partition = record.partition,
          .offset = read.offset,
          .park_offset = record.offset,
          .timestamp_ms = rd_kafka_message_timestamp(&record, nullptr),
          .id = read.id,
          .why = its.why,
          .attempts = its.attempts,
          .redrives = its.redrives,
          .head = chain.places.begin()->second,
          .redriving = chain.command >= 0,
          .key = BytesOf(record.key, record.key_len),
          .value = BytesOf(record.payload, record.len),
          .headers = std::move(own)};
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

Status ReadParked(const RuntimeOptions& options, milliseconds within,
                  const std::function<bool(const ParkedEntry&)>& take) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  for (const std::string& source : options.kafka.topics) {
    const auto shape = ShapeOf(client->get(), ParkTopicOf(source), within);
    if (!shape) {
      return shape.error();
    }
    ParkReader reader(client->get(), source, within);
    for (int32_t partition = 0; partition < shape->partitions; partition++) {
      ParkBook book;
      const auto noted = reader.Read(partition, [&](const rd_kafka_message_t& record) {
        book.Apply(record, options.null_key);
        return true;
      });
      if (!noted) {
        return noted.error();
      }
      if (book.entries().empty()) {
        continue;
      }
      const auto goes_on = reader.Read(partition, [&](const rd_kafka_message_t& record) {
        ParkHeaders own;
        const auto read = ReadParkRecord(record, &own);
        const auto entry = read ? book.entries().find(read->offset) : book.entries().end();
        return entry == book.entries().end() || entry->second.place != record.offset ||
               take(EntryOf(record, source, *read, std::move(own), book));
      });
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
