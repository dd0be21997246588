// SPDX-License-Identifier: Apache-2.0
#include "poll_loop.h"

#include <chrono>
#include <stdexcept>

#include "rdkafka_handle.h"

namespace oncemq::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kPatience{1};

std::string_view IdHeader(rd_kafka_message_t* message) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
      rd_kafka_header_get_last(headers, "message-id", &value, &size) !=
          RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error("a message without an id");
  }
  return {static_cast<const char*>(value), size};
}

}  // namespace

double RunPollLoop(const PollLoopOptions& options) {
  const ClientPtr client = MakeClient(
      RD_KAFKA_CONSUMER, {{"bootstrap.servers", options.bootstrap},
                          {"group.id", options.group},
                          {"auto.offset.reset", "earliest"},
                          {"enable.auto.commit", options.commit_each ? "false" : "true"}});
  rd_kafka_poll_set_consumer(client.get());
  const PartitionsPtr topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), options.topic.c_str(), RD_KAFKA_PARTITION_UA);
  Check(rd_kafka_subscribe(client.get(), topics.get()), "subscribe");
  Clock::time_point began;
  Clock::time_point last = Clock::now();
  for (int64_t read = 0; read < options.messages;) {
    const MessagePtr message(rd_kafka_consumer_poll(client.get(), 100));
    if (message == nullptr || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (Clock::now() - last > kPatience) {
        throw std::runtime_error("no message came for a minute");
      }
      continue;
    }
    began = read == 0 ? Clock::now() : began;
    options.handle(IdHeader(message.get()));
    if (options.commit_each) {
      Check(rd_kafka_commit_message(client.get(), message.get(), 0), "commit");
    }
    last = Clock::now();
    read++;
  }
  rd_kafka_consumer_close(client.get());
  return std::chrono::duration<double>(last - began).count();
}

}  // namespace oncemq::testing
