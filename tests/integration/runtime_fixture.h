// SPDX-License-Identifier: Apache-2.0
// What most tests of the runtime need: the shared broker, a window, messages, members.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "effect_log.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/commit_metadata.h"
#include "running_member.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {

using std::chrono::seconds;

// Topic and group are named after the test.
class KafkaRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    bootstrap_ = SharedKafka::Get().bootstrap();
    admin_ = std::make_unique<KafkaAdmin>(bootstrap_);
    window_ = NewWindow();
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(topic_.begin(), topic_.end(), '/', '.');  // of a test with a parameter
    group_ = topic_ + ".group";
  }

  static std::unique_ptr<Window> NewWindow() {
    return *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  }
  void CreateTopic(int32_t partitions, std::map<std::string, std::string> config = {}) {
    admin_->CreateTopic({.name = topic_, .partitions = partitions, .config = std::move(config)});
  }
  RuntimeOptions Options() const { return QuickOptions(bootstrap_, group_, topic_); }

  // Ids "<first>" to "<end - 1>", each with itself as value; key k<n % keys>.
  void Send(int first, int end, int keys = 10, int32_t partition = -1) {
    TestProducer producer(bootstrap_);
    for (int i = first; i < end; i++) {
      SendOne(producer, std::to_string(i), "k" + std::to_string(i % keys), std::to_string(i),
              partition);
    }
    producer.Flush();
  }
  void SendOne(TestProducer& producer, const std::string& id, const std::string& key,
               const std::string& value, int32_t partition = -1) {
    producer.Send({.topic = topic_,
                   .partition = partition,
                   .key = key,
                   .value = value,
                   .headers = {{"message-id", id}}});
  }

  Handler Record() {
    return [this](const Message& message, Context& context) -> Outcome {
      effects_.Append(message, context);
      return Done{};
    };
  }
  bool Applied(size_t effects) {
    return Eventually(seconds(30), [&] { return effects_.size() >= effects; });
  }
  static std::set<std::string> Ids(int first, int end) {
    std::set<std::string> ids;
    for (int i = first; i < end; i++) {
      ids.insert(std::to_string(i));
    }
    return ids;
  }
  CommitMetadata Metadata(int32_t partition = 0) {
    const CommittedOffset commit = admin_->Committed(group_, topic_).at(partition);
    const auto metadata = DecodeCommit(commit.metadata, commit.offset);
    EXPECT_TRUE(metadata) << ToString(metadata.error());
    return metadata.value_or(CommitMetadata{});
  }
  int64_t CommittedAt(int32_t partition = 0) {
    const auto committed = admin_->Committed(group_, topic_);
    const auto found = committed.find(partition);
    return found == committed.end() ? -1 : found->second.offset;
  }

  std::string bootstrap_;
  std::string topic_;
  std::string group_;
  std::unique_ptr<KafkaAdmin> admin_;
  std::unique_ptr<Window> window_;
  EffectLog effects_;
};

}  // namespace oncemq::testing
