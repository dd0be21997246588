// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "status_command.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StatusText, WhatAnotherVersionDoesNotSayIsAQuestionMark) {
  EXPECT_EQ(StatusText({}), "?\n");
  EXPECT_EQ(StatusText(ordered_json::object()),
            "group ?, process ?\nguarantee: ?\ndeliveries ? = ?\nbeside them: ?\n"
            "no partition was ever assigned: the group assigns when all its members have joined, "
            "and waits for a dead one until its session ends\n");
}

TEST(StatusText, AnyJsonGivesAText) {
  const char* const parts[] = {"null",   "5",           "\"x\"",
                               "[1,[]]", R"({"a":{}})", R"({"deliveries":[],"b":"\u001b"})"};
  for (const char* key : {"group", "pid", "counts", "beside", "partitions", "stops", "error"}) {
    for (const char* part : parts) {
      ordered_json status;
      status[key] = ordered_json::parse(part);
      if (!status.contains("partitions")) {
        status["partitions"] = {ordered_json::parse(part)};
      }
      if (!status.contains("stops")) {
        status["stops"] = {"a/1: b"};
      }
      EXPECT_THAT(StatusText(status), Not(HasSubstr("\x1b"))) << status;
    }
  }
}

}  // namespace
}  // namespace oncemq
