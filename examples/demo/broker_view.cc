// SPDX-License-Identifier: Apache-2.0
#include "broker_view.h"

#include <string_view>
#include <utility>

#include "oncemq/framework/commit_metadata.h"
#include "rdkafka_handle.h"

namespace oncemq::demo {
namespace {

constexpr int kTimeoutMs = 5'000;

class View final : public BrokerView {
 public:
  View(std::string topic, ClientPtr client) : topic_(std::move(topic)), client_(std::move(client)) {
    rd_kafka_poll_set_consumer(client_.get());
  }
  ~View() override { rd_kafka_consumer_close(client_.get()); }

  Result<PartitionEvidence> Read(int32_t partition) override {
    PartitionEvidence found{.partition = partition};
    const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
        client_.get(), topic_.c_str(), partition, &found.log_start, &found.log_end, kTimeoutMs);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return KafkaError("watermarks", error);
    }
    const Status committed = AddCommit(found);
    if (!committed) {
      return committed.error();
    }
    return found;
  }

 private:
  Status AddCommit(PartitionEvidence& found) {
    PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), found.partition);
    const rd_kafka_resp_err_t error = rd_kafka_committed(client_.get(), list.get(), kTimeoutMs);
    const rd_kafka_topic_partition_t& commit = list->elems[0];
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR || commit.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return KafkaError("committed", error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : commit.err);
    }
    if (commit.offset < 0) {
      return {};  // the group has committed nothing here
    }
    found.committed = commit.offset;
    auto metadata = DecodeCommit({static_cast<const char*>(commit.metadata), commit.metadata_size},
                                 commit.offset);
    if (metadata) {
      found.metadata = std::move(*metadata);
    }
    return {};
  }

  const std::string topic_;
  ClientPtr client_;
};

}  // namespace

Result<std::unique_ptr<BrokerView>> BrokerView::Connect(const std::string& brokers,
                                                        const std::string& topic,
                                                        const std::string& group) {
  auto client = OpenClient({.type = RD_KAFKA_CONSUMER,
                            .properties = {{"bootstrap.servers", brokers},
                                           {"group.id", group},
                                           {"enable.auto.commit", "false"},
                                           {"auto.offset.reset", "error"},
                                           {"fetch.wait.max.ms", "10"},
                                           {"socket.nagle.disable", "true"}}});
  if (!client) {
    return client.error();
  }
  return std::unique_ptr<BrokerView>(std::make_unique<View>(topic, std::move(*client)));
}

}  // namespace oncemq::demo
