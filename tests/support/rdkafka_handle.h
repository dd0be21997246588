// SPDX-License-Identifier: Apache-2.0
// librdkafka's C handles with owners, for the files of this folder only: no header that a test
// includes shows a type of librdkafka. Failures are std::runtime_error with librdkafka's words.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace oncemq::testing {

template <auto kDestroy>
struct DestroyedBy {
  template <class T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};

using ClientPtr = std::unique_ptr<rd_kafka_t, DestroyedBy<rd_kafka_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, DestroyedBy<rd_kafka_queue_destroy>>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using EventPtr = std::unique_ptr<rd_kafka_event_t, DestroyedBy<rd_kafka_event_destroy>>;
using MessagePtr = std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, DestroyedBy<rd_kafka_error_destroy>>;
using HeadersPtr = std::unique_ptr<rd_kafka_headers_t, DestroyedBy<rd_kafka_headers_destroy>>;
using PartitionsPtr = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                      DestroyedBy<rd_kafka_topic_partition_list_destroy>>;
using MetadataPtr =
    std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>>;

using DeliveryReport = void (*)(rd_kafka_t*, const rd_kafka_message_t*, void*);

// `report` and `opaque` are for producers. librdkafka's log lines are dropped: a test that kills
// its broker would drown in them, and every call reports its own error.
ClientPtr MakeClient(rd_kafka_type_t type, const std::map<std::string, std::string>& properties,
                     DeliveryReport report = nullptr, void* opaque = nullptr);

// Throws unless `error` is "no error".
void Check(rd_kafka_resp_err_t error, const std::string& what);

// Brokers and all topics as the cluster knows them now, or that topic alone; nothing when nobody
// answers in time.
MetadataPtr FetchMetadata(rd_kafka_t* client, std::chrono::milliseconds timeout,
                          rd_kafka_topic_t* only = nullptr);

// Partitions of the topic that have a leader; 0 when there is no such topic.
int32_t ReadyPartitions(const rd_kafka_metadata_t& metadata, const std::string& topic);

}  // namespace oncemq::testing
