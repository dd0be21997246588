// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/memcached_endpoint.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(MemcachedEndpoint, AHostIsEnough) {
  const auto endpoint = ParseMemcachedEndpoint("memcached://cache");
  ASSERT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
  EXPECT_EQ(ToString(*endpoint), "cache:11211");
}

TEST(MemcachedEndpoint, AnIpv6AddressStandsInBrackets) {
  EXPECT_EQ(ToString(*ParseMemcachedEndpoint("memcached://[::1]:7000")), "[::1]:7000");
  EXPECT_EQ(ToString(*ParseMemcachedEndpoint("memcached://[::1]")), "[::1]:11211");
}

TEST(MemcachedEndpoint, WhatIsNoSuchAddressIsRefused) {
  for (const char* url :
       {"", "cache", "memcached:", "memcached://", "memcached://:1", "memcached://h:",
        "memcached://h:0", "memcached://h:65536", "memcached://h:1x", "memcached://h/1",
        "memcached://h:1/2", "memcached://a,b", "memcached://[::1", "memcached://[::1]x",
        "memcached://[]", "redis://h", "memcached://h?evicts=allowed", "memcached://a b"}) {
    const auto endpoint = ParseMemcachedEndpoint(url);
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().code, Code::kInvalid);
  }
}

TEST(MemcachedEndpoint, APasswordIsRefusedAndNotRepeated) {
  const auto endpoint = ParseMemcachedEndpoint("memcached://app:secret@h");
  ASSERT_FALSE(endpoint.has_value());
  EXPECT_EQ(ToString(endpoint.error()).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace oncemq
