// SPDX-License-Identifier: Apache-2.0
// What an address says of TLS, and what it can't say.
#include <gtest/gtest.h>

#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

TEST(RedisTlsEndpoint, AllThatIsToBeSaidStandsBehindTheQuestionMark) {
  const auto endpoint = ParseRedisEndpoint(
      "rediss://app:p%3Fw@cache:7000/3?ca=/etc/a%26b.pem&cert=/c.pem&key=/k.pem&server_name=real");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_TRUE(endpoint->tls);
  EXPECT_EQ(endpoint->password, "p?w");
  EXPECT_EQ(endpoint->hosts.at(0).host, "cache");
  EXPECT_EQ(endpoint->database, 3);
  EXPECT_EQ(endpoint->ca_file, "/etc/a&b.pem");
  EXPECT_EQ(endpoint->certificate_file, "/c.pem");
  EXPECT_EQ(endpoint->key_file, "/k.pem");
  EXPECT_EQ(endpoint->server_name, "real");
  EXPECT_EQ(ToString(*endpoint), "rediss://cache:7000/3");
}

TEST(RedisTlsEndpoint, NeitherAPortNorADatabaseIsNeededBeforeIt) {
  const auto endpoint = ParseRedisEndpoint("rediss://cache?ca=a.pem");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->hosts.at(0).host, "cache");
  EXPECT_EQ(endpoint->ca_file, "a.pem");
  EXPECT_TRUE(endpoint->server_name.empty());
}

TEST(RedisTlsEndpoint, SentinelsAreReachedByTlsWhereTheMasterIs) {
  const auto endpoint =
      ParseRedisEndpoint("rediss-sentinel://:pw@s1,s2:5000/orders/2?server_name=redis");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_TRUE(endpoint->tls);
  EXPECT_EQ(endpoint->master, "orders");
  EXPECT_EQ(endpoint->hosts.at(0).port, 26379);
  EXPECT_EQ(endpoint->server_name, "redis");
  EXPECT_EQ(ToString(*endpoint), "rediss-sentinel://s1:26379,s2:5000/orders/2");
}

TEST(RedisTlsEndpoint, WhatCouldMeanLessThanItSaysIsRefusedWithoutItsPassword) {
  for (const char* url :
       {"rediss://u:hunter2@h?", "rediss://u:hunter2@h?ca=", "rediss://u:hunter2@h?ca",
        "rediss://u:hunter2@h?ca=a&ca=b", "rediss://u:hunter2@h?verify=none",
        "rediss://u:hunter2@h?server_name=", "rediss://u:hunter2@h?ca=%zz",
        "rediss://u:hunter2@h?ca=a%00b", "rediss://u:hunter2@h?cert=c",
        "rediss://u:hunter2@h?key=k", "rediss://u:hunter2@h?ca=a&", "redis://u:hunter2@h?ca=a",
        "redis://u:hunter2@h/0?ca=a", "redis-sentinel://u:hunter2@h/m?ca=a", "unix:///s?ca=a",
        "rediss-sentinel://u:hunter2@s", "rediss:///s?ca=a"}) {
    const auto endpoint = ParseRedisEndpoint(url);
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().code, Code::kInvalid) << url;
    EXPECT_EQ(endpoint.error().message.find("hunter2"), std::string::npos) << url;
  }
}

TEST(RedisTlsEndpoint, APlaceMadeByHandIsRefusedToo) {
  const RedisEndpoint plain{.hosts = {{"127.0.0.1", 1}}};
  for (std::string RedisEndpoint::*said :
       {&RedisEndpoint::ca_file, &RedisEndpoint::certificate_file, &RedisEndpoint::key_file,
        &RedisEndpoint::server_name}) {
    RedisEndpoint endpoint = plain;
    endpoint.*said = "x";
    const auto client = RedisClient::Open(endpoint);
    ASSERT_FALSE(client.has_value());
    EXPECT_EQ(client.error().code, Code::kInvalid) << ToString(client.error());
  }
  RedisEndpoint half = plain;
  half.tls = true;
  half.key_file = "x";
  RedisEndpoint socket{.socket = "/nowhere", .tls = true};
  for (const RedisEndpoint& endpoint : {half, socket}) {
    const auto client = RedisClient::Open(endpoint);
    ASSERT_FALSE(client.has_value());
    EXPECT_NE(client.error().message.find("address"), std::string::npos) << client.error().message;
  }
}

}  // namespace
}  // namespace oncemq
