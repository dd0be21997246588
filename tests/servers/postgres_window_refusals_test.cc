// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL and refusals of the server, locks that others hold, and partitions that
// lag.
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "oncemq/base/log.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/log_file.h"
#include "support/postgres_server.h"
#include "support/tcp_proxy.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr LogTime kOfTheRecords{milliseconds(1'600'000'000'000)};
constexpr milliseconds kHour{3'600'000};

class PostgresRefusalsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    server_ = server.get();
    Connect();
  }
  // For tests that change it for all.
  void StartOwn() {
    own_ = PostgresServer::Start();
    server_ = own_.get();
    Connect();
  }
  void Connect() {
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    Sql("DROP TABLE IF EXISTS accounts");
    Sql("CREATE TABLE accounts (name text PRIMARY KEY, cents bigint)");
    Sql("INSERT INTO accounts VALUES ('a', 100)");
    Sql("CREATE OR REPLACE FUNCTION refuse(code text) RETURNS void LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE 'no' USING ERRCODE = code; END $$");
  }
  std::unique_ptr<Window> Open(Level level = Level::kAtomic,
                               milliseconds call = milliseconds(2'000)) {
    PostgresWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = level;
    options.call = call;
    options.remember = kHour;
    options.skew = milliseconds(0);
    auto window = OpenPostgresWindow(server_->url(), options);
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  std::string Sql(std::string_view text) {
    const auto answer = client_->Run({text});
    EXPECT_TRUE(answer) << text << ": " << ToString(answer.error());
    return answer && !answer->rows.empty() ? answer->rows[0][0].value_or("") : "";
  }
  ClaimRequest Request(std::string_view id, int64_t offset = 0) {
    return {.id = id, .token = {7, ++tokens_}, .at = {0, 3, offset}, .time = kOfTheRecords};
  }
  std::string_view NewId() { return ids_.emplace_back(std::to_string(ids_.size())); }
  static Result<ClaimVerdict> Claim(Window& window, const ClaimRequest& request) {
    ClaimAnswer answer;
    const Status claimed = window.Claim({&request, 1}, {&answer, 1});
    return claimed ? Result<ClaimVerdict>(answer.answer) : claimed.error();
  }
  static Result<MarkerChange> Complete(Window& window, EffectBatch& effects,
                                       const ClaimRequest& claim) {
    const CompleteRequest request{
        .id = claim.id, .token = claim.token, .at = claim.at, .time = claim.time};
    MarkerChange change{};
    const Status done = window.CompleteWith(effects, {&request, 1}, {&change, 1});
    return done ? Result<MarkerChange>(change) : done.error();
  }
  // The refusal of a statement; a message after it in the run has its effect all the same.
  Code Refused(Window& window, std::string_view text, std::vector<SqlValue> values = {}) {
    const std::vector<ClaimRequest> claims{Request(NewId()), Request(NewId())};
    const auto effects = *window.NewEffects(0, 3, claims);
    effects->Begin();
    const auto refused = effects->sql()->Run({text, std::move(values)});
    EXPECT_FALSE(refused) << text;
    EXPECT_FALSE(effects->Keep()) << text;
    if (refused || refused.error().code == Code::kUnavailable) {
      return Code::kUnavailable;
    }
    effects->Begin();
    EXPECT_TRUE(effects->sql()->Run({"UPDATE accounts SET cents = cents + 1"})) << text;
    EXPECT_TRUE(effects->Keep());
    EXPECT_EQ(*Complete(window, *effects, claims[1]), MarkerChange::kMade) << text;
    return refused.error().code;
  }
  // The same at the end of a run.
  Code AddedIsRefused(Window& window, std::string_view text) {
    const std::vector<ClaimRequest> claims{Request("added")};
    const auto effects = *window.NewEffects(0, 3, claims);
    effects->Begin();
    EXPECT_TRUE(effects->sql()->Add({text}));
    EXPECT_TRUE(effects->Keep());
    const auto refused = Complete(window, *effects, claims[0]);
    EXPECT_FALSE(refused) << text;
    EXPECT_EQ(*Claim(window, Request("added")), ClaimVerdict::kGranted) << "no marker: " << text;
    return refused ? Code::kUnavailable : refused.error().code;
  }
  static Status Commit(Window& window, OwnerEpoch owner_epoch, int32_t partition, int64_t frontier,
                       LogTime watermark) {
    const Progress progress{.partition = partition,
                            .owner_epoch = owner_epoch,
                            .frontier = frontier,
                            .watermark = watermark};
    MarkerChange change{};
    const Status told = window.Committed({&progress, 1}, {&change, 1});
    EXPECT_EQ(change, MarkerChange::kMade);
    return told;
  }
  static LogTime Watermark(Window& window, int32_t partition) {
    const auto stat = window.Stat();
    for (const PartitionStat& one : (*stat)[0].partitions) {
      if (one.partition == partition) {
        return one.watermark;
      }
    }
    return LogTime::max();
  }
  // Finishes ids of the partition 3.
  void Finish(Window& window, int ids, std::string_view result = {}) {
    for (int i = 0; i < ids; i++) {
      const ClaimRequest claim = Request(NewId(), i);
      ASSERT_EQ(*Claim(window, claim), ClaimVerdict::kGranted);
      const CompleteRequest done{.id = claim.id,
                                 .token = claim.token,
                                 .at = claim.at,
                                 .result = result,
                                 .time = claim.time};
      MarkerChange change{};
      ASSERT_TRUE(window.Complete({&done, 1}, {&change, 1}));
    }
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<PostgresServer> own_;
  std::unique_ptr<SqlClient> client_;
  std::deque<std::string> ids_;
  uint64_t tokens_ = 0;
};

// After a deployment each message would be refused: none of them is to be rejected for it.
TEST_F(PostgresRefusalsTest, AStatementThatDoesNotFitTheDatabaseIsNoReasonToReject) {
  const auto window = Open();
  const std::string_view name = "a";
  EXPECT_EQ(Refused(*window, "UPDATE acounts SET cents = 1"), Code::kInternal);
  EXPECT_EQ(Refused(*window, "UPDATE accounts SET pence = 1"), Code::kInternal);
  EXPECT_EQ(Refused(*window, "UPDAET accounts SET cents = 1"), Code::kInternal);
  EXPECT_EQ(Refused(*window, "UPDATE accounts SET cents = 1 WHERE name = $1", {name}),
            Code::kInternal)
      << "text and bytes are not compared";
  EXPECT_EQ(Refused(*window, "SELECT refuse('42501')"), Code::kInternal);
  EXPECT_EQ(AddedIsRefused(*window, "UPDATE acounts SET cents = 1"), Code::kInvalid)
      << "the partition stops at the message";
  EXPECT_EQ(Sql("SELECT cents FROM accounts"), "105");
}

TEST_F(PostgresRefusalsTest, WhatAFunctionRaisesIsTheContentOfItsMessage) {
  const auto window = Open();
  for (const std::string code :
       {"LG001", "P0001", "21000", "54000", "2D000", "0A000", "55000", "23514"}) {
    const std::string text = "SELECT refuse('" + code + "')";
    EXPECT_EQ(Refused(*window, text), Code::kInvalid) << code;
    EXPECT_EQ(AddedIsRefused(*window, text), Code::kInvalid) << code;
  }
  for (const std::string code : {"40001", "53200", "55P03"}) {
    const std::string text = "SELECT refuse('" + code + "')";
    EXPECT_EQ(Refused(*window, text), Code::kUnavailable) << code;
    EXPECT_EQ(AddedIsRefused(*window, text), Code::kUnavailable) << code;
  }
}

// The marker would be committed there without the rest of its run.
TEST_F(PostgresRefusalsTest, AProcedureCannotCommitTheMarkersOfItsRun) {
  const auto window = Open();
  Sql("CREATE OR REPLACE PROCEDURE commits() LANGUAGE plpgsql AS "
      "$$ BEGIN UPDATE accounts SET cents = 7; COMMIT; RAISE 'too late'; END $$");
  for (const char* text :
       {"CALL commits()", "DO $$ BEGIN UPDATE accounts SET cents = 7; COMMIT; END $$"}) {
    EXPECT_EQ(AddedIsRefused(*window, text), Code::kInvalid) << text;
    EXPECT_EQ(Sql("SELECT cents FROM accounts"), "100") << text;
  }
  EXPECT_EQ(Refused(*window, "CALL commits()"), Code::kInvalid);
  EXPECT_EQ(Sql("SELECT cents FROM accounts"), "101") << "only the message after it";
}

TEST_F(PostgresRefusalsTest, MarkersOfARunKeepResultsAndLaterTimes) {
  const auto window = Open();
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  ASSERT_TRUE(Commit(*window, owner_epoch, 3, 0, kOfTheRecords));
  std::vector<ClaimRequest> claims{Request("x"), Request("y", 1), Request("z", 2)};
  std::vector<CompleteRequest> done;
  for (ClaimRequest& claim : claims) {
    claim.owner_epoch = owner_epoch;
    done.push_back({.id = claim.id, .token = claim.token, .at = claim.at, .time = claim.time});
  }
  done[1].result = "paid";
  done[2].time += milliseconds(5);
  const auto effects = *window->NewEffects(0, 3, claims);
  effects->Begin();
  ASSERT_TRUE(effects->sql()->Run({"UPDATE accounts SET cents = cents + 1"}));
  ASSERT_TRUE(effects->Keep());
  MarkerChange changes[3];
  ASSERT_TRUE(window->CompleteWith(*effects, done, changes));
  EXPECT_EQ(Sql("SELECT string_agg(off || ':' || filed - 1600000000000 || ':' || "
                "coalesce(convert_from(result, 'UTF8'), ''), ' ' ORDER BY off) "
                "FROM oncemq.window_ids JOIN oncemq.window_scopes USING (scope) "
                "WHERE name = 'MarkersOfARunKeepResultsAndLaterTimes'"),
            "0:0: 1:0:paid 2:5:");
}

TEST_F(PostgresRefusalsTest, TheSlowestPartitionDecidesWhatIsForgotten) {
  const auto window = Open(Level::kGuarded);
  const OwnerEpoch fast = *window->RaiseOwnerEpoch(0, 3, 0);
  const OwnerEpoch slow = *window->RaiseOwnerEpoch(0, 4, 0);
  ASSERT_TRUE(Commit(*window, fast, 3, 0, kOfTheRecords));
  Finish(*window, 10);
  const auto history = [&] { return (*window->Stat())[0].history; };
  ASSERT_TRUE(Commit(*window, fast, 3, 100, kOfTheRecords + 3 * kHour));
  EXPECT_EQ(history(), 10u) << "nothing is known of the other one";
  ASSERT_TRUE(Commit(*window, slow, 4, 5, kOfTheRecords));
  ASSERT_TRUE(Commit(*window, fast, 3, 101, kOfTheRecords + 4 * kHour));
  EXPECT_EQ(history(), 10u) << "it may have copies of them yet";
  ASSERT_TRUE(Commit(*window, slow, 4, 6, kOfTheRecords + 3 * kHour));
  EXPECT_EQ(history(), 0u);
}

// Each assignment and each heartbeat commits without a stamp.
TEST_F(PostgresRefusalsTest, ACommitWithoutAStampKeepsTheLogTimeOfThePartition) {
  const auto window = Open(Level::kGuarded);
  const OwnerEpoch quiet = *window->RaiseOwnerEpoch(0, 4, 0);
  ASSERT_TRUE(Commit(*window, quiet, 4, 5, kOfTheRecords));
  ASSERT_TRUE(Commit(*window, quiet, 4, 5, kNoLogTime));
  EXPECT_EQ(Watermark(*window, 4), kOfTheRecords);
  ASSERT_TRUE(Commit(*window, quiet, 4, 4, kNoLogTime));
  EXPECT_EQ(Watermark(*window, 4), kNoLogTime) << "an operator has gone back";
}

TEST_F(PostgresRefusalsTest, AWaitForALockIsNoOutage) {
  const auto window = Open(Level::kGuarded, milliseconds(500));
  ASSERT_EQ(*Claim(*window, Request("x")), ClaimVerdict::kGranted);
  const auto other = client_->Begin();
  ASSERT_TRUE((*other)->Run({"SELECT FROM oncemq.window_ids FOR UPDATE"}));
  const char* const newest =
      "SELECT max(backend_start) FROM pg_stat_activity WHERE application_name = 'oncemq'";
  const std::string before = Sql(newest);
  for (const BootTime end = BootNow() + milliseconds(4'500); BootNow() < end;) {
    const auto waited = Claim(*window, Request("x", 1));
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, Code::kUnavailable);
    EXPECT_EQ(waited.error().message.find("lately"), std::string::npos) << waited.error().message;
  }
  EXPECT_EQ(*Claim(*window, Request("y", 2)), ClaimVerdict::kGranted);
  EXPECT_EQ(Sql(newest), before) << "the connection is kept";
  (*other)->Rollback();
}

TEST_F(PostgresRefusalsTest, AnOwnershipIsNotRaisedBehindARunThatPauses) {
  const auto first = Open();
  const auto second = Open();
  std::vector<ClaimRequest> claims{Request("x")};
  claims[0].owner_epoch = *first->RaiseOwnerEpoch(0, 3, 0);
  const auto effects = *first->NewEffects(0, 3, claims);
  effects->Begin();
  ASSERT_TRUE(effects->sql()->Run({"UPDATE accounts SET cents = 7"}));
  const BootTime began = BootNow();
  const auto raised = second->RaiseOwnerEpoch(0, 3, 0);
  EXPECT_LT(BootNow() - began, milliseconds(1'000));
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().code, Code::kUnavailable);
  ASSERT_TRUE(effects->Keep());
  EXPECT_EQ(*Complete(*first, *effects, claims[0]), MarkerChange::kMade);
  EXPECT_TRUE(Eventually(milliseconds(5'000),
                         [&] { return second->RaiseOwnerEpoch(0, 3, 0).has_value(); }));
}

// The client has given up on such a request long ago: the next owner would take what it says for a
// store that has lost changes. An announcement at a lower offset counts if it is later.
TEST_F(PostgresRefusalsTest, AnAnnouncementThatLandsLateReplacesNoLaterOneOfItsOwnership) {
  StartOwn();
  TcpProxy network(server_->port());
  PostgresWindowOptions options;
  options.scope = "late";
  options.level = Level::kGuarded;
  options.call = milliseconds(500);
  const auto opened = OpenPostgresWindow(PostgresServer::UrlAt(network.port()), options);
  ASSERT_TRUE(opened) << ToString(opened.error());
  Window& window = **opened;
  const StoreName name{.source = 0, .partition = 3, .topic = "payments", .owner = "us"};
  ASSERT_TRUE(window.Open(name));
  Announcement one{.partition = 3, .to = 500, .offset = 500, .metadata = "a"};
  one.owner_epoch = *window.RaiseOwnerEpoch(0, 3, 0);
  ASSERT_TRUE(window.Announce({&one, 1}));
  const auto connections = [&] {
    return Sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
  };
  const std::string with_the_late_one = connections();
  network.Set(TcpProxy::Mode::kHoldRequests);
  one.to = one.offset = 900;
  one.metadata = "late";
  ASSERT_FALSE(window.Announce({&one, 1}));
  network.Set(TcpProxy::Mode::kPass);
  one.to = one.offset = 10;
  one.metadata = "b";
  ASSERT_TRUE(Eventually(milliseconds(20'000), [&] {
    return window.Announce({&one, 1}).has_value();
  }));
  EXPECT_NE(connections(), with_the_late_one) << "the late one has a connection of its own still";
  network.LetGo();
  ASSERT_TRUE(Eventually(milliseconds(20'000), [&] { return connections() == with_the_late_one; }));
  const auto known = (*OpenPostgresWindow(server_->url(), options))->Open(name);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->offset, 10);
  EXPECT_EQ(known->to, 10);
  EXPECT_EQ(known->metadata, "b");

  const OwnerEpoch second = *window.RaiseOwnerEpoch(0, 3, 0);
  EXPECT_EQ(window.Announce({&one, 1}).error().code, Code::kFenced);
  one.owner_epoch = second;
  EXPECT_TRUE(window.Announce({&one, 1}));
}

TEST_F(PostgresRefusalsTest, AScopeThatIsExpectedIsNotMade) {
  StartOwn();
  PostgresWindowOptions options;
  options.scope = "orders";
  options.level = Level::kGuarded;
  options.expect_scope = true;
  const auto refused = OpenPostgresWindow(server_->url(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("open once without `expect_scope`"), std::string::npos)
      << refused.error().message;
  LogFile log;
  options.expect_scope = false;
  EXPECT_TRUE(OpenPostgresWindow(server_->url(), options));
  EXPECT_TRUE(OpenPostgresWindow(server_->url(), options));
  options.expect_scope = true;
  EXPECT_TRUE(OpenPostgresWindow(server_->url(), options));
  const std::string text = log.End();
  const size_t made = text.find("made the scope");
  EXPECT_NE(made, text.npos) << text;
  EXPECT_EQ(text.find("made the scope", made + 1), text.npos) << text;
}

// Rule 31. Nobody is left to miss the changes of the former owner. The restart may be a restore.
TEST_F(PostgresRefusalsTest, AtOpaqueANewOwnerTakesNothingForWholeAfterARestart) {
  StartOwn();
  const StoreName name{.source = 9, .partition = 3, .topic = "payments", .owner = "us"};
  const auto dead = Open(Level::kOpaque);
  ASSERT_TRUE(dead->Open(name));
  Announcement announced{
      .partition = 3, .to = 1, .offset = 1, .owner_epoch = *dead->RaiseOwnerEpoch(0, 3, 0)};
  ASSERT_TRUE(dead->Announce({&announced, 1}));
  const BootTime complete = BootNow();
  const auto before = Open(Level::kOpaque)->Open(name);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->lost_writes);
  server_->Kill9();
  server_->Restart();
  const auto heir = Open(Level::kOpaque);
  const auto known = heir->Open(name);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_TRUE(known->lost_writes);
  ASSERT_TRUE(known->lost_since);
  EXPECT_LE(*known->lost_since, complete) << "changes after it may be gone";
  EXPECT_GT(*known->lost_since, complete - std::chrono::seconds(20));
  announced.owner_epoch = *heir->RaiseOwnerEpoch(0, 3, 0);
  announced.complete = false;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_TRUE(Open(Level::kOpaque)->Open(name)->lost_writes) << "some ids are not known again";
  announced.complete = true;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_FALSE(Open(Level::kOpaque)->Open(name)->lost_writes);
  EXPECT_EQ(heir->losses().possible, 0u);
}

// Tables of an earlier program do not say in which run their partitions were whole.
TEST_F(PostgresRefusalsTest, APartitionOfAnEarlierProgramIsNotCalledLost) {
  StartOwn();
  const StoreName name{.source = 9, .partition = 3, .topic = "payments", .owner = "us"};
  const auto window = Open(Level::kOpaque);
  ASSERT_TRUE(window->Open(name));
  Announcement announced{
      .partition = 3, .to = 1, .offset = 1, .owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0)};
  ASSERT_TRUE(window->Announce({&announced, 1}));
  for (const char* column : {"told", "run_started", "run_timeline", "whole"}) {
    Sql("ALTER TABLE oncemq.window_partitions DROP COLUMN " + std::string(column));
  }
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
  const auto heir = Open(Level::kOpaque);
  const auto known = heir->Open(name);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_FALSE(known->lost_writes);
  EXPECT_FALSE(known->lost_since);
  announced.owner_epoch = *heir->RaiseOwnerEpoch(0, 3, 0);
  announced.complete = false;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_TRUE(Open(Level::kOpaque)->Open(name)->lost_writes) << "it says that ids are missing";
}

TEST_F(PostgresRefusalsTest, AScopeOfAnotherServiceNamesBothAndTheirDifferenceFirst) {
  const auto window = Open();
  ASSERT_TRUE(window->Open({.partition = 3, .topic = "t", .owner = "group g, id from header a"}));
  const auto other = window->Open({.partition = 4, .topic = "t", .owner = "group g, id from key"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalid);
  EXPECT_TRUE(other.error().message.ends_with(
      " belongs to \"id from header a\", not to \"id from key\"; it was written for \"group g, id "
      "from header a\" and is opened for \"group g, id from key\""))
      << other.error().message;
}

// Its claims were judged before the loss, and the place of the server is of after it.
TEST_F(PostgresRefusalsTest, ARunBeginsOnlyWhereItsPartitionWasOpenedAfterTheLoss) {
  StartOwn();
  const auto window = Open();
  ASSERT_TRUE(window->Open({.source = 0, .partition = 3, .topic = "payments", .owner = "us"}));
  const std::vector<ClaimRequest> claims{Request("x")};
  ASSERT_EQ(*Claim(*window, claims[0]), ClaimVerdict::kGranted);
  server_->Kill9();
  server_->Restart();
  ClaimRequest elsewhere = Request("y");
  elsewhere.at.partition = 9;
  ASSERT_TRUE(
      Eventually(milliseconds(20'000), [&] { return Claim(*window, elsewhere).has_value(); }));
  const auto effects = window->NewEffects(0, 3, claims);
  ASSERT_FALSE(effects);
  EXPECT_EQ(effects.error().code, Code::kLostWrites);
}

// A sweep that takes longer than a call would never end: its steps become smaller.
TEST_F(PostgresRefusalsTest, ASweepThatTakesTooLongIsToldAndTakesSmallerSteps) {
  StartOwn();
  const TempDir dir;
  LogOptions options;
  options.file = (dir.path() / "log").string();
  StartLogging(options);
  const auto window = Open(Level::kGuarded, milliseconds(500));
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  ASSERT_TRUE(Commit(*window, owner_epoch, 3, 0, kOfTheRecords));
  Finish(*window, 60, std::string(1'500, 'r'));
  Sql("CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN PERFORM pg_sleep(0.05); RETURN OLD; END $$");
  Sql("CREATE TRIGGER slowly BEFORE DELETE ON oncemq.window_ids FOR EACH ROW "
      "EXECUTE FUNCTION slowly()");
  EXPECT_TRUE(Eventually(milliseconds(60'000), [&] {
    EXPECT_TRUE(Commit(*window, owner_epoch, 3, 100, kOfTheRecords + 3 * kHour));
    return (*window->Stat())[0].history == 0;
  }));
  StopLogging();
  std::stringstream log;
  log << std::ifstream(dir.path() / "log").rdbuf();
  EXPECT_NE(log.str().find("could not forget old ids"), std::string::npos) << log.str();
}

TEST_F(PostgresRefusalsTest, AnOlderServerIsRefused) {
  StartOwn();
  Sql("CREATE SCHEMA old");
  Sql("CREATE FUNCTION old.current_setting(name text) RETURNS text LANGUAGE sql AS "
      "$$ SELECT CASE name WHEN 'server_version_num' THEN '130014' "
      "ELSE pg_catalog.current_setting(name) END $$");
  Sql("ALTER ROLE oncemq SET search_path = old, pg_catalog");
  const auto refused =
      OpenPostgresWindow(server_->url(), {.scope = "old", .level = Level::kGuarded});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("PostgreSQL 14"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace oncemq::testing
