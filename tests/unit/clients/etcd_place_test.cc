// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/etcd_place.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(EtcdPlace, SaysWhereTheMembersAreAndWhoAsks) {
  const auto place = ParseEtcdPlace("etcd://app:p%40ss%3a@one:1,two,[::1]:3,10.0.0.1:65535");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->user, "app");
  EXPECT_EQ(place->password, "p@ss:");
  ASSERT_EQ(place->hosts.size(), 4u);
  EXPECT_EQ(place->hosts[0].host, "one");
  EXPECT_EQ(place->hosts[0].port, 1);
  EXPECT_EQ(place->hosts[1].port, 2379);
  EXPECT_EQ(place->hosts[2].host, "::1");
  EXPECT_EQ(place->hosts[2].port, 3);
  EXPECT_EQ(place->hosts[3].port, 65535);
}

TEST(EtcdPlace, NeedsNoUser) {
  const auto place = ParseEtcdPlace("etcd://localhost/");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_TRUE(place->user.empty());
}

TEST(EtcdPlace, WhatIsWrongIsRefused) {
  for (const char* address : {"", "etcd:", "etcd://", "http://h", "etcd://h:0", "etcd://h:65536",
                              "etcd://h:", "etcd://h:x", "etcd://h,", "etcd://,h", "etcd://[::1",
                              "etcd://[::1]x", "etcd://:p@h", "etcd://h/path", "etcd://a%2@h",
                              "etcd://a%zz@h", "etcd://h\r\nx", "etcd://h h"}) {
    const auto place = ParseEtcdPlace(address);
    ASSERT_FALSE(place.has_value()) << address;
    EXPECT_EQ(place.error().code, Code::kInvalid) << address;
  }
}

TEST(EtcdPlace, APasswordIsNeverRepeated) {
  const auto wrong = ParseEtcdPlace("etcd://app:secret@h:x");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message.find("secret"), std::string::npos);
  const auto right = ParseEtcdPlace("etcd://app:secret@one:1,[::1]:2");
  ASSERT_TRUE(right.has_value());
  EXPECT_EQ(ToString(*right), "etcd://one:1,[::1]:2");
}

}  // namespace
}  // namespace oncemq
