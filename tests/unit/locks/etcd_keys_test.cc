// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace oncemq {
namespace {

const std::vector<std::string> kNames = {std::string("\0", 1),
                                         std::string("\0\0", 2),
                                         std::string("\0\x01", 2),
                                         std::string("\0\xff", 2),
                                         "\x01",
                                         "a",
                                         std::string("a\0", 2),
                                         std::string("a\0\x01x", 4),
                                         std::string("a\0b", 3),
                                         "a\x01",
                                         "a/b",
                                         "ab",
                                         "\xff",
                                         std::string(1'024, '\xff')};

TEST(EtcdLockKeys, KeysHaveTheOrderOfTheNames) {
  const EtcdLockKeys keys("space");
  for (const std::string& one : kNames) {
    for (const std::string& other : kNames) {
      EXPECT_EQ(one < other, keys.Queue(one) < keys.Queue(other));
      EXPECT_EQ(one == other, keys.Queue(other).starts_with(keys.Queue(one)));
    }
  }
}

TEST(EtcdLockKeys, AKeySaysItsNameAndItsMode) {
  const EtcdLockKeys keys(std::string("a\0b", 3));
  for (const std::string& name : kNames) {
    for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
      const std::string key = keys.Request(name, mode, {UINT64_MAX, 0});
      EXPECT_TRUE(key.starts_with(keys.Queue(name)));
      EXPECT_EQ(key.starts_with(keys.Writers(name)), mode == LockMode::kExclusive);
      EXPECT_EQ(keys.NameOf(key), name);
      EXPECT_EQ(EtcdModeOf(key), mode);
    }
  }
}

TEST(EtcdLockKeys, SpacesShareNothing) {
  const EtcdLockKeys one("a");
  const EtcdLockKeys other(std::string("a\0\x01n", 4));
  for (const std::string& name : kNames) {
    EXPECT_FALSE(one.NameOf(other.Queue(name)).has_value() &&
                 other.Queue(name).starts_with(one.names()));
  }
  EXPECT_NE(one.seal(), other.seal());
  EXPECT_NE(one.Session(1), other.Session(1));
}

TEST(EtcdLockKeys, WhatIsNoKeyHasNoName) {
  const EtcdLockKeys keys("s");
  EXPECT_FALSE(keys.NameOf("").has_value());
  EXPECT_FALSE(keys.NameOf("oncemq/lock/1/n").has_value());
  EXPECT_FALSE(keys.NameOf(keys.names() + "x").has_value()) << "without its end";
  EXPECT_FALSE(keys.NameOf(keys.names() + std::string("x\0\x02", 3)).has_value());
  EXPECT_FALSE(EtcdModeOf("").has_value());
  EXPECT_FALSE(EtcdModeOf(std::string(17, 'z')).has_value());
}

TEST(EtcdLockKeys, AValueIsReadAsItWasWritten) {
  const EtcdRequest requested{true, 0xfffffffe, milliseconds(86'400'000), milliseconds(20),
                              std::string("who\0\xff", 5)};
  const auto read = EtcdRequestOf(BytesOf(requested));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->back, requested.back);
  EXPECT_EQ(read->epoch, requested.epoch);
  EXPECT_EQ(read->lease, requested.lease);
  EXPECT_EQ(read->queue_lease, requested.queue_lease);
  EXPECT_EQ(read->who, requested.who);
  const std::string bytes = BytesOf({});
  for (size_t length = 0; length < bytes.size(); length++) {
    EXPECT_FALSE(EtcdRequestOf(bytes.substr(0, length)).has_value());
  }
  EXPECT_FALSE(EtcdRequestOf("2" + bytes.substr(1)).has_value());
}

}  // namespace
}  // namespace oncemq
