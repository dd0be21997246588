// SPDX-License-Identifier: Apache-2.0
// A window that does not answer: the policies of the gate, its retries and its time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "faulty_window.h"
#include "gate_engines.h"
#include "oncemq/base/connection_pool.h"
#include "oncemq/dedup/memory_window.h"
#include "support/log_file.h"
#include "support/tcp_proxy.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/dedup/redis_window.h"
#include "support/redis_server.h"
#endif

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GateFaults : public GateTest {
 protected:
  // A gate over a window that can be made to fail, and `gate()` over the same one as it is.
  void OpenFaulty(const GateOptions& options = Usual()) {
    Open();
    faulty_ = std::make_shared<FaultyWindow>(window());
    caller_ = *Gate::Open(faulty_, options, clock_);
  }
  // One call fits in, and few retries if any.
  GateOptions WithoutRetries() {
    GateOptions options = Usual();
    const milliseconds longest = GetParam().open(Level::kOpaque, 0)->capabilities().longest_call;
    options.within = std::max(longest, milliseconds(100));
    return options;
  }
  PreAnswer CallerPre(std::string_view key) {
    return caller_->Pre(Contents::OfBytes("order"), {.key = key});
  }

  std::shared_ptr<FaultyWindow> faulty_;
  std::unique_ptr<Gate> caller_;
};
INSTANTIATE_TEST_SUITE_P(Over, GateFaults, ::testing::ValuesIn(GateEngines()), NameOf);

TEST_P(GateFaults, ACallIsRepeatedWithItsToken) {
  OpenFaulty();
  faulty_->fails = 3;
  PreAnswer pre = CallerPre("a");
  ASSERT_EQ(pre.state, PreState::kPermitted);
  EXPECT_EQ(faulty_->claims, 4);
  faulty_->fails = 2;
  ASSERT_TRUE(pre.ticket.Final("r"));
  EXPECT_EQ(Pre("a").result, "r");
}

