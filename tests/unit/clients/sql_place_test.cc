// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/sql_place.h"

#include <gtest/gtest.h>

#include <array>

namespace oncemq {
namespace {

constexpr std::array<std::string_view, 2> kKnown{"socket", "mode"};
constexpr SqlPlaceRules kRules{"sql", 1234, "socket", kKnown};

TEST(SqlPlace, UserHostAndDatabaseAreEnough) {
  const auto place = ParseSqlPlace("sql://app@db/shop", kRules);
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->user, "app");
  EXPECT_EQ(place->password, "");
  EXPECT_EQ(place->host, "db");
  EXPECT_EQ(place->port, 1234);
  EXPECT_EQ(place->database, "shop");
}

TEST(SqlPlace, EverythingCanBeSaid) {
  const auto place =
      ParseSqlPlace("sql://a%3Ap:p%40ss%2Fw:%3F@10.0.0.1:7000/my%2Bdb?mode=a%26b", kRules);
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->user, "a:p");
  EXPECT_EQ(place->password, "p@ss/w:?");
  EXPECT_EQ(place->host, "10.0.0.1");
  EXPECT_EQ(place->port, 7000);
  EXPECT_EQ(place->database, "my+db");
  EXPECT_EQ(place->Parameter("mode"), "a&b");
  EXPECT_EQ(place->Parameter("socket"), "");
}

TEST(SqlPlace, AnIpv6AddressStandsInBrackets) {
  const auto place = ParseSqlPlace("sql://app@[::1]:7000/d", kRules);
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->host, "::1");
  EXPECT_EQ(ToString(*place), "sql://[::1]:7000/d");
}

TEST(SqlPlace, ASocketStandsForAHost) {
  const auto place = ParseSqlPlace("sql://app@/d?socket=/run/x", kRules);
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->host, "");
  EXPECT_EQ(place->Parameter("socket"), "/run/x");
}

TEST(SqlPlace, WhatIsShownToPeopleHasNoPassword) {
  const auto place = ParseSqlPlace("sql://app:hunter2@h/d?mode=hunter2", kRules);
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(ToString(*place), "sql://h:1234/d");
}

TEST(SqlPlace, WhatIsWrongIsRefusedWithoutItsPassword) {
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
    const auto place = ParseSqlPlace(url, kRules);
    ASSERT_FALSE(place.has_value()) << url;
    EXPECT_EQ(place.error().code, Code::kInvalid) << url;
    EXPECT_EQ(place.error().message.find("hunter2"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace oncemq
