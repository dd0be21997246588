// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/redis_place.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(RedisPlace, AHostIsEnough) {
  const auto place = ParseRedisPlace("redis://cache");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->hosts.at(0).host, "cache");
  EXPECT_EQ(place->hosts.at(0).port, 6379);
  EXPECT_EQ(place->database, 0);
  EXPECT_FALSE(place->tls);
}

TEST(RedisPlace, EverythingCanBeSaid) {
  const auto place = ParseRedisPlace("rediss://app:p%40ss%2Fword@10.0.0.1:7000/3");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->user, "app");
  EXPECT_EQ(place->password, "p@ss/word");
  EXPECT_EQ(place->hosts.at(0).port, 7000);
  EXPECT_EQ(place->database, 3);
  EXPECT_TRUE(place->tls);
}

TEST(RedisPlace, APasswordNeedsNoUser) {
  const auto place = ParseRedisPlace("redis://:secret@h");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->user, "");
  EXPECT_EQ(place->password, "secret");
}

TEST(RedisPlace, SentinelsKnowTheMaster) {
  const auto place = ParseRedisPlace("redis-sentinel://s1,s2:5000/orders/2");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->master, "orders");
  ASSERT_EQ(place->hosts.size(), 2u);
  EXPECT_EQ(place->hosts[0].port, 26379);
  EXPECT_EQ(place->hosts[1].port, 5000);
  EXPECT_EQ(place->database, 2);
}

TEST(RedisPlace, AnIpv6AddressStandsInBrackets) {
  const auto place = ParseRedisPlace("redis://[::1]:7000");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->hosts.at(0).host, "::1");
  EXPECT_EQ(place->hosts.at(0).port, 7000);
  EXPECT_EQ(ToString(*place), "redis://[::1]:7000/0");
}

TEST(RedisPlace, ASocketIsAPath) {
  const auto place = ParseRedisPlace("unix:///run/redis%20a.sock?db=1");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->socket, "/run/redis a.sock");
  EXPECT_EQ(place->database, 1);
}

TEST(RedisPlace, WhatIsShownToPeopleHasNoPassword) {
  for (const char* url : {"redis://app:hunter2@h:1/2", "redis-sentinel://app:hunter2@h/m"}) {
    const auto place = ParseRedisPlace(url);
    ASSERT_TRUE(place.has_value()) << url;
    EXPECT_EQ(ToString(*place).find("hunter2"), std::string::npos) << url;
    EXPECT_EQ(ToString(*place).find("app"), std::string::npos) << url;
  }
}

TEST(RedisPlace, WhatIsWrongIsRefusedWithoutItsPassword) {
  for (const char* url :
       {"", "redis:", "http://h", "redis://", "redis://:hunter2@", "redis://u:hunter2@h:0",
        "redis://u:hunter2@h:65536", "redis://u:hunter2@h:x", "redis://u:hunter2%zz@h",
        "redis://u:hunter2@h/x", "redis://u:hunter2@h/-1", "redis://u:hunter2@h,k", "redis://[::1",
        "redis://[::1]x", "redis-sentinel://u:hunter2@s", "redis-sentinel://s/", "unix://",
        "unix:///s?x=1", "unix:///s?db=x"}) {
    const auto place = ParseRedisPlace(url);
    ASSERT_FALSE(place.has_value()) << url;
    EXPECT_EQ(place.error().code, Code::kInvalid) << url;
    EXPECT_EQ(place.error().message.find("hunter2"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace oncemq