// After Final() it has happened, on record or not.
TEST_P(GateFaults, AFinalThatFailsNeverFreesItsOperation) {
  GateOptions options = WithoutRetries();
  OpenFaulty(options);
  PreAnswer pre = CallerPre("a");
  faulty_->down = true;
  EXPECT_FALSE(pre.ticket.Final("r"));
  EXPECT_EQ(pre.ticket.Fail().error().code, Code::kInvalid);
  faulty_->down = false;
  { const Ticket gone = std::move(pre.ticket); }
  EXPECT_EQ(Pre("a").state, PreState::kInProgress);
  Advance(options.lease + milliseconds(1'000));
  EXPECT_EQ(Pre("a").state, PreState::kUncertain);
}

TEST_P(GateFaults, AFinalMayBeRepeated) {
  GateOptions options = WithoutRetries();
  OpenFaulty(options);
  PreAnswer pre = CallerPre("a");
  faulty_->lose_answers = true;
  EXPECT_FALSE(pre.ticket.Final("r"));
  faulty_->lose_answers = false;
  EXPECT_TRUE(pre.ticket.Final("r"));
  EXPECT_EQ(Pre("a").result, "r");
}

TEST_P(GateFaults, ByDefaultAnErrorIsReturnedAndTheLogSaysWhy) {
  GateOptions options = WithoutRetries();
  OpenFaulty(options);
  faulty_->down = true;
  LogFile log;
  const PreAnswer pre = CallerPre("a");
  EXPECT_THAT(log.End(), AllOf(HasSubstr("an operation is not permitted"), HasSubstr("down")));
  EXPECT_EQ(pre.state, PreState::kError);
  EXPECT_EQ(pre.error.code, Code::kUnavailable);
  EXPECT_GT(pre.retry_after, milliseconds(0));
  EXPECT_FALSE(static_cast<bool>(pre.ticket));
  EXPECT_EQ(caller_->counts().errors, 1u);
}

TEST_P(GateFaults, AnUnprotectedRunIsCountedAndOnRecordIfTheWindowIsBackAtItsEnd) {
  GateOptions options = WithoutRetries();
  options.fault = GateOptions::Fault::kPermitUnprotected;
  OpenFaulty(options);
  faulty_->down = true;
  PreAnswer back = CallerPre("back");
  PreAnswer still = CallerPre("still");
  ASSERT_EQ(back.state, PreState::kPermitted);
  EXPECT_TRUE(back.ticket.unprotected());
  EXPECT_FALSE(still.ticket.Final("r"));
  faulty_->down = false;
  ASSERT_TRUE(back.ticket.Final("r"));
  EXPECT_EQ(Pre("back").result, "r");
  EXPECT_EQ(Pre("back", Contents::OfBytes("another order")).state, PreState::kConflict);
  EXPECT_EQ(caller_->counts().unprotected, 2u);
  EXPECT_EQ(caller_->counts().unmarked, 1u);
}

TEST_P(GateFaults, AnUnprotectedRunLearnsThatAnotherOneWasFaster) {
  GateOptions options = WithoutRetries();
  options.fault = GateOptions::Fault::kPermitUnprotected;
  OpenFaulty(options);
  faulty_->down = true;
  PreAnswer alone = CallerPre("a");
  faulty_->down = false;
  Run("a", "of the other one");
  EXPECT_EQ(alone.ticket.Final("r").error().code, Code::kFenced);
  EXPECT_EQ(Pre("a").result, "of the other one");
}

TEST_P(GateFaults, TheNextEngineDecidesWhileTheFirstIsAway) {
  Open();
  faulty_ = std::make_shared<FaultyWindow>(window());
  GateOptions options = WithoutRetries();
  options.within *= 2;
  const auto second = GetParam().open(Level::kOpaque, 1'000'000);
  options.fault = GateOptions::Fault::kNextEngine;
  options.next = second;
  caller_ = *Gate::Open(faulty_, options, clock_);
  faulty_->down = true;
  const std::string key = "next " + std::to_string(clock_.Wall().micros);
  PreAnswer pre = CallerPre(key);
  ASSERT_EQ(pre.state, PreState::kPermitted);
  EXPECT_FALSE(pre.ticket.unprotected());
  ASSERT_TRUE(pre.ticket.Final("r"));
  EXPECT_EQ(CallerPre(key).result, "r");
  EXPECT_EQ(caller_->counts().next_engine, 2u);
  // The danger, as the header says: the first window knows nothing of it.
  faulty_->down = false;
  EXPECT_EQ(CallerPre(key).state, PreState::kPermitted);
}

// It may be the same operation under a recipe that is not known here.
TEST_P(GateFaults, AConflictThatCannotBeLookedAtMakesNoOtherKeySafe) {
  GateOptions options = WithoutRetries();
  options.recipe = 2;
  OpenFaulty(options);
  Run("a", "r");
  faulty_->blind = true;
  const PreAnswer other = CallerPre("a");
  EXPECT_EQ(other.state, PreState::kConflict);
  EXPECT_FALSE(other.safe_new_key);
}

// A shop that is short of connections is not without its window.
TEST_P(GateFaults, AWindowThatIsOnlyTooBusyPermitsNothingUnprotected) {
  GateOptions options = WithoutRetries();
  options.fault = GateOptions::Fault::kPermitUnprotected;
  OpenFaulty(options);
  faulty_->down = true;
  faulty_->code = Code::kBusy;
  EXPECT_EQ(CallerPre("a").error.code, Code::kBusy);
  EXPECT_EQ(caller_->counts().unprotected, 0u);
}

TEST_P(GateFaults, AFailureDuringAnOutageIsMadeUpFor) {
  OpenFaulty(WithoutRetries());
  PreAnswer failed = CallerPre("failed");
  PreAnswer dropped = CallerPre("dropped");
  faulty_->down = true;
  EXPECT_FALSE(failed.ticket.Fail());
  { const Ticket gone = std::move(dropped.ticket); }
  faulty_->down = false;
  EXPECT_EQ(CallerPre("b").state, PreState::kPermitted);
  EXPECT_EQ(Pre("failed").state, PreState::kPermitted);
  EXPECT_EQ(Pre("dropped").state, PreState::kPermitted);
}

TEST_P(GateFaults, AnOperatorsClaimOfNothingIsMadeUpFor) {
  OpenFaulty(WithoutRetries());
  const std::string ref = "test/" + std::string(64, '0');
  faulty_->after_claim = [&](Status&) { faulty_->down = true; };
  EXPECT_EQ(caller_->Resolve(ref, Gate::Outcome::kApplied, "why").error().code, Code::kNotFound);
  faulty_->after_claim = [](Status&) {};
  faulty_->down = false;
  EXPECT_EQ(CallerPre("b").state, PreState::kPermitted);
  EXPECT_EQ(gate().Show(ref)->state, MarkerState::kNone);
}

TEST_P(GateFaults, AClaimOfTheNextEngineThatNobodyUsesIsReleased) {
  Open();
  faulty_ = std::make_shared<FaultyWindow>(window());
  const auto next = std::make_shared<FaultyWindow>(GetParam().open(Level::kOpaque, 2'000'000));
  GateOptions options = WithoutRetries();
  options.within *= 2;
  options.fault = GateOptions::Fault::kNextEngine;
  options.next = next;
  caller_ = *Gate::Open(faulty_, options, clock_);
  const std::string key = "unused " + std::to_string(clock_.Wall().micros);
  faulty_->down = true;
  bool lost = false;
  next->after_claim = [&](Status& done) {
    done = lost ? done : Error{Code::kInternal, Effect::kUnknown, "no answer"};
    lost = true;
  };
  EXPECT_EQ(CallerPre(key).state, PreState::kError);
  EXPECT_EQ(CallerPre(key).state, PreState::kPermitted);
}

// Its retention is over, and it has not been forgotten yet.
TEST_P(GateFaults, AFinalWithoutRetentionMayBeRepeated) {
  GateOptions options = WithoutRetries();
  options.within += milliseconds(100);
  options.retention = Retention::None();
  OpenFaulty(options);
  PreAnswer pre = CallerPre("a");
  faulty_->lose_answers = true;
  EXPECT_FALSE(pre.ticket.Final());
  faulty_->lose_answers = false;
  Advance(milliseconds(50));
  EXPECT_TRUE(pre.ticket.Final());
}

TEST_P(GateFaults, AnOperatorsNoWhoseAnswerWasLostIsNotCalledTooLate) {
  OpenFaulty();
  PreAnswer pre = CallerPre("a");
  ASSERT_TRUE(pre.ticket.Unsure());
  bool lost = false;
  faulty_->after_complete = [&](Status& done) {
    if (!lost) {
      lost = true;
      done = Error{Code::kTimeout, Effect::kUnknown, "no answer"};
      Advance(milliseconds(10));
    }
  };
  EXPECT_TRUE(caller_->Resolve(pre.ref, Gate::Outcome::kNotApplied, "why"));
  EXPECT_EQ(Pre("a").state, PreState::kPermitted);
}

TEST_P(GateFaults, AnUnprotectedRunEndsNoOperationThatMayHaveHappenedAlready) {
  GateOptions options = WithoutRetries();
  options.fault = GateOptions::Fault::kPermitUnprotected;
  OpenFaulty(options);
  faulty_->down = true;
  PreAnswer alone = CallerPre("a");
  faulty_->down = false;
  ASSERT_TRUE(Pre("a").ticket.Unsure());
  const Status late = alone.ticket.Final("r");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kFenced);
  EXPECT_EQ(caller_->counts().overtaken, 1u);
  EXPECT_EQ(Pre("a").state, PreState::kUncertain);
}

TEST_P(GateFaults, AnUnprotectedRunThatIsUnsureIsUncertainOnceTheWindowIsBack) {
  GateOptions options = WithoutRetries();
  options.fault = GateOptions::Fault::kPermitUnprotected;
  OpenFaulty(options);
  faulty_->down = true;
  PreAnswer back = CallerPre("back");
  PreAnswer still = CallerPre("still");
  EXPECT_FALSE(still.ticket.Unsure());
  EXPECT_EQ(caller_->counts().unmarked, 1u);
  faulty_->down = false;
  EXPECT_TRUE(back.ticket.Unsure());
  EXPECT_EQ(Pre("back").state, PreState::kUncertain);
}

// Its record says that somebody runs the operation.
TEST_P(GateFaults, ACallThatWaitsIsNeverPermittedByAnOutage) {
  for (const auto fault :
       {GateOptions::Fault::kPermitUnprotected, GateOptions::Fault::kNextEngine}) {
    GateOptions options = WithoutRetries();
    options.fault = fault;
    options.within *= 2;
    options.next = window();
    OpenFaulty(options);
    const PreAnswer runs = Pre("a");
    faulty_->after_claim = [&](Status&) { faulty_->down = true; };
    const PreAnswer waits =
        caller_->Pre(Contents::OfBytes("order"), {.key = "a", .wait = milliseconds(500)});
    EXPECT_EQ(waits.state, PreState::kError);
    EXPECT_EQ(caller_->counts().permitted + caller_->counts().next_engine, 0u);
  }
}

// Nor does a record that was found turn into a run without protection.
TEST(GateTime, NoCallOfTheWindowBeginsAfterTheTimeOfTheGate) {
  const SystemClock& clock = SystemClock::Instance();
  const auto faulty = std::make_shared<FaultyWindow>(
      std::shared_ptr<Window>(*OpenMemoryWindow({.level = Level::kOpaque}, clock)));
  GateOptions options;
  options.application = "test";
  options.fault = GateOptions::Fault::kPermitUnprotected;
  const auto gate = *Gate::Open(faulty, options);
  PreAnswer first = gate->Pre(Contents::OfBytes("order"), {.key = "a"});
  faulty->claims = 0;
  faulty->after_claim = [&](Status&) { SleepFor(options.within); };
  const std::vector<EarlierContents> earlier(5, {2, Contents::OfBytes("earlier")});
  const PreAnswer late = gate->Pre(Contents::OfBytes("other"), {.key = "a", .earlier = earlier});
  EXPECT_EQ(late.state, PreState::kError);
  EXPECT_EQ(late.error.code, Code::kTimeout);
  EXPECT_EQ(faulty->claims, 1);
}

TEST_P(GateFaults, AWindowWhoseCallsLastLongerThanTheGatesIsRefused) {
  Open();
  GateOptions options = Usual();
  options.within = milliseconds(200);
  const auto opened = Gate::Open(window(), options);
  EXPECT_EQ(opened.has_value(), window()->capabilities().longest_call == milliseconds(0));
  if (!opened) {
    EXPECT_THAT(opened.error().message, HasSubstr("30000 ms"));
  }
}

// The window's longest call is 3 s, since the machine may be slow.
void ExpectSilenceInTime(std::unique_ptr<Window> window, TcpProxy& proxy) {
  GateOptions options;
  options.application = "test";
  options.within = milliseconds(3'500);
  const auto gate = *Gate::Open(std::move(window), options);
  PreAnswer before = gate->Pre({}, {.key = "before"});
  ASSERT_EQ(before.state, PreState::kPermitted);
  proxy.Set(TcpProxy::Mode::kSilent);
  const BootTime begun = BootNow();
  EXPECT_EQ(gate->Pre({}, {.key = "during"}).state, PreState::kError);
  EXPECT_LT(BootNow() - begun, options.within + milliseconds(1'000));
  proxy.Set(TcpProxy::Mode::kPass);
}

#ifdef ONCEMQ_WITH_REDIS

TEST(GateTime, ASilentRedisCostsACallerTheTimeOfTheGateAndNoMore) {
  ONCEMQ_REQUIRE_REDIS();
  const auto server = RedisServer::Start();
  TcpProxy proxy(server->port());
  RedisWindowOptions window;
  window.scope = "gate";
  window.level = Level::kOpaque;
  window.connect = window.call = milliseconds(1'000);
  const std::string url = "redis://127.0.0.1:" + std::to_string(proxy.port());
  ExpectSilenceInTime(*OpenRedisWindow(url, window), proxy);
}

#endif
#ifdef ONCEMQ_WITH_POSTGRES

TEST(GateTime, ASilentDatabaseCostsACallerTheTimeOfTheGateAndNoMore) {
  ONCEMQ_REQUIRE_POSTGRES();
  const auto server = PostgresServer::Start();
  ASSERT_TRUE(MigratePostgresWindow(server->url(), "oncemq"));
  TcpProxy proxy(server->port());
  PostgresWindowOptions window;
  window.scope = "gate";
  window.level = Level::kOpaque;
  window.connect = window.call = milliseconds(1'000);
  ExpectSilenceInTime(*OpenPostgresWindow(PostgresServer::UrlAt(proxy.port()), window), proxy);
}

#endif

}  // namespace
}  // namespace oncemq::testing
