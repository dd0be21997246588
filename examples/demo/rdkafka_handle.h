// SPDX-License-Identifier: Apache-2.0
// librdkafka's handles with owners, for the files of this folder that talk to the embedded broker.
//
// Thread safety: as librdkafka says.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq::demo {

template <auto kDestroy>
struct DestroyedBy {
  template <class T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};

using ClientPtr = std::unique_ptr<rd_kafka_t, DestroyedBy<rd_kafka_destroy>>;
using ErrorPtr = std::unique_ptr<rd_kafka_error_t, DestroyedBy<rd_kafka_error_destroy>>;
using MessagePtr = std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>>;
using PartitionsPtr = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                      DestroyedBy<rd_kafka_topic_partition_list_destroy>>;

struct ClientOptions {
  rd_kafka_type_t type = RD_KAFKA_PRODUCER;
  std::vector<std::pair<std::string, std::string>> properties;
  // Called by rd_kafka_poll for each message that was delivered or given up.
  void (*on_delivery)(rd_kafka_t*, const rd_kafka_message_t*, void*) = nullptr;
  void* opaque = nullptr;
};

// Its log goes into ours.
Result<ClientPtr> OpenClient(const ClientOptions& options);

// Nothing can be said about what a failed call has left behind.
Error KafkaError(const std::string& what, rd_kafka_resp_err_t error);

}  // namespace oncemq::demo
