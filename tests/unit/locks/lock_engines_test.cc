// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_engines.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(LockEngines, EachIsOpenedByItsAddressAndIsWhatTheListSays) {
  const auto engine = OpenLockEngine("memory:");
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  EXPECT_EQ((*engine)->capabilities().engine, LockEngines().front().engine);
}

TEST(LockEngines, AnAddressThatNobodyKnowsIsRefused) {
  for (const char* address : {"", "memory", "zookeeper://h", "redis:"}) {
    const auto engine = OpenLockEngine(address);
    ASSERT_FALSE(engine.has_value()) << address;
    EXPECT_EQ(engine.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace oncemq
