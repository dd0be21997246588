// SPDX-License-Identifier: Apache-2.0
#include "mock_cluster.h"

#include "rdkafka_handle.h"
// After rdkafka.h, as it demands.
#include <librdkafka/rdkafka_mock.h>

namespace oncemq::testing {

struct MockCluster::State {
  ClientPtr client;  // hosts the cluster, so it goes last
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyedBy<rd_kafka_mock_cluster_destroy>> cluster;
};

MockCluster::MockCluster(int brokers) : state_(std::make_unique<State>()) {
  state_->client = MakeClient(RD_KAFKA_PRODUCER, {});
  state_->cluster.reset(rd_kafka_mock_cluster_new(state_->client.get(), brokers));
}

MockCluster::~MockCluster() = default;

std::string MockCluster::address() const {
  return rd_kafka_mock_cluster_bootstraps(state_->cluster.get());
}

void MockCluster::CreateTopic(const std::string& topic, int partitions) {
  Check(rd_kafka_mock_topic_create(state_->cluster.get(), topic.c_str(), partitions, 1), topic);
}

void MockCluster::SetLeader(const std::string& topic, int32_t partition, int32_t broker) {
  Check(rd_kafka_mock_partition_set_leader(state_->cluster.get(), topic.c_str(), partition, broker),
        topic);
}

void MockCluster::SetCoordinator(const std::string& group, int32_t broker) {
  Check(rd_kafka_mock_coordinator_set(state_->cluster.get(), "group", group.c_str(), broker),
        group);
}

void MockCluster::SetDown(int32_t broker) {
  Check(rd_kafka_mock_broker_set_down(state_->cluster.get(), broker), "down");
}

void MockCluster::SetUp(int32_t broker) {
  Check(rd_kafka_mock_broker_set_up(state_->cluster.get(), broker), "up");
}

void MockCluster::SetRoundTrip(std::chrono::milliseconds time) {
  Check(rd_kafka_mock_broker_set_rtt(state_->cluster.get(), -1, static_cast<int>(time.count())),
        "round trip");
}

void MockCluster::AnswerNext(int16_t api, const std::vector<int>& errors) {
  std::vector<rd_kafka_resp_err_t> codes;
  for (const int error : errors) {
    codes.push_back(static_cast<rd_kafka_resp_err_t>(error));
  }
  rd_kafka_mock_push_request_errors_array(state_->cluster.get(), api, codes.size(), codes.data());
}

}  // namespace oncemq::testing
