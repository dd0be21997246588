// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/sql_endpoint.h"

#include <gtest/gtest.h>

#include <array>

namespace oncemq {
namespace {

constexpr std::array<std::string_view, 2> kKnown{"socket", "mode"};
constexpr SqlEndpointRules kRules{"sql", 1234, "socket", kKnown};

TEST(SqlEndpoint, UserHostAndDatabaseAreEnough) {
  const auto endpoint = ParseSqlEndpoint("sql://app@db/shop", kRules);
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->user, "app");
  EXPECT_EQ(endpoint->password, "");
  EXPECT_EQ(endpoint->host, "db");
  EXPECT_EQ(endpoint->port, 1234);
  EXPECT_EQ(endpoint->database, "shop");
}

TEST(SqlEndpoint, EverythingCanBeSaid) {
  const auto endpoint =
      ParseSqlEndpoint("sql://a%3Ap:p%40ss%2Fw:%3F@10.0.0.1:7000/my%2Bdb?mode=a%26b", kRules);
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->user, "a:p");
  EXPECT_EQ(endpoint->password, "p@ss/w:?");
  EXPECT_EQ(endpoint->host, "10.0.0.1");
  EXPECT_EQ(endpoint->port, 7000);
  EXPECT_EQ(endpoint->database, "my+db");
  EXPECT_EQ(endpoint->Parameter("mode"), "a&b");
  EXPECT_EQ(endpoint->Parameter("socket"), "");
}

TEST(SqlEndpoint, AnIpv6AddressStandsInBrackets) {
  const auto endpoint = ParseSqlEndpoint("sql://app@[::1]:7000/d", kRules);
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->host, "::1");
  EXPECT_EQ(ToString(*endpoint), "sql://[::1]:7000/d");
}

TEST(SqlEndpoint, ASocketStandsForAHost) {
  const auto endpoint = ParseSqlEndpoint("sql://app@/d?socket=/run/x", kRules);
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->host, "");
  EXPECT_EQ(endpoint->Parameter("socket"), "/run/x");
}

TEST(SqlEndpoint, WhatIsShownToPeopleHasNoPassword) {
  const auto endpoint = ParseSqlEndpoint("sql://app:hunter2@h/d?mode=hunter2", kRules);
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(ToString(*endpoint), "sql://h:1234/d");
}

TEST(SqlEndpoint, WhatIsWrongIsRefusedWithoutItsPassword) {
  for (const char* url : {"",
                          "sql:",
                          "http://u@h/d",
                          "sql://",
                          "sql://h/d",
                          "sql://:hunter2@h/d",
                          "sql://u:hunter2@h",
                          "sql://u:hunter2@h/",
                          "sql://u:hunter2@/d",
                          "sql://u:hunter2@h:0/d",
                          "sql://u:hunter2@h:65536/d",
                          "sql://u:hunter2@h:x/d",
                          "sql://u:hunter2%zz@h/d",
                          "sql://u:hunter2%00@h/d",
                          "sql://u:hunter2@h/d/e",
                          "sql://u:hunter2@h,k/d",
                          "sql://u:hunter2@[::1/d",
                          "sql://u:hunter2@[::1]x/d",
                          "sql://u:hunter2@/run/d",
                          "sql://u:hunter2@%2Frun/d",
                          "sql://u@h/d?hunter2=1",
                          "sql://u@h/d?mode",
                          "sql://u@h/d?mode=",
                          "sql://u@h/d?mode=1&mode=hunter2",
                          "sql://u:hunter2@h/d?socket=/s",
                          "sql://u@h/d?"}) {
    const auto endpoint = ParseSqlEndpoint(url, kRules);
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().code, Code::kInvalid) << url;
    EXPECT_EQ(endpoint.error().message.find("hunter2"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace oncemq
