// SPDX-License-Identifier: Apache-2.0
// The park topic of `payments`, on brokers in this process.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client_config.h"
#include "oncemq/framework/handler.h"
#include "park_record.h"
#include "rdkafka_ptr.h"
#include "source.h"
#include "support/mock_cluster.h"
#include "support/test_producer.h"

namespace oncemq::testing {

inline const PartitionName kPlace{"payments", 0};

class SourceMessage final : public Message {
 public:
  std::string_view topic() const override { return "payments"; }
  int32_t partition() const override { return 0; }
  int64_t offset() const override { return 41; }
  int64_t timestamp_ms() const override { return 1'600'000'000'000; }
  std::optional<std::string_view> key() const override { return "k"; }
  std::optional<std::string_view> value() const override { return "v"; }
  std::optional<std::string_view> header(std::string_view) const override { return std::nullopt; }
  std::vector<MessageHeader> headers() const override { return {}; }
};

class ParkFixture : public ::testing::Test {
 protected:
  ParkFixture() {
    cluster_.CreateTopic("payments.park", 1);
    producer_.emplace(cluster_.address());
  }

  RuntimeOptions Options() const {
    RuntimeOptions options;
    options.kafka.brokers = cluster_.address();
    options.kafka.topics = {"payments"};
    return options;
  }
  void Send(const ParkHeaders& headers) {
    OutMessage message{.topic = "payments.park", .partition = 0, .key = "k", .value = "v"};
    for (const auto& [name, value] : headers) {
      message.headers.emplace_back(name,
                                   value ? std::optional<std::string_view>(*value) : std::nullopt);
    }
    producer_->Send(message);
    sent_++;
  }
  // All that was sent.
  const std::vector<RecordPtr>& Read() {
    producer_->Flush();
    client_ = *OpenObserver(Options());
    topic_.reset(rd_kafka_topic_new(client_.get(), "payments.park", nullptr));
    EXPECT_EQ(rd_kafka_consume_start(topic_.get(), 0, 0), 0);
    while (records_.size() < sent_) {
      RecordPtr record(rd_kafka_consume(topic_.get(), 0, 10'000));
      if (record == nullptr || record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ADD_FAILURE() << "the records don't come";
        break;
      }
      records_.push_back(std::move(record));
    }
    rd_kafka_consume_stop(topic_.get(), 0);
    return records_;
  }

  MockCluster cluster_{1};
  std::optional<TestProducer> producer_;
  size_t sent_ = 0;
  ClientPtr client_;
  TopicPtr topic_;
  std::vector<RecordPtr> records_;
};

}  // namespace oncemq::testing
