// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "embedded_broker.h"
#include "timing.h"

namespace oncemq::demo {
namespace {

using std::chrono::seconds;

// Takes everything at once; acknowledges it when told.
class FakeProducer final : public PaymentProducer {
 public:
  Status Send(const Payment& payment) override {
    sent.push_back(payment);
    return {};
  }
  Status Poll() override { return {}; }
  Status Flush(milliseconds) override { return {}; }
  const std::vector<Volume>& volumes() const override { return acknowledged; }

  std::vector<Payment> sent;
  std::vector<Volume> acknowledged{1};
};

class StreamTest : public ::testing::Test {
 protected:
  BootTime begin_{seconds(100)};
  PaymentPlan plan_ = MakePlan({});
  FakeProducer producer_;
  Stream stream_{plan_, producer_};
};

TEST_F(StreamTest, NothingFlowsBeforeItsTime) {
  stream_.FlowTo(1.0, begin_);
  EXPECT_TRUE(stream_.Flow(begin_));
  EXPECT_TRUE(producer_.sent.empty());
}

TEST_F(StreamTest, ASecondBringsThePaceAndAWaveEndsWhereItShould) {
  stream_.FlowTo(0.5, begin_);
  EXPECT_TRUE(stream_.Flow(begin_ + seconds(1)));
  EXPECT_EQ(producer_.sent.size(), static_cast<size_t>(kMessagesPerSecond));
  EXPECT_TRUE(stream_.Flow(begin_ + seconds(60)));
  EXPECT_EQ(stream_.sent(), 11'000u);
  EXPECT_TRUE(stream_.Past(0.5));
  EXPECT_FALSE(stream_.Past(0.6));
}

TEST_F(StreamTest, ItsPaceIsAChoice) {
  Stream slow(plan_, producer_, kSlowMessagesPerSecond);
  slow.FlowTo(1.0, begin_);
  EXPECT_TRUE(slow.Flow(begin_ + seconds(3)));
  EXPECT_EQ(producer_.sent.size(), static_cast<size_t>(3 * kSlowMessagesPerSecond));
}

TEST_F(StreamTest, ItIsQuietOnlyWhenAllIsAcknowledged) {
  stream_.FlowTo(0.5, begin_);
  EXPECT_TRUE(stream_.Flow(begin_ + seconds(60)));
  EXPECT_FALSE(stream_.Quiet());
  producer_.acknowledged[0].messages = 11'000;
  EXPECT_TRUE(stream_.Quiet());
}

TEST_F(StreamTest, WavesTogetherSendThePlanInItsOrder) {
  for (const double share : {0.1, 0.7, 1.0}) {
    stream_.FlowTo(share, begin_);
    EXPECT_TRUE(stream_.Flow(begin_ + seconds(60)));
  }
  ASSERT_EQ(producer_.sent.size(), plan_.sends.size());
  for (size_t i = 0; i < plan_.sends.size(); ++i) {
    EXPECT_EQ(producer_.sent[i], plan_.payments[plan_.sends[i]]);
  }
}

TEST_F(StreamTest, APauseKeepsItsPlaceAndTheNextWaveGoesOnFromThere) {
  stream_.FlowTo(1.0, begin_);
  EXPECT_TRUE(stream_.Flow(begin_ + seconds(1)));
  stream_.Pause();
  EXPECT_TRUE(stream_.Flow(begin_ + seconds(60)));
  EXPECT_EQ(stream_.sent(), static_cast<size_t>(kMessagesPerSecond));
  producer_.acknowledged[0].messages = kMessagesPerSecond;
  EXPECT_TRUE(stream_.Quiet());
  stream_.FlowTo(0.1, begin_ + seconds(60));  // it is past that
  EXPECT_TRUE(stream_.Quiet());
  stream_.FlowTo(1.0, begin_ + seconds(60));
  EXPECT_TRUE(stream_.Flow(begin_ + seconds(61)));
  EXPECT_EQ(stream_.sent(), static_cast<size_t>(2 * kMessagesPerSecond));
}

TEST_F(StreamTest, APartitionThatIsNearlyFullEndsTheRun) {
  stream_.FlowTo(1.0, begin_);
  producer_.acknowledged[0].bytes = EmbeddedBroker::kPartitionBytes - 1;
  const Status by_bytes = stream_.Flow(begin_ + seconds(1));
  ASSERT_FALSE(by_bytes);
  EXPECT_EQ(by_bytes.error().code, Code::kFull);
  producer_.acknowledged[0] = {.messages = EmbeddedBroker::kPartitionMessages - 1, .bytes = 0};
  EXPECT_FALSE(stream_.Flow(begin_ + seconds(1)));
}

}  // namespace
}  // namespace oncemq::demo
