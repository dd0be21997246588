// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/memcached_place.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(MemcachedPlace, AHostIsEnough) {
  const auto place = ParseMemcachedPlace("memcached://cache");
  ASSERT_TRUE(place.has_value()) << ToString(place.error());
  EXPECT_EQ(ToString(*place), "cache:11211");
}

TEST(MemcachedPlace, AnIpv6AddressStandsInBrackets) {
  EXPECT_EQ(ToString(*ParseMemcachedPlace("memcached://[::1]:7000")), "[::1]:7000");
  EXPECT_EQ(ToString(*ParseMemcachedPlace("memcached://[::1]")), "[::1]:11211");
}

TEST(MemcachedPlace, WhatIsNoSuchAddressIsRefused) {
  for (const char* url :
       {"", "cache", "memcached:", "memcached://", "memcached://:1", "memcached://h:",
        "memcached://h:0", "memcached://h:65536", "memcached://h:1x", "memcached://h/1",
        "memcached://h:1/2", "memcached://a,b", "memcached://[::1", "memcached://[::1]x",
        "memcached://[]", "redis://h", "memcached://h?evicts=allowed", "memcached://a b"}) {
    const auto place = ParseMemcachedPlace(url);
    ASSERT_FALSE(place.has_value()) << url;
    EXPECT_EQ(place.error().code, Code::kInvalid);
  }
}

TEST(MemcachedPlace, APasswordIsRefusedAndNotRepeated) {
  const auto place = ParseMemcachedPlace("memcached://app:secret@h");
  ASSERT_FALSE(place.has_value());
  EXPECT_EQ(ToString(place.error()).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace oncemq
