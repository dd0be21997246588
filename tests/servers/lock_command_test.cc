// SPDX-License-Identifier: Apache-2.0
// `oncemq lock ...` beside a process that holds and one that waits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/redis_locks.h"
#include "oncemq/locks/switched_locks.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"
#include "unit/cli/command_fixture.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kPatience{60};

class LockCommand : public Command {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    domain_ = *LockDomain::Open(*OpenRedisLocks(server_->url()), {.who = "payments"});
  }
  static std::string Here() {
    std::array<char, 256> host{};
    EXPECT_EQ(gethostname(host.data(), host.size() - 1), 0);
    return std::string(host.data()) + "/" + std::to_string(getpid());
  }
  Ended Lock(const std::string& arguments) const {
    return Run("lock " + arguments + " --at " + server_->url());
  }
  nlohmann::json Shown(const std::string& name) const {
    return nlohmann::json::parse(Lock("show " + name + " --json").out);
  }

  // What no lock is.
  void WriteByHand(const std::string& key) const {
    Process writes(
        {.command = {"redis-cli", "-p", std::to_string(server_->port()), "set", key, "hello"}});
    ASSERT_EQ(writes.Wait(std::chrono::seconds(30)), 0);
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<LockDomain> domain_;
};

TEST_F(LockCommand, ShowsWhoHoldsANameAndWhoWaits) {
  auto lease = domain_->Acquire("account/42", {.what = "settlement"});
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  std::jthread waits([&] { EXPECT_TRUE(domain_->Acquire("account/42").has_value()); });
  ASSERT_TRUE(Eventually(kPatience, [&] { return Shown("account/42")["parties"].size() == 2; }));
  const nlohmann::json shown = Shown("account/42");
  EXPECT_EQ(shown["parties"][0]["state"], "holds");
  EXPECT_EQ(shown["parties"][0]["who"], Here() + " payments settlement");
  EXPECT_EQ(shown["parties"][0]["fence"], std::to_string((*lease)->fence().token));
  EXPECT_EQ(shown["parties"][1]["state"], "waits");
  EXPECT_NE(
      Lock("ls").out.find("account/42: held, exclusive, by " + Here() + " payments settlement"),
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
  EXPECT_EQ(wrong.out, "not held under this fence in the space ''\n");
  EXPECT_TRUE(*(*lease)->Confirm());
  const Ended right = Lock("release x --fence " + fence);
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_NE(right.err.find("\"command\":\"lock release\""), std::string::npos) << "an audit line";
  EXPECT_FALSE(*(*lease)->Confirm());
  EXPECT_EQ((*lease)->lost(), LeaseLoss::kTaken);
}

TEST_F(LockCommand, AsksAHolderBack) {
  auto lease = domain_->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  EXPECT_EQ(Lock("ask-back x").code, 0);
  EXPECT_TRUE(*(*lease)->Confirm());
  EXPECT_TRUE(Eventually(kPatience, [&] { return (*lease)->recalled().stop_requested(); }));
  EXPECT_EQ(Lock("ask-back nobody").code, 1);
}

// Three masters, so that none of them is the only one that says something.
TEST_F(LockCommand, WithoutFencesNoHoldCanBeNamedAndThatIsSaid) {
  const auto second = RedisServer::Start();
  const auto third = RedisServer::Start();
  std::string at = "redlock://";
  for (const RedisServer* server : {server_.get(), second.get(), third.get()}) {
    at += "127.0.0.1:" + std::to_string(server->port()) + (server == third.get() ? "" : ",");
  }
  const auto domain = *LockDomain::Open(*OpenLockEngine(at));
  const auto lease = domain->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  const Ended ended = Run("lock release x --fence 1 --at " + at);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out.find("not held"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("no hold can be named"), std::string::npos) << ended.out;
  EXPECT_TRUE(*(*lease)->Confirm());
}

TEST_F(LockCommand, AnAskThatFailedLeavesAnAuditLineToo) {
  WriteByHand("oncemq:lock:0::x");
  const Ended asked = Lock("ask-back x");
  EXPECT_EQ(asked.code, 1);
  EXPECT_NE(asked.err.find("\"command\":\"lock ask-back\""), std::string::npos) << asked.err;
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

TEST_F(LockCommand, SaysWhoLeadsAndAsksItToResign) {
  EXPECT_EQ(Lock("election scheduler").code, 1) << "nobody leads";
  auto leader = domain_->Acquire("scheduler", {.what = "shift 7"});
  ASSERT_TRUE(leader.has_value() && leader->has_value());
  const Ended seen = Lock("election scheduler --json");
  EXPECT_EQ(seen.code, 0) << seen.err;
  const auto json = nlohmann::json::parse(seen.out);
  EXPECT_EQ(json["leader"]["who"], Here() + " payments shift 7");
  EXPECT_EQ(json["leader"]["fence"], std::to_string((*leader)->fence().token));
  EXPECT_TRUE(json["standing_by"].empty());
  EXPECT_EQ(Lock("election scheduler --resign").code, 0);
  EXPECT_TRUE(*(*leader)->Confirm());
  EXPECT_TRUE((*leader)->recalled().stop_requested() ||
              Eventually(kPatience, [&] { return (*leader)->recalled().stop_requested(); }));
}

TEST_F(LockCommand, MeasuresWhatALockCostsThere) {
  const Ended measured = Lock("bench --seconds 1");
  EXPECT_EQ(measured.code, 0) << measured.err;
  for (const char* said : {"1 contender: ", "8 contenders: ", "64 contenders: ", " locks/s"}) {
    EXPECT_NE(measured.out.find(said), std::string::npos) << measured.out;
  }
  EXPECT_EQ(Lock("ls").out, "") << "nothing is left behind";
}

TEST_F(LockCommand, OneKeyThatIsNotOursHidesNoOther) {
  const auto locks = *OpenLockEngine(server_->url());
  const auto domain = *LockDomain::Open(locks);
  const auto lease = domain->Acquire("b");
  WriteByHand("oncemq:lock:0::a");
  const Ended listed = Lock("ls");
  EXPECT_NE(listed.code, 0);
  EXPECT_NE(listed.out.find("b: held"), std::string::npos) << listed.out;
  EXPECT_NE(listed.err.find("a: "), std::string::npos) << listed.err;
}

// As an operations team does it: register, write the catalogue, grant, and look.
TEST_F(LockCommand, OpensLocksByACatalogueOnceTheStoreWasTold) {
  const std::string stores = (dir_.path() / "stores.yaml").string();
  const std::string secret = " --secret-file '" + (dir_.path() / "secret").string() + "'";
  const std::string here =
      " --catalogue '" + stores + "' --application payments --scope refunds" + secret;
  std::ofstream(stores) << "stores: {redis: {address: \"" << server_->url() << "\"}}\n"
                        << "default: {locks: redis}\napplications:\n"
                        << Run("store register payments" + secret).out
                        << "    scopes: {refunds: {}}\n";
  EXPECT_NE(Run("lock ls" + here).code, 0) << "the store knows nobody of this name yet";
  const std::string grants =
      Run("store grants '" + stores + "' --application payments" + secret).out;
  Process tells(
      {.command = {"sh", "-c",
                   "printf '%s' \"$GRANTS\" | redis-cli -p " + std::to_string(server_->port())},
       .environment = {{"GRANTS", grants}}});
  ASSERT_EQ(tells.Wait(std::chrono::seconds(30)), 0);
  EXPECT_EQ(Run("lock ls" + here).code, 0);
  const auto domain =
      LockDomain::Open(*OpenLockEngine(server_->url(), "payments.refunds"), {.who = "refunds"});
  const auto lease = (*domain)->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  EXPECT_NE(Run("lock ls" + here).out.find("x: held, exclusive, by " + Here() + " refunds"),
            std::string::npos);
  EXPECT_EQ(Run("lock ls --catalogue '" + stores + "' --application payments" + secret).out, "");
}

class LockSwitchCommand : public LockCommand {
 protected:
  void SetUp() override {
    LockCommand::SetUp();
    other_ = RedisServer::Start();
  }
  Ended Switch(const std::string& arguments) const {
    return Run("lock switch " + arguments + " --record file:" + record_.path().string() +
               " --store a=" + server_->url() + " --store b=" + other_->url() + " --space ''");
  }
  nlohmann::json SwitchStatus(const std::string& arguments) const {
    const Ended ended = Switch(arguments + " --json");
    EXPECT_EQ(ended.code, 0) << ended.err;
    return nlohmann::json::parse(ended.out);
  }
  // A switch takes `longest` and what the configuration lease adds.
  std::shared_ptr<SwitchedLocks> OpenService(milliseconds longest = milliseconds(3'000),
                                             const std::string& board = "locks") const {
    const auto store = [](const std::string& name, const std::string& url) {
      return NamedLocks{name, RedisLockCapabilities(), [url] { return OpenRedisLocks(url); }};
    };
    SwitchboardOptions options;
    options.config_lease = milliseconds(2'000);
    options.longest = longest;
    return *SwitchedLocks::Open({store("a", server_->url()), store("b", other_->url())},
                                *OpenFileSwitchStore(record_.path(), board), options);
  }

  std::unique_ptr<RedisServer> other_;
  const TempDir record_;
};

TEST_F(LockSwitchCommand, MovesARunningServiceToAnotherStore) {
  const Ended nothing = Switch("b");
  EXPECT_EQ(nothing.code, 2) << "no service has written a record yet";
  const auto service = OpenService();
  const auto domain = *LockDomain::Open(service, {.lease = milliseconds(3'000)});
  auto lease = domain->Acquire("account/42");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  EXPECT_EQ(SwitchStatus("")["in_force"], "a");
  const auto begun = SwitchStatus("b --why upgrade");
  EXPECT_EQ(begun["phase"], "both");
  EXPECT_EQ(begun["target"], "b");
  EXPECT_EQ(begun["why"], "upgrade");
  EXPECT_TRUE(Eventually(kPatience, [&] { return SwitchStatus("")["in_force"] == "b"; }));
  // The service may read the record later than the command does.
  EXPECT_TRUE(Eventually(kPatience, [&] {
    const auto mine = (*lease)->Confirm();
    return mine && *mine;
  })) << "the hold has moved";
  EXPECT_FALSE((*lease)->stop().stop_requested());
  EXPECT_EQ((*lease)->Release(), Released::kYes);
}

TEST_F(LockSwitchCommand, AWatchCountsDownAndEndsWithTheSwitch) {
  const auto service = OpenService();
  const Ended watched = Switch("b --watch --json");
  EXPECT_EQ(watched.code, 0) << watched.err;
  std::istringstream lines(watched.out);
  int64_t before = std::numeric_limits<int64_t>::max();
  int reads = 0;
  nlohmann::json told;
  for (std::string line; std::getline(lines, line); reads++) {
    told = nlohmann::json::parse(line);
    if (told["phase"] != "single") {
      const int64_t left = told["left_ms"];
      EXPECT_TRUE(left < before || left == 0) << watched.out;
      before = left;
    }
  }
  EXPECT_GE(reads, 4) << "of 5 s";
  EXPECT_EQ(told["in_force"], "b") << "the last line";
  EXPECT_EQ(Switch("--watch --first-epoch 9").code, 2);
}

// A service that restarts behind the loss begins a record of its own: it is that which is raised.
TEST_F(LockSwitchCommand, ALostRecordIsBroughtBackAboveWhatItsStoresKnow) {
  auto service = OpenService();
  ASSERT_EQ(Switch("b").code, 0);
  ASSERT_TRUE(Eventually(kPatience, [&] { return SwitchStatus("")["in_force"] == "b"; }));
  service.reset();
  // Whoever switched has done so, or was about to.
  ASSERT_EQ(*(*OpenRedisLocks(server_->url()))->Seal(3), 3u);
  ASSERT_EQ(*(*OpenRedisLocks(other_->url()))->Seal(3), 3u);
  std::filesystem::remove(record_.path() / "record.locks");
  EXPECT_EQ(Switch("").code, 2) << "a look begins none";
  service = OpenService();
  const auto domain = *LockDomain::Open(service, {.lease = milliseconds(3'000)});
  const auto refused = domain->TryAcquire("x");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("the record was lost"), std::string::npos);
  const Ended too_low = Switch("--first-epoch 3");
  EXPECT_EQ(too_low.code, 2);
  EXPECT_NE(too_low.err.find("knows the epoch 3 already"), std::string::npos) << too_low.err;
  EXPECT_EQ(SwitchStatus("")["epoch"], 1) << "nothing was changed";
  const Ended raised = Switch("--first-epoch 8");
  EXPECT_EQ(raised.code, 0) << raised.err;
  EXPECT_NE(raised.out.find("a is in force, epoch 8: raised from 1"), std::string::npos)
      << raised.out;
  EXPECT_TRUE(Eventually(kPatience, [&] {
    const auto lease = domain->TryAcquire("x");
    return lease && *lease && (*lease)->fence().epoch == 8;
  })) << "the service that runs";
  const Ended lower = Switch("--first-epoch 5");
  EXPECT_EQ(lower.code, 0) << lower.err;
  EXPECT_NE(lower.out.find("epoch 8: it was so already"), std::string::npos) << lower.out;
}

TEST_F(LockSwitchCommand, ARecordThatNobodyHasBegunAgainIsBegunWithTheLeasesThatAreSaid) {
  const auto begun = SwitchStatus("--first-epoch 8 --longest 120");
  EXPECT_EQ(begun["epoch"], 8);
  EXPECT_EQ(begun["was_epoch"], nullptr);
  const auto service = OpenService();
  const auto domain = LockDomain::Open(service, {.lease = milliseconds(120'000)});
  ASSERT_TRUE(domain.has_value()) << ToString(domain.error());
  const auto lease = (*domain)->TryAcquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value()) << ToString(lease.error());
  EXPECT_EQ((*lease)->fence().epoch, 8u);
  EXPECT_EQ(Switch("--longest 60").code, 2) << "it is said of a record that is raised";
  EXPECT_EQ(Switch("b --first-epoch 9").code, 2);
}

TEST_F(LockSwitchCommand, WhatIsHeldUnderARecordIsShownByIt) {
  const auto service = OpenService();
  const auto domain = *LockDomain::Open(service, {.lease = milliseconds(3'000)});
  const auto lease = domain->Acquire("account/42");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  const std::string place = " --record file:" + record_.path().string() +
                            " --store a=" + server_->url() + " --store b=" + other_->url() +
                            " --space '' ";
  for (const std::string& command : {"lock ls" + place, "lock show" + place + "account/42"}) {
    const Ended shown = Run(command);
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_NE(shown.out.find("account/42: held"), std::string::npos) << shown.out;
  }
  EXPECT_EQ(Run("lock ask-back account/42" + place).code, 0);
  EXPECT_EQ(Run("lock show account/42 --switchboard other" + place).code, 2)
      << "there is no record by that name";
}

TEST_F(LockSwitchCommand, ASwitchboardOfAnotherNameIsAnother) {
  const auto service = OpenService(milliseconds(3'000), "payments");
  EXPECT_EQ(Switch("").code, 2) << "there is no record by the usual name";
  EXPECT_EQ(SwitchStatus("--name payments")["in_force"], "a");
  EXPECT_EQ(SwitchStatus("b --name payments")["target"], "b");
  EXPECT_EQ(Switch("--name Payments").code, 2);
}

TEST_F(LockSwitchCommand, ASwitchIsOfASpaceThatIsSaid) {
  const Ended refused = Run("lock switch --record file:" + record_.path().string() +
                            " --store a=" + server_->url() + " --store b=" + other_->url());
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--space"), std::string::npos) << refused.err;
}

TEST_F(LockSwitchCommand, ASwitchIsCalledOff) {
  const auto service = OpenService(kPatience);  // it is not over when it is called off
  EXPECT_EQ(Switch("--call-off").code, 2) << "none is under way";
  const auto begun = SwitchStatus("--next --why 'an upgrade'");
  EXPECT_EQ(begun["target"], "b");
  EXPECT_NE(Switch("").out.find("; why: an upgrade"), std::string::npos);
  EXPECT_EQ(SwitchStatus("b")["epoch"], begun["epoch"]) << "the same switch, asked for again";
  EXPECT_EQ(Switch("a").code, 2) << "another one is under way";
  EXPECT_EQ(SwitchStatus("--call-off")["in_force"], "a");
  EXPECT_EQ(Switch("b --next").code, 2);
  EXPECT_EQ(Switch("c").code, 2) << "nobody knows it";
}

TEST_F(LockSwitchCommand, WhoWantsNoDrainIsRefusedWhereTheStoreInForceDoesNotAnswer) {
  const auto service = OpenService(kPatience);
  server_->Kill9();
  EXPECT_EQ(Switch("b --planned-only").code, 6);
  EXPECT_EQ(SwitchStatus("")["phase"], "single");
  EXPECT_EQ(SwitchStatus("b")["phase"], "drain");
  EXPECT_EQ(Switch("--planned-only").code, 2) << "of a look there is none";
}

TEST_F(LockSwitchCommand, PasswordsAreRefusedOnTheCommandLine) {
  const Ended refused = Run("lock switch --record file:" + record_.path().string() +
                            " --store a=redis://u:secret@h --space ''");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err.find("secret"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace oncemq::testing
