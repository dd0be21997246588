// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/zookeeper_endpoint.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(ZooKeeperEndpoint, AHostIsEnough) {
  const auto endpoint = ParseZooKeeperEndpoint("zookeeper://zk1");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  ASSERT_EQ(endpoint->hosts.size(), 1u);
  EXPECT_EQ(endpoint->hosts[0].host, "zk1");
  EXPECT_EQ(endpoint->hosts[0].port, 2181);
  EXPECT_EQ(endpoint->chroot, "");
  EXPECT_EQ(endpoint->user, "");
}

TEST(ZooKeeperEndpoint, EverythingCanBeSaid) {
  const auto endpoint =
      ParseZooKeeperEndpoint("zookeeper://app:p%40s%3As%2Fw@zk1:2182,10.0.0.2,[::1]:2183/a/b%20c");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->user, "app");
  EXPECT_EQ(endpoint->password, "p@s:s/w");
  ASSERT_EQ(endpoint->hosts.size(), 3u);
  EXPECT_EQ(endpoint->hosts[0].port, 2182);
  EXPECT_EQ(endpoint->hosts[1].port, 2181);
  EXPECT_EQ(endpoint->hosts[2].host, "::1");
  EXPECT_EQ(endpoint->hosts[2].port, 2183);
  EXPECT_EQ(endpoint->chroot, "/a/b c");
}

TEST(ZooKeeperEndpoint, ASlashAtTheEndIsNoChroot) {
  const auto endpoint = ParseZooKeeperEndpoint("zookeeper://zk1/");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(endpoint->chroot, "");
}

TEST(ZooKeeperEndpoint, WhatIsShownToPeopleHasNoPassword) {
  const auto endpoint = ParseZooKeeperEndpoint("zookeeper://app:hidden@zk1,[::1]:99/a");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(ToString(*endpoint), "zookeeper://zk1:2181,[::1]:99/a");
}

TEST(ZooKeeperEndpoint, WhatIsWrongIsRefusedWithoutThePassword) {
  for (const char* url : {"",
                          "zookeeper:",
                          "zookeeper:/h",
                          "redis://h",
                          "zookeeper://",
                          "zookeeper:///a",
                          "zookeeper://h:",
                          "zookeeper://h:0",
                          "zookeeper://h:65536",
                          "zookeeper://h:x",
                          "zookeeper://h,",
                          "zookeeper://,h",
                          "zookeeper://h:1,,i",
                          "zookeeper://[::1",
                          "zookeeper://[::1]x",
                          "zookeeper://h//a",
                          "zookeeper://h/a/",
                          "zookeeper://h/a//b",
                          "zookeeper://h/./a",
                          "zookeeper://h/a/..",
                          "zookeeper://h/%00",
                          "zookeeper://h/%zz",
                          "zookeeper://h/%7f",
                          "zookeeper://app@h",
                          "zookeeper://:hidden@h",
                          "zookeeper://app:@h",
                          "zookeeper://a%3ab:hidden@h",
                          "zookeeper://app:hidden%@h",
                          "zookeeper://app:hidden@",
                          "zookeeper://app:hidden@h:x",
                          "zookeeper://h h",
                          "zookeeper://h?x=1"}) {
    const auto endpoint = ParseZooKeeperEndpoint(url);
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().code, Code::kInvalid) << url;
    EXPECT_EQ(endpoint.error().message.find("hidden"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace oncemq
