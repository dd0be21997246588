// SPDX-License-Identifier: Apache-2.0
#include "broker_error.h"

#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

TEST(BrokerError, WhatNobodyKnowsStopsAPartition) {
  for (const auto code :
       {RD_KAFKA_RESP_ERR__BAD_COMPRESSION, RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED,
        RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
        RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_INVALID_MSG,
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_END_ALL}) {
    EXPECT_FALSE(FetchGoesOn(code)) << rd_kafka_err2name(code);
  }
  for (const auto code : {RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__PARTITION_EOF,
                          RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE}) {
    EXPECT_TRUE(FetchGoesOn(code)) << rd_kafka_err2name(code);
  }
}

}  // namespace
}  // namespace oncemq::testing
