// SPDX-License-Identifier: Apache-2.0
#include "embedded_broker.h"

#include "rdkafka_handle.h"
// After rdkafka.h, as it demands.
#include <librdkafka/rdkafka_mock.h>

#include <utility>

namespace oncemq::demo {
namespace {

using ClusterPtr =
    std::unique_ptr<rd_kafka_mock_cluster_t, DestroyedBy<rd_kafka_mock_cluster_destroy>>;

class MockBroker final : public EmbeddedBroker {
 public:
  MockBroker(ClientPtr client, ClusterPtr cluster)
      : client_(std::move(client)), cluster_(std::move(cluster)) {}
  std::string address() const override { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }

 private:
  ClientPtr client_;  // hosts the cluster, so it goes last
  ClusterPtr cluster_;
};

}  // namespace

Result<std::unique_ptr<EmbeddedBroker>> EmbeddedBroker::Start(const std::string& topic,
                                                              int partitions) {
  auto client = OpenClient({.properties = {{"client.id", "embedded-broker"}}});
  if (!client) {
    return client.error();
  }
  ClusterPtr cluster(rd_kafka_mock_cluster_new(client->get(), 1));
  if (cluster == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone, "librdkafka started no mock cluster"};
  }
  const rd_kafka_resp_err_t error =
      rd_kafka_mock_topic_create(cluster.get(), topic.c_str(), partitions, 1);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return KafkaError("topic " + topic, error);
  }
  return std::unique_ptr<EmbeddedBroker>(
      std::make_unique<MockBroker>(std::move(*client), std::move(cluster)));
}

}  // namespace oncemq::demo
