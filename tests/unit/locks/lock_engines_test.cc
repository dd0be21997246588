// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_engines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace oncemq {
namespace {

TEST(LockEngines, EachIsOpenedByItsAddressAndIsWhatTheListSays) {
  const auto engine = OpenLockEngine("memory:");
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  EXPECT_EQ((*engine)->capabilities().engine, LockEngines().front().engine);
}

TEST(LockEngines, AnAddressThatNobodyKnowsIsRefused) {
  for (const char* address : {"",
                              "memory",
                              "zookeeper:",
                              "zookeeper://h:x",
                              "redis:",
                              "postgres:",
                              "postgres://h",
                              "mariadb://u@h",
                              "memory:x",
                              "etcd://h:x",
                              "redlock:",
                              "redlock://",
                              "redlock://a,b",
                              "redlock://a,b,c,d",
                              "redlock://a,b,a:6379",
                              "redlock://a,b,",
                              "redlock://a,b,c:0",
                              "redlock://a,b,c,d,e,f,g,h,i,j,k",
                              "memcached:",
                              "memcached://",
                              "memcached://a,b",
                              "memcached://u:p@h"}) {
    const auto engine = OpenLockEngine(address);
    ASSERT_FALSE(engine.has_value()) << address;
    EXPECT_EQ(engine.error().code, Code::kInvalid);
  }
}

// Such locks were engines once: a configuration that still names one learns which there are.
TEST(LockEngines, LocksOfDatabaseSessionsAreRefusedWithTheEnginesThatThereAre) {
  for (const char* address : {"postgres-advisory://u@h/d", "mariadb-get-lock://u@h/d"}) {
    const auto engine = OpenLockEngine(address);
    ASSERT_FALSE(engine.has_value()) << address;
    EXPECT_EQ(engine.error().code, Code::kInvalid);
    EXPECT_EQ(CapabilitiesAt(address).error().message, engine.error().message);
    for (const LockCapabilities& can : LockEngines()) {
      EXPECT_NE(engine.error().message.find(" " + std::string(can.engine) + ":"), std::string::npos)
          << engine.error().message;
    }
  }
}

// A row of the table in the document, as the record of the engine has it.
std::string RowOf(const LockCapabilities& can) {
  std::string row = "| `" + std::string(can.engine) + "` |";
  for (const bool able :
       {can.processes, can.fair, can.unfair, can.shared, LockCapabilities::kReentrant, can.counted,
        can.wakes, can.fence, can.survives_failover, can.long_holds, can.seals, can.lists,
        can.epochs}) {
    row += able ? " yes |" : " no |";
  }
  const auto seconds = can.longest_lease.count() / 1'000;
  row += seconds >= 3'600 ? " " + std::to_string(seconds / 3'600) + " h |"
                          : " " + std::to_string(seconds) + " s |";
  return row + "\n";
}

TEST(LockEngines, TheDocumentSaysWhatTheRecordsSay) {
  std::ifstream file(ONCEMQ_LOCK_ENGINES_MD);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const LockCapabilities& can : LockEngines()) {
    EXPECT_NE(text.find(RowOf(can)), std::string::npos) << RowOf(can);
  }
}

TEST(LockEngines, WhatAnAddressCanDoIsKnownBeforeItIsOpened) {
  for (const LockCapabilities& can : LockEngines()) {
    const auto at = CapabilitiesAt(std::string(can.engine) + "://h");
    if (can.engine != "memory") {
      ASSERT_TRUE(at.has_value()) << can.engine;
      EXPECT_EQ(at->engine, can.engine);
      EXPECT_EQ(RowOf(*at), RowOf(can));
    }
  }
  EXPECT_EQ(CapabilitiesAt("tair://h").error().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq
