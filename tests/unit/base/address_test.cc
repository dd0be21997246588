// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/address.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(Address, AHostMayHaveAPort) {
  const auto told = [](std::string_view text) {
    const auto parsed = ParseHostAndPort(text, 7);
    return parsed ? parsed->host + " " + std::to_string(parsed->port) : "";
  };
  EXPECT_EQ(told("h"), "h 7");
  EXPECT_EQ(told("h:1"), "h 1");
  EXPECT_EQ(told("[::1]"), "::1 7");
  EXPECT_EQ(told("[fe80::1%eth0]:65535"), "fe80::1%eth0 65535");
  for (const char* wrong :
       {"", ":1", "[]", "[::1", "[::1]x", "h:", "h:0", "h:65536", "h:-1", "h:1:2", "h: 1"}) {
    EXPECT_EQ(told(wrong), "") << wrong;
  }
}

TEST(Address, UserAndPasswordAreTakenOffTheFront) {
  std::string_view text = "us%40r:p%3Aw:x@h/path@y";
  const auto who = CutUser(text);
  ASSERT_TRUE(who.has_value() && who->has_value());
  EXPECT_EQ((*who)->user, "us@r");
  EXPECT_EQ((*who)->password, "p:w:x");
  EXPECT_EQ(text, "h/path@y");
  EXPECT_FALSE(CutUser(text)->has_value()) << "behind the path is no user";
  EXPECT_EQ(text, "h/path@y");
}

TEST(Address, WhatIsWronglyEncodedIsRefusedAndNotRepeated) {
  for (const char* wrong : {"u:hunter2%@h", "u:hunter2%4@h", "u:hunter2%zz@h", "u:hunter2%00@h"}) {
    std::string_view text = wrong;
    const auto who = CutUser(text);
    ASSERT_FALSE(who.has_value()) << wrong;
    EXPECT_EQ(who.error().message.find("hunter2"), std::string::npos);
  }
  EXPECT_EQ(PercentDecoded("a%20b"), "a b");
  EXPECT_EQ(PercentDecoded(std::string_view("a\0b", 3)), std::nullopt);
}

TEST(Address, ATextIsCutAtItsFirstMark) {
  std::string_view text = "a,b,c";
  EXPECT_EQ(CutAt(text, ','), "b,c");
  EXPECT_EQ(text, "a");
  EXPECT_EQ(CutAt(text, ','), std::nullopt);
}

}  // namespace
}  // namespace oncemq
