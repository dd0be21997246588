// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/redis_endpoint.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(RedisEndpoint, AHostIsEnough) {
  const auto endpoint = ParseRedisEndpoint("redis://cache");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->hosts.at(0).host, "cache");
  EXPECT_EQ(endpoint->hosts.at(0).port, 6379);
  EXPECT_EQ(endpoint->database, 0);
  EXPECT_FALSE(endpoint->tls);
}

TEST(RedisEndpoint, EverythingCanBeSaid) {
  const auto endpoint = ParseRedisEndpoint("rediss://app:p%40ss%2Fword@10.0.0.1:7000/3");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->user, "app");
  EXPECT_EQ(endpoint->password, "p@ss/word");
  EXPECT_EQ(endpoint->hosts.at(0).port, 7000);
  EXPECT_EQ(endpoint->database, 3);
  EXPECT_TRUE(endpoint->tls);
}

TEST(RedisEndpoint, APasswordNeedsNoUser) {
  const auto endpoint = ParseRedisEndpoint("redis://:secret@h");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->user, "");
  EXPECT_EQ(endpoint->password, "secret");
}

TEST(RedisEndpoint, SentinelsKnowTheMaster) {
  const auto endpoint = ParseRedisEndpoint("redis-sentinel://s1,s2:5000/orders/2");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->master, "orders");
  ASSERT_EQ(endpoint->hosts.size(), 2u);
  EXPECT_EQ(endpoint->hosts[0].port, 26379);
  EXPECT_EQ(endpoint->hosts[1].port, 5000);
  EXPECT_EQ(endpoint->database, 2);
}

TEST(RedisEndpoint, AnIpv6AddressStandsInBrackets) {
  const auto endpoint = ParseRedisEndpoint("redis://[::1]:7000");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->hosts.at(0).host, "::1");
  EXPECT_EQ(endpoint->hosts.at(0).port, 7000);
  EXPECT_EQ(ToString(*endpoint), "redis://[::1]:7000/0");
}

TEST(RedisEndpoint, ASocketIsAPath) {
  const auto endpoint = ParseRedisEndpoint("unix:///run/redis%20a.sock?db=1");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->socket, "/run/redis a.sock");
  EXPECT_EQ(endpoint->database, 1);
}

TEST(RedisEndpoint, WhatIsShownToPeopleHasNoPassword) {
  for (const char* url : {"redis://app:hunter2@h:1/2", "redis-sentinel://app:hunter2@h/m"}) {
    const auto endpoint = ParseRedisEndpoint(url);
    ASSERT_TRUE(endpoint.has_value()) << url;
    EXPECT_EQ(ToString(*endpoint).find("hunter2"), std::string::npos) << url;
    EXPECT_EQ(ToString(*endpoint).find("app"), std::string::npos) << url;
  }
}

TEST(RedisEndpoint, WhatIsWrongIsRefusedWithoutItsPassword) {
  for (const char* url :
       {"", "redis:", "http://h", "redis://", "redis://:hunter2@", "redis://u:hunter2@h:0",
        "redis://u:hunter2@h:65536", "redis://u:hunter2@h:x", "redis://u:hunter2%zz@h",
        "redis://u:hunter2@h/x", "redis://u:hunter2@h/-1", "redis://u:hunter2@h,k", "redis://[::1",
        "redis://[::1]x", "redis-sentinel://u:hunter2@s", "redis-sentinel://s/", "unix://",
        "unix:///s?x=1", "unix:///s?db=x"}) {
    const auto endpoint = ParseRedisEndpoint(url);
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().code, Code::kInvalid) << url;
    EXPECT_EQ(endpoint.error().message.find("hunter2"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace oncemq
