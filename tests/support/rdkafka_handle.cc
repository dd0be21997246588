// SPDX-License-Identifier: Apache-2.0
#include "rdkafka_handle.h"

#include <stdexcept>
#include <string_view>

namespace oncemq::testing {
namespace {

void DropLog(const rd_kafka_t*, int, const char*, const char*) {}

}  // namespace

ClientPtr MakeClient(rd_kafka_type_t type, const std::map<std::string, std::string>& properties,
                     DeliveryReport report, void* opaque) {
  char why[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : properties) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof(why)) !=
        RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      throw std::runtime_error(why);
    }
  }
  rd_kafka_conf_set_log_cb(conf, DropLog);
  if (report != nullptr) {
    rd_kafka_conf_set_dr_msg_cb(conf, report);
  }
  rd_kafka_conf_set_opaque(conf, opaque);
  ClientPtr client(rd_kafka_new(type, conf, why, sizeof(why)));
  if (client == nullptr) {
    rd_kafka_conf_destroy(conf);  // a client that was made owns it
    throw std::runtime_error(why);
  }
  return client;
}

void Check(rd_kafka_resp_err_t error, const std::string& what) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(what + ": " + rd_kafka_err2str(error));
  }
}

MetadataPtr FetchMetadata(rd_kafka_t* client, std::chrono::milliseconds timeout,
                          rd_kafka_topic_t* only) {
  const rd_kafka_metadata_t* metadata = nullptr;
  rd_kafka_metadata(client, only == nullptr ? 1 : 0, only, &metadata,
                    static_cast<int>(timeout.count()));
  return MetadataPtr(metadata);
}

int32_t ReadyPartitions(const rd_kafka_metadata_t& metadata, const std::string& topic) {
  int32_t ready = 0;
  for (int i = 0; i < metadata.topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& found = metadata.topics[i];
    for (int p = 0; std::string_view(found.topic) == topic && p < found.partition_cnt; ++p) {
      ready += found.partitions[p].leader >= 0 ? 1 : 0;
    }
  }
  return ready;
}

}  // namespace oncemq::testing
