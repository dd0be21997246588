// SPDX-License-Identifier: Apache-2.0
// `oncemq lock ...` beside a process that holds and one that waits.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"
#include "unit/cli/command_fixture.h"

namespace oncemq::testing {
namespace {

class LockCommand : public Command {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    domain_ = *LockDomain::Open(*OpenRedisLocks(server_->url()),
                                {.lease = milliseconds(3'000), .who = "host/1"});
  }
  Ended Lock(const std::string& arguments) const {
    return Run("lock " + arguments + " --at " + server_->url());
  }
  nlohmann::json Shown(const std::string& name) const {
    return nlohmann::json::parse(Lock("show " + name + " --json").out);
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<LockDomain> domain_;
};

TEST_F(LockCommand, ShowsWhoHoldsANameAndWhoWaits) {
  auto lease = domain_->Acquire("account/42", {.what = "settlement"});
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  std::jthread waits([&] { EXPECT_TRUE(domain_->Acquire("account/42").has_value()); });
  ASSERT_TRUE(Eventually(std::chrono::seconds(20),
                         [&] { return Shown("account/42")["parties"].size() == 2; }));
  const nlohmann::json shown = Shown("account/42");
  EXPECT_EQ(shown["parties"][0]["state"], "holds");
  EXPECT_EQ(shown["parties"][0]["who"], "host/1 settlement");
  EXPECT_EQ(shown["parties"][0]["fence"], std::to_string((*lease)->fence().token));
  EXPECT_EQ(shown["parties"][1]["state"], "waits");
  EXPECT_NE(Lock("ls").out.find("account/42: held, exclusive, by host/1 settlement"),
            std::string::npos);
  (*lease)->Release();
  waits.join();
}

TEST_F(LockCommand, EndsTheHoldThatIsMeantAndNoOther) {
  auto lease = domain_->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  const std::string fence = std::to_string((*lease)->fence().token);
  const Ended wrong = Lock("release x --fence 12");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(*(*lease)->Confirm());
  const Ended right = Lock("release x --fence " + fence);
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_NE(right.err.find("\"command\":\"lock release\""), std::string::npos) << "an audit line";
  EXPECT_FALSE(*(*lease)->Confirm());
  EXPECT_EQ((*lease)->lost(), Lost::kTaken);
}

TEST_F(LockCommand, AsksAHolderBack) {
  auto lease = domain_->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  EXPECT_EQ(Lock("ask-back x").code, 0);
  EXPECT_TRUE(*(*lease)->Confirm());
  EXPECT_TRUE(Eventually(std::chrono::seconds(20),
                         [&] { return (*lease)->asked_back().stop_requested(); }));
  EXPECT_EQ(Lock("ask-back nobody").code, 1);
}

TEST_F(LockCommand, TakesANameOfAnyBytes) {
  const auto lease = domain_->Acquire(std::string_view("a\0\x1b", 3));
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  const Ended shown = Lock("show --hex 61001b");
  EXPECT_NE(shown.out.find("held, exclusive"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find('\x1b'), std::string::npos) << "no escape reaches the terminal";
  EXPECT_EQ(Lock("show --hex 6g").code, 2);
}

TEST_F(LockCommand, AnAddressWithAPasswordIsNoArgument) {
  const Ended refused = Run("lock ls --at redis://app:hunter2@127.0.0.1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err.find("hunter2"), std::string::npos);
  const LoopbackPort nobody;
  EXPECT_EQ(Run("lock ls --at redis://" + nobody.address()).code, 6);
  EXPECT_EQ(Run("lock ls --at memory:").code, 2);
  EXPECT_EQ(Run("lock ls").code, 2);
  EXPECT_EQ(Lock("ls --limit 0").code, 2);
}

TEST_F(LockCommand, ListsTheEnginesOfThisBuild) {
  const nlohmann::json engines = nlohmann::json::parse(Run("lock engines --json").out);
  EXPECT_EQ(engines[0]["engine"], "memory");
  EXPECT_EQ(engines[1]["engine"], "redis");
  EXPECT_EQ(engines[1]["fence"], true);
}

}  // namespace
}  // namespace oncemq::testing
