// SPDX-License-Identifier: Apache-2.0
// Owners for librdkafka's C handles.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

#include "oncemq/base/clock.h"

namespace oncemq {

template <auto kDestroy>
struct DestroyedBy {
  template <class T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};

// A member closes its client itself, bounded; so destroying one never waits for the group. It does
// wait for librdkafka's threads, and these for a resolver that is silent or a message that lives:
// after 2 s that wait goes on without the caller.
struct ClientDestroyer {
  void operator()(rd_kafka_t* client) const;
};

using ClientPtr = std::unique_ptr<rd_kafka_t, ClientDestroyer>;
using ConfPtr = std::unique_ptr<rd_kafka_conf_t, DestroyedBy<rd_kafka_conf_destroy>>;
using QueuePtr = std::unique_ptr<rd_kafka_queue_t, DestroyedBy<rd_kafka_queue_destroy>>;
using EventPtr = std::unique_ptr<rd_kafka_event_t, DestroyedBy<rd_kafka_event_destroy>>;
using HeadersPtr = std::unique_ptr<rd_kafka_headers_t, DestroyedBy<rd_kafka_headers_destroy>>;
using RecordPtr = std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>>;
using TopicPtr = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using MetadataPtr =
    std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, DestroyedBy<rd_kafka_error_destroy>>;
using PartitionListPtr = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                         DestroyedBy<rd_kafka_topic_partition_list_destroy>>;
using AdminOptionsPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;
using TextPtr =
    std::unique_ptr<char, decltype([](char* text) { rd_kafka_mem_free(nullptr, text); })>;

inline int Millis(milliseconds time) {
  return static_cast<int>(time.count());
}

// For an admin request with an answer within the time.
AdminOptionsPtr NewAdminOptions(rd_kafka_t* client, rd_kafka_admin_op_t request,
                                milliseconds within);

}  // namespace oncemq
