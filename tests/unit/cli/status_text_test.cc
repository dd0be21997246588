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
            "group ?, process ?\nguarantee: ?\ndeliveries ? = ?\nbeside them, in this process "
            "since its start: "
            "?\n"
            "no partition was ever assigned: the group assigns when all its members have joined, "
            "and waits for a dead one until its session ends\n");
}

TEST(StatusText, WhatAFormerOwnerLeftInDoubtIsAnUpperBoundAndHasAnEnd) {
  ordered_json status;
  status["beside"] = {{"uncertain", 3}};
  status["partitions"] = ordered_json::array();
  status["partitions"].push_back({{"next_offset", 44}, {"suspect_to", 51}});
  status["partitions"].push_back({{"next_offset", 45}, {"suspect_to", -1}});
  const std::string text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("beside them, in this process since its start: "
                              "uncertain 3\nuncertain is an upper bound: "));
  EXPECT_THAT(text, HasSubstr("next offset 44, uncertain below 51, in total"));
  EXPECT_THAT(text, HasSubstr("next offset 45, in total"));
  for (const bool lasts : {false, true}) {
    status["partitions"][1]["unprotected"] = {{"since_ms", 5}, {"until_ms", 9}};
    status["partitions"][1]["unprotected"]["until_ms"] = lasts ? ordered_json() : ordered_json(9);
    EXPECT_EQ(StatusText(status).find("has lost ids") != std::string::npos, lasts);
  }
  status["beside"]["uncertain"] = 0;
  EXPECT_THAT(StatusText(status), Not(HasSubstr("upper bound")));
}

TEST(StatusText, QuotesStayAsTheyAre) {
  ordered_json status;
  status["guarantee"] = "of \"a\", not of \"b\"";
  status["partitions"] = ordered_json::array();
  status["partitions"].push_back({{"waiting", "for \"c\"\n\\n"}});
  const std::string text = StatusText(status);
  EXPECT_THAT(text, HasSubstr("\nguarantee: of \"a\", not of \"b\"\n"));
  EXPECT_THAT(text, HasSubstr("waiting: for \"c\"\\n\\\\n; ")) << "a feed, and what looks like one";
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
