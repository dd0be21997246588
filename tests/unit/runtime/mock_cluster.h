// SPDX-License-Identifier: Apache-2.0
// librdkafka's own broker in this process, for what a member does when brokers misbehave.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rdkafka_ptr.h"
// After rdkafka.h, as it demands.
#include <librdkafka/rdkafka_mock.h>

namespace oncemq::testing {

// Thread safety: any thread.
class MockCluster {
 public:
  explicit MockCluster(int brokers) {
    char why[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();  // the client's, once it is there
    rd_kafka_conf_set(conf, "log_level", "0", why, sizeof why);
    client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why));
    cluster_.reset(rd_kafka_mock_cluster_new(client_.get(), brokers));
  }

  std::string address() const { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }
  void CreateTopic(const std::string& topic, int partitions) {
    Check(rd_kafka_mock_topic_create(cluster_.get(), topic.c_str(), partitions, 1));
  }
  void SetLeader(const std::string& topic, int32_t partition, int32_t broker) {
    Check(rd_kafka_mock_partition_set_leader(cluster_.get(), topic.c_str(), partition, broker));
  }
  void SetCoordinator(const std::string& group, int32_t broker) {
    Check(rd_kafka_mock_coordinator_set(cluster_.get(), "group", group.c_str(), broker));
  }
  void SetDown(int32_t broker) { Check(rd_kafka_mock_broker_set_down(cluster_.get(), broker)); }
  void SetUp(int32_t broker) { Check(rd_kafka_mock_broker_set_up(cluster_.get(), broker)); }
  // The next requests of the kind are answered so.
  void AnswerNext(int16_t api, std::vector<rd_kafka_resp_err_t> errors) {
    rd_kafka_mock_push_request_errors_array(cluster_.get(), api, errors.size(), errors.data());
  }

 private:
  static void Check(rd_kafka_resp_err_t code) {
    ASSERT_EQ(code, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(code);
  }

  ClientPtr client_;  // hosts the cluster, so it goes last
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyedBy<rd_kafka_mock_cluster_destroy>> cluster_;
};

}  // namespace oncemq::testing
