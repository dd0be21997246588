// SPDX-License-Identifier: Apache-2.0
// What a group has committed, asked for beside the poll thread.
#include "committed_reader.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>

#include "client_config.h"
#include "member_fixture.h"
#include "support/eventually.h"
#include "support/mock_cluster.h"
#include "wake.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Waits before it asks, for 20 s at most.
class SlowCall {
 public:
  CommittedReader::Call call() const {
    return [begun = begun_, let_go = let_go_.get_future().share(), reported = reported_](
               rd_kafka_t* client, rd_kafka_topic_partition_list_t* list, int within) {
      if (!reported->test_and_set()) {
        begun->set_value();
      }
      let_go.wait_for(seconds(20));
      return rd_kafka_committed(client, list, within);
    };
  }
  void AwaitBegin() { begun_->get_future().wait(); }
  void LetGo() { let_go_.set_value(); }
  // Whoever has the call has the client that it is for.
  bool kept() const { return reported_.use_count() > 1; }

 private:
  const std::shared_ptr<std::promise<void>> begun_ = std::make_shared<std::promise<void>>();
  const std::shared_ptr<std::atomic_flag> reported_ = std::make_shared<std::atomic_flag>();
  mutable std::promise<void> let_go_;
};

class CommittedReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.CreateTopic(kTopic, 2);
    cluster_.SetCoordinator(kGroup, 1);
    RuntimeOptions options;
    options.kafka.brokers = cluster_.address();
    options.kafka.group = kGroup;
    options.kafka.topics = {kTopic};
    auto client = OpenClient(options, ClientFacts{});
    ASSERT_TRUE(client) << ToString(client.error());
    client_ = *std::move(client);
    auto wake = Wake::Open();
    ASSERT_TRUE(wake) << ToString(wake.error());
    wake_ = *std::move(wake);
    // From here on the coordinator is known.
    const PartitionListPtr list = ListOf({0});
    ASSERT_EQ(rd_kafka_committed(client_.get(), list.get(), 30'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  static PartitionListPtr ListOf(std::initializer_list<int32_t> partitions) {
    PartitionListPtr list(rd_kafka_topic_partition_list_new(2));
    for (const int32_t partition : partitions) {
      rd_kafka_topic_partition_list_add(list.get(), kTopic, partition);
    }
    return list;
  }
  static PartitionListPtr CommitOf(int32_t partition, int64_t offset) {
    PartitionListPtr list = ListOf({partition});
    list->elems[0].offset = offset;
    return list;
  }
  static std::vector<int64_t> OffsetsOf(const CommittedReader::Answer& answer) {
    std::vector<int64_t> offsets;
    for (int i = 0; i < answer.found->cnt; i++) {
      offsets.push_back(answer.found->elems[i].offset);
    }
    return offsets;
  }
  // Until so many numbers are answered; each time the wake has to ring.
  std::vector<CommittedReader::Answer> TakeAll(CommittedReader& reader, size_t numbers) {
    std::vector<CommittedReader::Answer> all;
    while (numbers > 0) {
      pollfd waited{wake_->fd(), POLLIN, 0};
      if (poll(&waited, 1, static_cast<int>(milliseconds(Patience()).count())) != 1) {
        ADD_FAILURE() << "nobody has rung";
        break;
      }
      wake_->Wait(milliseconds(0));
      for (CommittedReader::Answer& answer : reader.Take()) {
        numbers -= answer.numbers.size();
        all.push_back(std::move(answer));
      }
    }
    return all;
  }

  MockCluster cluster_{1};
  ClientPtr client_;
  std::unique_ptr<Wake> wake_;
};

