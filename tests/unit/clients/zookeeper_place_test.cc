// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/zookeeper_place.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(ZooKeeperPlace, AHostIsEnough) {
  const auto place = ParseZooKeeperPlace("zookeeper://zk1");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  ASSERT_EQ(place->hosts.size(), 1u);
  EXPECT_EQ(place->hosts[0].host, "zk1");
  EXPECT_EQ(place->hosts[0].port, 2181);
  EXPECT_EQ(place->chroot, "");
  EXPECT_EQ(place->user, "");
}

TEST(ZooKeeperPlace, EverythingCanBeSaid) {
  const auto place =
      ParseZooKeeperPlace("zookeeper://app:p%40s%3As%2Fw@zk1:2182,10.0.0.2,[::1]:2183/a/b%20c");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->user, "app");
  EXPECT_EQ(place->password, "p@s:s/w");
  ASSERT_EQ(place->hosts.size(), 3u);
  EXPECT_EQ(place->hosts[0].port, 2182);
  EXPECT_EQ(place->hosts[1].port, 2181);
  EXPECT_EQ(place->hosts[2].host, "::1");
  EXPECT_EQ(place->hosts[2].port, 2183);
  EXPECT_EQ(place->chroot, "/a/b c");
}

TEST(ZooKeeperPlace, ASlashAtTheEndIsNoChroot) {
  const auto place = ParseZooKeeperPlace("zookeeper://zk1/");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(place->chroot, "");
}

TEST(ZooKeeperPlace, WhatIsShownToPeopleHasNoPassword) {
  const auto place = ParseZooKeeperPlace("zookeeper://app:hidden@zk1,[::1]:99/a");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(ToString(*place), "zookeeper://zk1:2181,[::1]:99/a");
}

TEST(ZooKeeperPlace, WhatIsWrongIsRefusedWithoutThePassword) {
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
    const auto place = ParseZooKeeperPlace(url);
    ASSERT_FALSE(place.has_value()) << url;
    EXPECT_EQ(place.error().code, Code::kInvalid) << url;
    EXPECT_EQ(place.error().message.find("hidden"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace oncemq
