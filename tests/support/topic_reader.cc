// SPDX-License-Identifier: Apache-2.0
#include "topic_reader.h"

#include <set>
#include <stdexcept>

#include "oncemq/base/clock.h"
#include "rdkafka_handle.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;

std::optional<std::string> Copy(const void* bytes, std::size_t size) {
  if (bytes == nullptr) {
    return std::nullopt;
  }
  return std::string(static_cast<const char*>(bytes), size);
}

StoredMessage Copy(const rd_kafka_message_t& message) {
  StoredMessage copy;
  copy.partition = message.partition;
  copy.offset = message.offset;
  copy.key = Copy(message.key, message.key_len);
  copy.value = Copy(message.payload, message.len);
  copy.timestamp_ms = rd_kafka_message_timestamp(&message, nullptr);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      copy.headers.emplace_back(name, Copy(value, size).value_or(""));
    }
  }
  return copy;
}

std::map<std::string, std::string> Properties(const std::string& bootstrap, bool committed_only) {
  return {{"bootstrap.servers", bootstrap},
          {"group.id", "topic-reader"},  // librdkafka wants one, even to assign by hand
          {"enable.auto.commit", "false"},
          {"enable.partition.eof", "true"},
          {"auto.offset.reset", "error"},
          {"fetch.wait.max.ms", "10"},
          {"queued.min.messages", "1000000"},
          {"isolation.level", committed_only ? "read_committed" : "read_uncommitted"}};
}

}  // namespace

std::vector<StoredMessage> ReadTopic(const std::string& bootstrap, const std::string& topic,
                                     const ReadOptions& options) {
  const BootTime deadline = SystemClock::Instance().Boot() + options.timeout;
  const ClientPtr client =
      MakeClient(RD_KAFKA_CONSUMER, Properties(bootstrap, options.committed_only));
  // A client that knows the leaders beforehand starts at once; else it looks again after 500 ms.
  const TopicPtr known(rd_kafka_topic_new(client.get(), topic.c_str(), nullptr));
  const MetadataPtr metadata = FetchMetadata(client.get(), options.timeout, known.get());
  const int32_t count = metadata == nullptr ? 0 : ReadyPartitions(*metadata, topic);
  if (count == 0) {
    throw std::runtime_error("topic " + topic + " can't be read: it isn't there");
  }
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(count));
  std::set<int32_t> unfinished;
  for (int32_t i = 0; i < count; ++i) {
    const auto start = options.from.find(i);
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), i)->offset =
        start == options.from.end() ? RD_KAFKA_OFFSET_BEGINNING : start->second;
    unfinished.insert(i);
  }
  Check(rd_kafka_assign(client.get(), list.get()), "assign");

  std::vector<StoredMessage> messages;
  while (!unfinished.empty()) {
    if (SystemClock::Instance().Boot() > deadline) {
      throw std::runtime_error("the end of topic " + topic + " isn't reached in time");
    }
    const MessagePtr message(rd_kafka_consumer_poll(client.get(), 100));
    if (message == nullptr) {
      continue;
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      messages.push_back(Copy(*message));
    } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      unfinished.erase(message->partition);
    } else if (message->rkt != nullptr) {
      Check(message->err, "reading " + topic);
    }
  }
  return messages;
}

}  // namespace oncemq::testing
