// SPDX-License-Identifier: Apache-2.0
#include "commit_reply.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(CommitReplyTest, OnlyNoErrorIsAcknowledged) {
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_NO_ERROR, false), CommitReply::kAcknowledged);
}

TEST(CommitReplyTest, WhoIsNotTheOwnerAnyMoreIsRefused) {
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, false), CommitReply::kRefused);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, true), CommitReply::kRefused);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, false), CommitReply::kRefused);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, false), CommitReply::kRefused);
}

TEST(CommitReplyTest, ACooperativeMemberOutlivesAGeneration) {
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, true), CommitReply::kUnknown);
}

TEST(CommitReplyTest, WhatTheBrokerWillNeverStoreIsNamedByItsReason) {
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE, false), CommitReply::kTooLarge);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE, true), CommitReply::kTooLarge);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, false), CommitReply::kNotAllowed);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, true), CommitReply::kNotAllowed);
  EXPECT_EQ(ReplyOf(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, false),
            CommitReply::kUnknownPartition);
}

TEST(CommitReplyTest, WhatMayBeStoredOrMayStillSucceedIsUnknown) {
  for (const auto code :
       {RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR__TIMED_OUT,
        RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        RD_KAFKA_RESP_ERR_NOT_COORDINATOR, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR_UNKNOWN}) {
    EXPECT_EQ(ReplyOf(code, false), CommitReply::kUnknown) << rd_kafka_err2name(code);
  }
}

class CommitAnswersTest : public ::testing::Test {
 protected:
  CommitAnswersTest() : list_(rd_kafka_topic_partition_list_new(2)) {
    rd_kafka_topic_partition_list_add(list_.get(), "t", 0);
    rd_kafka_topic_partition_list_add(list_.get(), "t", 1);
  }
  PartitionListPtr list_;
};

TEST_F(CommitAnswersTest, ARequestThatFailedAsAWholeFailedForEveryPartition) {
  const CommitAnswers answers(RD_KAFKA_RESP_ERR__TRANSPORT, list_.get());
  EXPECT_EQ(answers.Of({"t", 1}), RD_KAFKA_RESP_ERR__TRANSPORT);
}

TEST_F(CommitAnswersTest, APartitionThatFailedDoesNotSpeakForTheOthers) {
  list_->elems[1].err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  const CommitAnswers answers(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, list_.get());
  EXPECT_EQ(answers.Of({"t", 0}), RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(answers.Of({"t", 1}), RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
}

TEST_F(CommitAnswersTest, APartitionThatIsNotInTheAnswerIsUnknown) {
  list_->elems[1].err = RD_KAFKA_RESP_ERR_UNKNOWN;
  const CommitAnswers answers(RD_KAFKA_RESP_ERR_NO_ERROR, list_.get());
  EXPECT_EQ(ReplyOf(answers.Of({"t", 2}), false), CommitReply::kUnknown);
}

TEST(CommitAnswers, NoListMeansTheRequestSpeaks) {
  EXPECT_EQ(CommitAnswers(RD_KAFKA_RESP_ERR_NO_ERROR, nullptr).Of({"t", 0}),
            RD_KAFKA_RESP_ERR_NO_ERROR);
}

}  // namespace
}  // namespace oncemq
