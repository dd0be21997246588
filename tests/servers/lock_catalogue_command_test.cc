// SPDX-License-Identifier: Apache-2.0
// `oncemq lock switch` by a catalogue, beside services that were opened by it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "oncemq/framework/store_file.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"
#include "unit/cli/command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kCataloguePatience{60};

class CatalogueSwitch : public Command {
 protected:
  // Payments and its scope settlement have the same two stores, and records in one directory.
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    a_ = RedisServer::Start();
    b_ = RedisServer::Start();
    const std::string register_it = "store register payments --secret-file '" + secret_ + "'";
    std::ofstream(stores_) << "stores:\n  a: {address: \"" << a_->url()
                           << "\", anybody: true}\n  b: {address: \"" << b_->url()
                           << "\", anybody: true}\n  keeper: {address: \"file:"
                           << records_.path().string()
                           << "\", anybody: true}\ndefault: {locks: [a, b], record: keeper}\n"
                           << "applications:\n"
                           << Run(register_it).out << "    scopes: {settlement: {}}\n";
  }
  std::shared_ptr<LockEngine> OpenService(const std::string& scope) const {
    SwitchboardOptions options;
    options.config_lease = milliseconds(2'000);
    options.longest = milliseconds(3'000);
    const std::string secret = ReadAll(secret_);
    auto locks = OpenCatalogueLocks(
        *LoadStores(stores_), {"payments", secret.substr(0, secret.find('\n'))}, scope, options);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return *std::move(locks);
  }
  static std::unique_ptr<LockDomain> DomainOf(const std::shared_ptr<LockEngine>& locks) {
    return *LockDomain::Open(locks, {.lease = milliseconds(3'000)});
  }
  std::string Here() const {
    return " --catalogue '" + stores_ + "' --application payments --secret-file '" + secret_ + "'";
  }
  Ended Switch(const std::string& arguments) const {
    return Run("lock switch " + arguments + Here());
  }
  nlohmann::json SwitchStatus(const std::string& arguments) const {
    const Ended ended = Switch(arguments + " --json");
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out, nullptr, false);
  }

  std::unique_ptr<RedisServer> a_;
  std::unique_ptr<RedisServer> b_;
  const TempDir records_;
  const std::string stores_ = (dir_.path() / "stores.yaml").string();
  const std::string secret_ = (dir_.path() / "secret").string();
};

TEST_F(CatalogueSwitch, MovesTheScopeThatIsSaidAndNoOther) {
  EXPECT_EQ(Switch("b --scope settlement").code, 2) << "nobody has begun";
  const auto payments = OpenService("");
  const auto settlement = OpenService("settlement");
  const auto domain = DomainOf(settlement);
  auto lease = domain->Acquire("account/42");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  const auto begun = SwitchStatus("b --scope settlement");
  EXPECT_EQ(begun["phase"], "both");
  EXPECT_EQ(begun["target"], "b");
  EXPECT_TRUE(Eventually(kCataloguePatience,
                         [&] { return SwitchStatus("--scope settlement")["in_force"] == "b"; }));
  EXPECT_TRUE(Eventually(kCataloguePatience, [&] {
    const auto mine = (*lease)->Confirm();
    return mine && *mine;
  })) << "the hold has moved";
  EXPECT_FALSE((*lease)->stop().stop_requested());
  EXPECT_EQ(SwitchStatus("")["in_force"], "a");
  EXPECT_EQ(SwitchStatus("")["epoch"], 1) << "payments itself was left alone";
}

TEST_F(CatalogueSwitch, ALostRecordIsRaisedForTheServiceThatBeganItAgain) {
  // As a switch left them, before the record was lost.
  for (const RedisServer* server : {a_.get(), b_.get()}) {
    ASSERT_EQ(*(*OpenRedisLocks(server->url(), {.space = "payments.settlement"}))->Seal(3), 3u);
  }
  const auto domain = DomainOf(OpenService("settlement"));
  const auto refused = domain->TryAcquire("x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the record was lost"));
  EXPECT_THAT(Switch("--scope settlement --first-epoch 2").err, HasSubstr("knows the epoch 3"));
  const auto raised = SwitchStatus("--scope settlement --first-epoch 8 --longest 60");
  EXPECT_EQ(raised["epoch"], 8);
  EXPECT_EQ(raised["was_epoch"], 1);
  EXPECT_EQ(raised["longest_lease_ms"], 60'000);
  EXPECT_TRUE(Eventually(kCataloguePatience, [&] {
    const auto lease = domain->TryAcquire("x");
    return lease && *lease && (*lease)->fence().epoch == 8;
  }));
}

TEST_F(CatalogueSwitch, NoArgumentBesideACatalogueIsIgnored) {
  for (const char* besides :
       {"--record file:/tmp", "--store a=redis://h", "--space ''", "--name payments"}) {
    const Ended refused = Switch(besides);
    EXPECT_EQ(refused.code, 2) << besides;
    EXPECT_THAT(refused.err, HasSubstr("a catalogue says addresses and spaces by itself"));
  }
  for (const char* command : {"ls", "show x", "release x --fence 1", "election x"}) {
    for (const std::string& besides : {" --at " + a_->url(), std::string(" --space ''")}) {
      const Ended refused = Run(std::string("lock ") + command + besides +
                                " --application payments --scope settlement");
      EXPECT_EQ(refused.code, 2) << command << besides;
      EXPECT_THAT(refused.err, HasSubstr("a catalogue says addresses and spaces by itself"));
    }
  }
}

// Whoever says an application means its space: the environment's address is not a way round.
TEST_F(CatalogueSwitch, WhoSaysAnApplicationIsNotSentToTheAddressOfTheEnvironment) {
  Process requests({.command = ShellLine("lock show x --application payments --scope settlement"),
                    .environment = {{"ONCEMQ_LOCKS", a_->url()}}});
  EXPECT_EQ(requests.Wait(std::chrono::seconds(30)), 2);
  EXPECT_THAT(ReadAll(err_), HasSubstr("which catalogue of stores?"));
}

TEST_F(CatalogueSwitch, LocksInMemoryAreSwitchedByNoCommand) {
  const Ended refused = Run("lock switch b --record file:" + records_.path().string() +
                            " --store a=memory: --store b=" + b_->url() + " --space ''");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("memory can be seen by their own process only"));
}

}  // namespace
}  // namespace oncemq::testing
