// SPDX-License-Identifier: Apache-2.0
// A test of each lock store that has an address, over its real server.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "storm_engines.h"
#include "support/require_backend.h"

namespace oncemq::testing {

// A switchboard has no address of its own; its stores are tried here one by one.
std::vector<StormEngine> EnginesWithAnAddress();

class EachEngine : public ::testing::TestWithParam<StormEngine> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    server_ = GetParam().start(true);
    PlayerOptions player;
    server_->Put(player, server_->ports());
    address_ = player.at;
  }
  std::unique_ptr<LockDomain> Open() {
    const auto engine = OpenLockEngine(address_);
    EXPECT_TRUE(engine.has_value()) << ToString(engine.error());
    auto domain = engine ? LockDomain::Open(*engine) : engine.error();
    EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
    return domain ? *std::move(domain) : nullptr;
  }
  static BootTime Now() { return SystemClock::Instance().Boot(); }

  std::unique_ptr<StormServer> server_;
  std::string address_;
};

}  // namespace oncemq::testing