TEST_F(CommittedReaderTest, AnAnswerRingsAndSaysWhatTheBrokerHolds) {
  CommittedReader reader(client_, wake_->fd(), seconds(30));
  for (const int64_t offset : {7, 9}) {
    ASSERT_EQ(rd_kafka_commit(client_.get(), CommitOf(0, offset).get(), 0),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    reader.Query(static_cast<uint64_t>(offset), ListOf({0, 1}));
    const auto answers = TakeAll(reader, 1);
    ASSERT_THAT(answers, SizeIs(1));
    EXPECT_THAT(answers[0].numbers, ElementsAre(offset));
    EXPECT_EQ(answers[0].code, RD_KAFKA_RESP_ERR_NO_ERROR);
    EXPECT_THAT(OffsetsOf(answers[0]), ElementsAre(offset, RD_KAFKA_OFFSET_INVALID));
  }
  EXPECT_THAT(reader.Take(), IsEmpty());
}

TEST_F(CommittedReaderTest, WhatComesDuringACallIsAskedTogether) {
  SlowCall slow;
  CommittedReader reader(client_, wake_->fd(), seconds(30), slow.call());
  reader.Query(1, ListOf({0}));
  slow.AwaitBegin();
  for (const uint64_t number : {2u, 3u, 4u}) {
    reader.Query(number, number % 2 == 0 ? ListOf({0}) : ListOf({0, 1}));
  }
  slow.LetGo();
  const auto answers = TakeAll(reader, 4);
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_THAT(answers[0].numbers, ElementsAre(1));
  EXPECT_THAT(answers[1].numbers, ElementsAre(2, 3, 4));
  EXPECT_THAT(OffsetsOf(answers[0]), SizeIs(1));
  EXPECT_THAT(OffsetsOf(answers[1]), SizeIs(2)) << "each partition once";
}

TEST_F(CommittedReaderTest, WithoutABrokerALookFailsInItsTimeAndTheNextOneIsAnsweredWhenItIsBack) {
  CommittedReader reader(client_, wake_->fd(), seconds(1));
  cluster_.SetDown(1);
  reader.Query(1, ListOf({0}));
  const auto failed = TakeAll(reader, 1);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_NE(failed[0].code, RD_KAFKA_RESP_ERR_NO_ERROR);
  cluster_.SetUp(1);
  uint64_t number = 1;
  EXPECT_TRUE(Eventually(Patience(), [&] {
    reader.Query(++number, ListOf({0}));
    const auto answers = TakeAll(reader, 1);
    return !answers.empty() && answers[0].code == RD_KAFKA_RESP_ERR_NO_ERROR;
  }));
}

TEST_F(CommittedReaderTest, ALookThatHangsHoldsNobodyUpAndItsClientEndsWithIt) {
  const Clock& clock = SystemClock::Instance();
  SlowCall slow;
  std::optional<CommittedReader> reader;
  reader.emplace(client_, wake_->fd(), seconds(30), slow.call());
  reader->Query(1, ListOf({0}));
  slow.AwaitBegin();
  const BootTime before = clock.Boot();
  reader.reset();
  EXPECT_LT(clock.Boot() - before, seconds(8)) << "the look takes 20 s";
  ASSERT_EQ(client_, nullptr) << "it would be destroyed under the call";
  EXPECT_TRUE(slow.kept());
  slow.LetGo();
  EXPECT_TRUE(Eventually(Patience(), [&] { return !slow.kept(); })) << "the client lives on";
  uint64_t rings = 0;
  EXPECT_EQ(read(wake_->fd(), &rings, sizeof rings), -1) << "the descriptor may be somebody else's";
}

TEST_F(CommittedReaderTest, AfterTheStopNoCallBegins) {
  int calls = 0;
  std::optional<CommittedReader> reader;
  reader.emplace(client_, wake_->fd(), seconds(30), [&calls](auto... arguments) {
    calls++;
    return rd_kafka_committed(arguments...);
  });
  reader->Query(1, ListOf({0}));
  EXPECT_THAT(TakeAll(*reader, 1), SizeIs(1));
  reader->Stop();
  reader->Query(2, ListOf({0}));
  reader.reset();
  EXPECT_EQ(calls, 1);
  EXPECT_NE(client_, nullptr) << "it is still its owner's";
}

}  // namespace
}  // namespace oncemq::testing
