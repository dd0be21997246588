// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/etcd_endpoint.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(EtcdEndpoint, SaysWhereTheMembersAreAndWhoAsks) {
  const auto endpoint = ParseEtcdEndpoint("etcd://app:p%40ss%3a@one:1,two,[::1]:3,10.0.0.1:65535");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->user, "app");
  EXPECT_EQ(endpoint->password, "p@ss:");
  ASSERT_EQ(endpoint->hosts.size(), 4u);
  EXPECT_EQ(endpoint->hosts[0].host, "one");
  EXPECT_EQ(endpoint->hosts[0].port, 1);
  EXPECT_EQ(endpoint->hosts[1].port, 2379);
  EXPECT_EQ(endpoint->hosts[2].host, "::1");
  EXPECT_EQ(endpoint->hosts[2].port, 3);
  EXPECT_EQ(endpoint->hosts[3].port, 65535);
}

TEST(EtcdEndpoint, NeedsNoUser) {
  const auto endpoint = ParseEtcdEndpoint("etcd://localhost/");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_TRUE(endpoint->user.empty());
}

TEST(EtcdEndpoint, WhatIsWrongIsRefused) {
  for (const char* address : {"", "etcd:", "etcd://", "http://h", "etcd://h:0", "etcd://h:65536",
                              "etcd://h:", "etcd://h:x", "etcd://h,", "etcd://,h", "etcd://[::1",
                              "etcd://[::1]x", "etcd://:p@h", "etcd://h/path", "etcd://a%2@h",
                              "etcd://a%zz@h", "etcd://h\r\nx", "etcd://h h"}) {
    const auto endpoint = ParseEtcdEndpoint(address);
    ASSERT_FALSE(endpoint.has_value()) << address;
    EXPECT_EQ(endpoint.error().code, Code::kInvalid) << address;
  }
}

TEST(EtcdEndpoint, APasswordIsNeverRepeated) {
  const auto wrong = ParseEtcdEndpoint("etcd://app:secret@h:x");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message.find("secret"), std::string::npos);
  const auto right = ParseEtcdEndpoint("etcd://app:secret@one:1,[::1]:2");
  ASSERT_TRUE(right.has_value());
  EXPECT_EQ(ToString(*right), "etcd://one:1,[::1]:2");
}

}  // namespace
}  // namespace oncemq
