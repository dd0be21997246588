// SPDX-License-Identifier: Apache-2.0
// What an address says of TLS, and what it can't say.
#include <gtest/gtest.h>

#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

TEST(RedisTlsPlace, AllThatIsToBeSaidStandsBehindTheQuestionMark) {
  const auto place = ParseRedisPlace(
      "rediss://app:p%3Fw@cache:7000/3?ca=/etc/a%26b.pem&cert=/c.pem&key=/k.pem&server_name=real");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_TRUE(place->tls);
  EXPECT_EQ(place->password, "p?w");
  EXPECT_EQ(place->hosts.at(0).host, "cache");
  EXPECT_EQ(place->database, 3);
  EXPECT_EQ(place->ca_file, "/etc/a&b.pem");
  EXPECT_EQ(place->certificate_file, "/c.pem");
  EXPECT_EQ(place->key_file, "/k.pem");
  EXPECT_EQ(place->server_name, "real");
  EXPECT_EQ(ToString(*place), "rediss://cache:7000/3");
}

TEST(RedisTlsPlace, NeitherAPortNorADatabaseIsNeededBeforeIt) {
  const auto place = ParseRedisPlace("rediss://cache?ca=a.pem");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->hosts.at(0).host, "cache");
  EXPECT_EQ(place->ca_file, "a.pem");
  EXPECT_TRUE(place->server_name.empty());
}

TEST(RedisTlsPlace, SentinelsAreReachedByTlsWhereTheMasterIs) {
  const auto place = ParseRedisPlace("rediss-sentinel://:pw@s1,s2:5000/orders/2?server_name=redis");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_TRUE(place->tls);
  EXPECT_EQ(place->master, "orders");
  EXPECT_EQ(place->hosts.at(0).port, 26379);
  EXPECT_EQ(place->server_name, "redis");
  EXPECT_EQ(ToString(*place), "rediss-sentinel://s1:26379,s2:5000/orders/2");
}

TEST(RedisTlsPlace, WhatCouldMeanLessThanItSaysIsRefusedWithoutItsPassword) {
  for (const char* url :
       {"rediss://u:hunter2@h?", "rediss://u:hunter2@h?ca=", "rediss://u:hunter2@h?ca",
        "rediss://u:hunter2@h?ca=a&ca=b", "rediss://u:hunter2@h?verify=none",
        "rediss://u:hunter2@h?server_name=", "rediss://u:hunter2@h?ca=%zz",
        "rediss://u:hunter2@h?ca=a%00b", "rediss://u:hunter2@h?cert=c",
        "rediss://u:hunter2@h?key=k", "rediss://u:hunter2@h?ca=a&", "redis://u:hunter2@h?ca=a",
        "redis://u:hunter2@h/0?ca=a", "redis-sentinel://u:hunter2@h/m?ca=a", "unix:///s?ca=a",
        "rediss-sentinel://u:hunter2@s", "rediss:///s?ca=a"}) {
    const auto place = ParseRedisPlace(url);
    ASSERT_FALSE(place.has_value()) << url;
    EXPECT_EQ(place.error().code, Code::kInvalid) << url;
    EXPECT_EQ(place.error().message.find("hunter2"), std::string::npos) << url;
  }
}

TEST(RedisTlsPlace, APlaceMadeByHandIsRefusedToo) {
  const RedisPlace plain{.hosts = {{"127.0.0.1", 1}}};
  for (std::string RedisPlace::*said : {&RedisPlace::ca_file, &RedisPlace::certificate_file,
                                        &RedisPlace::key_file, &RedisPlace::server_name}) {
    RedisPlace place = plain;
    place.*said = "x";
    const auto client = RedisClient::Open(place);
    ASSERT_FALSE(client.has_value());
    EXPECT_EQ(client.error().code, Code::kInvalid) << ToString(client.error());
  }
  RedisPlace half = plain;
  half.tls = true;
  half.key_file = "x";
  RedisPlace socket{.socket = "/nowhere", .tls = true};
  for (const RedisPlace& place : {half, socket}) {
    const auto client = RedisClient::Open(place);
    ASSERT_FALSE(client.has_value());
    EXPECT_NE(client.error().message.find("address"), std::string::npos) << client.error().message;
  }
}

}  // namespace
}  // namespace oncemq
