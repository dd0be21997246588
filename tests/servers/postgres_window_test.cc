// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL where the conformance suite does not look: effects in the database, lost
// answers, a server that lost commits, and the sweep of old ids.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "libpq/libpq_session.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/postgres_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr LogTime kThen{milliseconds(1'600'000'000'000)};

class PostgresWindowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    server_ = server.get();
    Connect();
  }
  // For tests that break it.
  void StartOwn() {
    own_ = PostgresServer::Start();
    server_ = own_.get();
    Connect();
  }
  void Connect() {
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    Sql("DROP TABLE IF EXISTS accounts");
    Sql("CREATE TABLE accounts (name bytea PRIMARY KEY, cents bigint CHECK (cents >= 0))");
    Sql("INSERT INTO accounts VALUES ('a', 100), ('b', 0)");
  }
  PostgresWindowOptions Options(Level level) const {
    PostgresWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = level;
    return options;
  }
  std::unique_ptr<Window> Open(Level level = Level::kAtomic) {
    return OpenAt(server_->url(), level);
  }
  std::unique_ptr<Window> OpenAt(const std::string& url, Level level) {
    auto window = OpenPostgresWindow(url, Options(level));
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  SqlAnswer Sql(std::string_view text) {
    auto answer = client_->Run({text});
    EXPECT_TRUE(answer) << text << ": " << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  std::string One(std::string_view text) {
    const SqlAnswer answer = Sql(text);
    return answer.rows.empty() ? "" : answer.rows[0][0].value_or("");
  }
  std::string Cents(std::string_view name) {
    return One("SELECT cents FROM accounts WHERE name = '" + std::string(name) + "'");
  }
  ClaimRequest Request(std::string_view id, int64_t offset = 0) {
    return {.id = id, .token = {7, ++tokens_}, .at = {0, 3, offset}, .time = kThen};
  }
  static ClaimVerdict Claim(Window& window, const ClaimRequest& request) {
    ClaimAnswer answer;
    EXPECT_TRUE(window.Claim({&request, 1}, {&answer, 1}));
    return answer.answer;
  }
  static std::unique_ptr<EffectBatch> Effects(Window& window,
                                              const std::vector<ClaimRequest>& granted) {
    return *window.NewEffects(0, 3, granted);
  }
  static Result<MarkerChange> Complete(Window& window, EffectBatch& effects,
                                       const ClaimRequest& claim) {
    const CompleteRequest request{
        .id = claim.id, .token = claim.token, .at = claim.at, .time = claim.time};
    MarkerChange change{};
    const Status done = window.CompleteWith(effects, {&request, 1}, {&change, 1});
    return done ? Result<MarkerChange>(change) : done.error();
  }
  static Result<SqlAnswer> Move(EffectBatch& effects, int64_t cents) {
    const std::string_view from = "a";
    const std::string_view to = "b";
    auto taken = effects.sql()->Run(
        {"UPDATE accounts SET cents = cents - $1 WHERE name = $2", {cents, from}});
    return taken ? effects.sql()->Run(
                       {"UPDATE accounts SET cents = cents + $1 WHERE name = $2", {cents, to}})
                 : taken;
  }
  static Status AddMove(EffectBatch& effects, int64_t cents) {
    const std::string_view from = "a";
    return effects.sql()->Add(
        {"UPDATE accounts SET cents = cents - $1 WHERE name = $2", {cents, from}});
  }

  // So many ids without a partition, in one batch.
  void FinishWithoutPartition(Window& window, int count, milliseconds keep) {
    std::vector<std::string> ids;
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> done;
    for (int i = 0; i < count; i++) {
      ids.push_back("alone-" + std::to_string(++tokens_));
    }
    for (const std::string& id : ids) {
      claims.push_back({.id = id, .token = {7, ++tokens_}});
      done.push_back({.id = id, .token = claims.back().token, .keep = keep});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    std::vector<MarkerChange> changes(ids.size());
    EXPECT_TRUE(window.Claim(claims, answers));
    EXPECT_TRUE(window.Complete(done, changes));
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<PostgresServer> own_;
  std::unique_ptr<SqlClient> client_;
  uint64_t tokens_ = 0;
};

TEST_F(PostgresWindowTest, EffectsAndMarkersAreThereTogether) {
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x")};
  ASSERT_EQ(Claim(*window, claims[0]), ClaimVerdict::kGranted);
  const auto effects = Effects(*window, claims);
  effects->Begin();
  ASSERT_TRUE(Move(*effects, 30));
  ASSERT_TRUE(effects->Keep());
  EXPECT_EQ(Cents("a"), "100") << "nobody else sees it before";
  EXPECT_EQ(*Complete(*window, *effects, claims[0]), MarkerChange::kMade);
  EXPECT_EQ(Cents("a"), "70");
  EXPECT_EQ(Cents("b"), "30");
  EXPECT_EQ(Claim(*Open(), Request("x")), ClaimVerdict::kDuplicate);
  EXPECT_EQ(*Complete(*window, *effects, claims[0]), MarkerChange::kFenced) << "it is written once";
}

TEST_F(PostgresWindowTest, StatementsThatAreAddedGoWithTheMarkersInOneTransaction) {
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x"), Request("y", 1)};
  for (const ClaimRequest& claim : claims) {
    ASSERT_EQ(Claim(*window, claim), ClaimVerdict::kGranted);
  }
  const auto effects = Effects(*window, claims);
  effects->Begin();
  ASSERT_TRUE(AddMove(*effects, 10));
  ASSERT_TRUE(effects->Keep());
  effects->Begin();
  ASSERT_TRUE(AddMove(*effects, 50));
  effects->Undo();
  EXPECT_EQ(*Complete(*window, *effects, claims[0]), MarkerChange::kMade);
  EXPECT_EQ(Cents("a"), "90");
  EXPECT_EQ(Claim(*window, Request("y", 1)), ClaimVerdict::kGranted) << "it was not done";
}

// Two texts in turn, values of both kinds, and a message in the middle that is not done.
TEST_F(PostgresWindowTest, AddedStatementsOfOtherTextsKeepTheirValues) {
  const auto window = Open();
  Sql("DROP TABLE IF EXISTS added");
  Sql("CREATE TABLE added (step bigint, note bytea)");
  const std::vector<ClaimRequest> copy{Request("copy")};
  const auto before = Effects(*window, copy);
  before->Begin();
  ASSERT_TRUE(before->Keep());
  ASSERT_EQ(*Complete(*window, *before, copy[0]), MarkerChange::kMade);
  std::vector<ClaimRequest> claims{Request("copy"), Request("x", 1), Request("y", 2),
                                   Request("z", 3)};
  std::vector<ClaimAnswer> answers(claims.size());
  ASSERT_TRUE(window->Claim(claims, answers));
  EXPECT_EQ(answers[0].answer, ClaimVerdict::kDuplicate);
  claims.erase(claims.begin());
  const auto effects = Effects(*window, claims);
  for (const ClaimRequest& claim : claims) {
    effects->Begin();
    const std::string note = std::string(claim.id) + "'s";
    for (const char* text :
         {"INSERT INTO added VALUES ($1, $2)", "INSERT INTO added VALUES (10 + $1, $2)",
          "INSERT INTO added VALUES (20 + $1, $2)"}) {
      ASSERT_TRUE(effects->sql()->Add({text, {claim.at.offset, std::string_view(note)}}));
    }
    if (claim.id == "y") {
      effects->Undo();
    } else {
      ASSERT_TRUE(effects->Keep());
    }
  }
  const CompleteRequest done[] = {{.id = "x", .token = claims[0].token, .at = claims[0].at},
                                  {.id = "z", .token = claims[2].token, .at = claims[2].at}};
  MarkerChange changes[2];
  ASSERT_TRUE(window->CompleteWith(*effects, done, changes));
  EXPECT_EQ(One("SELECT string_agg(step || convert_from(note, 'UTF8'), ' ' ORDER BY step) "
                "FROM added"),
            "1x's 3z's 11x's 13z's 21x's 23z's");
  EXPECT_EQ(Claim(*window, Request("y", 2)), ClaimVerdict::kGranted);
  EXPECT_EQ(Claim(*Open(), Request("x", 1)), ClaimVerdict::kDuplicate);
  EXPECT_EQ(Claim(*Open(), Request("z", 3)), ClaimVerdict::kDuplicate);
}

TEST_F(PostgresWindowTest, ARefusedStatementCostsItsMessageAndNotTheRun) {
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x"), Request("y", 1), Request("z", 2)};
  for (const ClaimRequest& claim : claims) {
    ASSERT_EQ(Claim(*window, claim), ClaimVerdict::kGranted);
  }
  const auto effects = Effects(*window, claims);
  effects->Begin();
  ASSERT_TRUE(Move(*effects, 60));
  ASSERT_TRUE(effects->Keep());
  effects->Begin();
  ASSERT_TRUE(effects->sql()->Run({"UPDATE accounts SET cents = 7 WHERE name = 'b'"}));
  const auto refused = Move(*effects, 60);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_FALSE(effects->Keep()) << "a handler that does not notice is not done";
  effects->Begin();
  ASSERT_TRUE(Move(*effects, 40));
  ASSERT_TRUE(effects->Keep());
  const CompleteRequest done[] = {{.id = "x", .token = claims[0].token, .at = claims[0].at},
                                  {.id = "z", .token = claims[2].token, .at = claims[2].at}};
  MarkerChange changes[2];
  ASSERT_TRUE(window->CompleteWith(*effects, done, changes));
  EXPECT_EQ(Cents("a"), "0");
  EXPECT_EQ(Cents("b"), "100") << "nothing of the message in between";
  EXPECT_EQ(Claim(*window, Request("y", 1)), ClaimVerdict::kGranted);
  EXPECT_EQ(Claim(*window, Request("z", 2)), ClaimVerdict::kDuplicate);
}

// Markers are inserted before handlers run; their results and later copies come after.
TEST_F(PostgresWindowTest, AnAddedStatementThatIsRefusedIsNoReasonToAskAgain) {
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x")};
  ASSERT_EQ(Claim(*window, claims[0]), ClaimVerdict::kGranted);
  const auto effects = Effects(*window, claims);
  effects->Begin();
  ASSERT_TRUE(AddMove(*effects, 1'000));
  ASSERT_TRUE(effects->Keep());
  EXPECT_EQ(Complete(*window, *effects, claims[0]).error().code, Code::kInvalid);
  EXPECT_EQ(Claim(*window, Request("x")), ClaimVerdict::kGranted);
}

TEST_F(PostgresWindowTest, AHandlerCannotEndTheTransactionUnderItsMarkers) {
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x")};
  const auto effects = Effects(*window, claims);
  for (const char* text :
       {"  commit", "/* done /* really */ */ COMMIT", "-- done\nEND", ";ROLLBACK"}) {
    effects->Begin();
    EXPECT_FALSE(effects->sql()->Run({text})) << text;
    EXPECT_FALSE(effects->Keep()) << text;
    effects->Begin();
    EXPECT_FALSE(effects->sql()->Add({text})) << text;
    EXPECT_FALSE(effects->Keep()) << "a handler that does not notice is not done: " << text;
  }
}

// Its claim is old, and the id may be forgotten by now.
TEST_F(PostgresWindowTest, ARunThatHasLostItsPartitionWritesNothing) {
  for (const bool live : {true, false}) {
    const auto window = Open();
    std::vector<ClaimRequest> claims{Request(live ? "live" : "added")};
    claims[0].owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
    ASSERT_EQ(Claim(*window, claims[0]), ClaimVerdict::kGranted);
    const auto effects = Effects(*window, claims);
    ASSERT_TRUE(window->RaiseOwnerEpoch(0, 3, 0));
    effects->Begin();
    if (live) {
      EXPECT_EQ(Move(*effects, 10).error().code, Code::kFenced);
      EXPECT_FALSE(effects->Keep());
    } else {
      ASSERT_TRUE(AddMove(*effects, 10));
      ASSERT_TRUE(effects->Keep());
    }
    EXPECT_EQ(*Complete(*window, *effects, claims[0]), MarkerChange::kFenced);
    const Announcement late{
        .partition = 3, .to = 1, .offset = 1, .owner_epoch = claims[0].owner_epoch};
    EXPECT_EQ(window->Announce({&late, 1}).error().code, Code::kFenced);
  }
  EXPECT_EQ(Cents("a"), "100");
}

// The plan that a connection keeps does not fit any more: that says nothing of the message.
TEST_F(PostgresWindowTest, AChangeOfATableCostsNoMessage) {
  const auto window = Open();
  const std::string_view name = "a";
  const auto runs = [&](const char* id) {
    const std::vector<ClaimRequest> claims{Request(id)};
    const auto effects = Effects(*window, claims);
    effects->Begin();
    const auto done = effects->sql()->Run(
        {"UPDATE accounts SET cents = cents WHERE name = $1 RETURNING *", {name}});
    const std::optional<Code> code = done ? std::nullopt : std::optional(done.error().code);
    if (effects->Keep()) {
      EXPECT_EQ(*Complete(*window, *effects, claims[0]), MarkerChange::kMade);
    }
    return code;
  };
  EXPECT_EQ(runs("before"), std::nullopt);
  Sql("ALTER TABLE accounts ADD COLUMN more int");
  EXPECT_NE(runs("after"), Code::kInvalid);
  EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return !runs("again"); }));
}

TEST_F(PostgresWindowTest, CommitsWaitForTheDiskThoughTheServerIsSetNotTo) {
  own_ = PostgresServer::Start({"synchronous_commit=off"});
  server_ = own_.get();
  Connect();
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x")};
  const auto effects = Effects(*window, claims);
  effects->Begin();
  EXPECT_EQ(effects->sql()->Run({"SELECT current_setting('synchronous_commit')"})->rows[0][0],
            "on");
}

// Two processes, both granted: the unique key decides, whether the effects were run or added.
TEST_F(PostgresWindowTest, OfConcurrentCopiesOneHasItsEffect) {
  for (const bool live : {true, false}) {
    const std::string id = live ? "live" : "added";
    const auto first = Open();
    const auto second = Open();
    const std::vector<ClaimRequest> one{Request(id)};
    const std::vector<ClaimRequest> other{Request(id, 8)};
    ASSERT_EQ(Claim(*first, one[0]), ClaimVerdict::kGranted);
    ASSERT_EQ(Claim(*second, other[0]), ClaimVerdict::kGranted);
    const auto effects = Effects(*first, one);
    effects->Begin();
    ASSERT_TRUE(Move(*effects, 10));
    ASSERT_TRUE(effects->Keep());
    Result<MarkerChange> late = Error{};
    std::thread copy([&] {
      const auto again = Effects(*second, other);
      again->Begin();
      const bool wrote = live ? Move(*again, 10).has_value() : AddMove(*again, 10).has_value();
      if (!again->Keep() || !wrote) {
        again->Undo();
      }
      late = Complete(*second, *again, other[0]);
    });
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      return One("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1";
    })) << "the copy waits for the first transaction";
    EXPECT_EQ(*Complete(*first, *effects, one[0]), MarkerChange::kMade);
    copy.join();
    EXPECT_EQ(*late, MarkerChange::kFenced);
    EXPECT_EQ(Claim(*second, Request(id, 8)), ClaimVerdict::kDuplicate);
  }
  EXPECT_EQ(Cents("b"), "20");
}

// Rule 48: the outcome of the COMMIT is asked by writing.
TEST_F(PostgresWindowTest, ACommitWhoseAnswerIsLostIsNotRepeated) {
  TcpProxy proxy(server_->port());
  auto options = Options(Level::kAtomic);
  options.call = milliseconds(500);
  const auto opened = OpenPostgresWindow(PostgresServer::UrlAt(proxy.port()), options);
  ASSERT_TRUE(opened);
  Window& window = **opened;
  const std::vector<ClaimRequest> claims{Request("x")};
  ASSERT_EQ(Claim(window, claims[0]), ClaimVerdict::kGranted);
  const auto effects = Effects(window, claims);
  effects->Begin();
  ASSERT_TRUE(AddMove(*effects, 10));
  ASSERT_TRUE(effects->Keep());
  proxy.Set(TcpProxy::Mode::kSwallowReplies);
  const auto lost = Complete(window, *effects, claims[0]);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().effect, ::oncemq::Effect::kUnknown);
  proxy.Set(TcpProxy::Mode::kPass);
  proxy.Cut();
  const auto again = Effects(window, claims);
  again->Begin();
  ASSERT_TRUE(AddMove(*again, 10));
  ASSERT_TRUE(again->Keep());
  EXPECT_EQ(*Complete(window, *again, claims[0]), MarkerChange::kFenced);
  EXPECT_EQ(Claim(window, Request("x")), ClaimVerdict::kDuplicate);
  EXPECT_EQ(Cents("a"), "90");
}

TEST_F(PostgresWindowTest, ARestoredBackupIsRecognised) {
  StartOwn();
  const auto window = Open(Level::kGuarded);
  const StoreName name{.source = 9, .partition = 3, .topic = "payments", .owner = "us"};
  const auto known = window->Open(name);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->source, 0u) << "the store numbers topics";
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  server_->BackUp();
  ClaimRequest claim = Request("x");
  claim.owner_epoch = owner_epoch;
  ClaimAnswer answer;
  Status status;
  const auto claims = [&](const ClaimRequest& request) {
    return Eventually(std::chrono::seconds(20), [&] {
      status = window->Claim({&request, 1}, {&answer, 1});
      return status || status.error().code == Code::kLostWrites;
    });
  };
  ASSERT_TRUE(claims(claim));
  EXPECT_FALSE(status) << "after a restart nobody knows before Open()";
  ASSERT_TRUE(window->Open(name));
  ASSERT_TRUE(claims(claim));
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  const Announcement announced{
      .partition = 3, .to = 1, .offset = 1, .metadata = "m", .owner_epoch = owner_epoch};
  ASSERT_TRUE(window->Announce({&announced, 1}));
  server_->GoBack();
  // Before any claim: a commit must not rest on what is lost.
  const Announcement further{
      .partition = 3, .to = 2, .offset = 2, .metadata = "m", .owner_epoch = owner_epoch};
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    status = window->Announce({&further, 1});
    return status || status.error().code == Code::kLostWrites;
  }));
  EXPECT_FALSE(status) << "a lost store is announced as whole";
  window->Close(0, 3);
  ClaimRequest next = Request("y", 1);
  next.owner_epoch = owner_epoch;
  ASSERT_TRUE(claims(next));
  ASSERT_FALSE(status) << "it would go on with less than it had";
  const auto anew = window->Open(name);
  ASSERT_TRUE(anew);
  EXPECT_TRUE(anew->lost_writes);
  EXPECT_EQ(anew->offset, -1) << "what was announced is gone, and told";
  EXPECT_TRUE(window->RaiseOwnerEpoch(0, 3, 0));
}

TEST_F(PostgresWindowTest, ADeadServerIsAskedOnceInAWhileAndUsedAgainWhenItIsBack) {
  StartOwn();
  const auto window = Open(Level::kGuarded);
  server_->Kill9();
  const ClaimRequest claim = Request("x");
  ClaimAnswer answer;
  bool spared = false;
  for (const BootTime end = BootNow() + std::chrono::seconds(20); !spared && BootNow() < end;) {
    const Status status = window->Claim({&claim, 1}, {&answer, 1});
    ASSERT_FALSE(status);
    // With the reason of the last call that asked the server.
    spared =
        status.error().message.find("has not answered lately (PostgreSQL: ") != std::string::npos;
  }
  EXPECT_TRUE(spared);
  server_->Restart();
  EXPECT_TRUE(Eventually(std::chrono::seconds(5), [&] {
    return window->Claim({&claim, 1}, {&answer, 1}).has_value();
  }));
}

TEST_F(PostgresWindowTest, WhatHasAgedIsSweptAwayAndIsNeverNew) {
  auto options = Options(Level::kGuarded);
  options.remember = milliseconds(3'600'000);
  options.skew = milliseconds(0);
  const auto opened = *OpenPostgresWindow(server_->url(), options);
  Window& window = *opened;
  const OwnerEpoch owner_epoch = *window.RaiseOwnerEpoch(0, 3, 0);
  Progress progress{.partition = 3, .owner_epoch = owner_epoch, .watermark = kThen};
  MarkerChange change{};
  ASSERT_TRUE(window.Committed({&progress, 1}, {&change, 1})) << "its log time is known";
  std::vector<std::string> ids;
  std::vector<ClaimRequest> claims;
  std::vector<CompleteRequest> done;
  for (int i = 0; i < 2'000; i++) {
    ids.push_back("id-" + std::to_string(i));
  }
  for (size_t i = 0; i < ids.size(); i++) {
    claims.push_back(Request(ids[i], static_cast<int64_t>(i)));
    done.push_back({.id = ids[i], .token = claims[i].token, .at = claims[i].at, .time = kThen});
  }
  std::vector<ClaimAnswer> answers(ids.size());
  std::vector<MarkerChange> changes(ids.size());
  ASSERT_TRUE(window.Claim(claims, answers));
  ASSERT_TRUE(window.Complete(done, changes));
  progress = {0, 3, owner_epoch, 1'000, kThen + 2 * options.remember};
  ASSERT_TRUE(window.Committed({&progress, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
  const auto stat = window.Stat();
  ASSERT_TRUE(stat);
  EXPECT_EQ((*stat)[0].history, 1'000u) << "those above the frontier stay";
  EXPECT_EQ(Claim(window, Request("id-5", 5'000)), ClaimVerdict::kOutsideWindow);
  EXPECT_EQ(Claim(window, Request("id-1500", 5'000)), ClaimVerdict::kDuplicate);
}

// No partition was ever owned, so no commit sweeps: a gate's ids.
TEST_F(PostgresWindowTest, IdsWithoutAPartitionAreSweptOnceTheirTimeHasEnded) {
  const auto window = Open(Level::kOpaque);
  FinishWithoutPartition(*window, 10, kForEver);
  FinishWithoutPartition(*window, 90, milliseconds(1));
  uint64_t gone = 0;
  EXPECT_TRUE(Eventually(milliseconds(10'000), [&] {
    gone += window->DropAged(milliseconds(10'000)).value_or(0);
    return gone == 90;
  }));
  EXPECT_EQ(window->Stat()->front().history, 10u);
}

TEST_F(PostgresWindowTest, APartitionWithoutAWatermarkPinsNoIdsWithoutAPartition) {
  auto options = Options(Level::kOpaque);
  options.remember = milliseconds(64);  // then a pass may begin each millisecond
  const auto window = *OpenPostgresWindow(server_->url(), options);
  ASSERT_TRUE(window->RaiseOwnerEpoch(0, 3, 0));
  uint64_t finished = 0;
  EXPECT_TRUE(Eventually(milliseconds(20'000), [&] {
    FinishWithoutPartition(*window, 256, milliseconds(1));
    finished += 256;
    return window->Stat()->front().history < finished;
  }));
}

// Plans are made while the table is empty, and nobody analyzes it in time.
TEST_F(PostgresWindowTest, AnIdIsLookedUpByItsKeyHoweverManyThereAre) {
  constexpr int64_t kIds = 1'500;
  Sql("ALTER TABLE oncemq.window_ids SET (autovacuum_enabled = off)");
  const auto counted = [&](const std::string& what) {
    return std::atoll(
        One("SELECT " + what + " FROM pg_stat_all_tables WHERE relname = 'window_ids'").c_str());
  };
  const std::string read = "coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)";
  const int64_t reads = counted(read);
  const int64_t updates = counted("n_tup_upd");
  auto window = Open(Level::kOpaque);
  for (int64_t i = 0; i < kIds; i++) {
    const std::string id = "one-" + std::to_string(i);
    const ClaimRequest claim{.id = id, .token = {7, ++tokens_}};
    ASSERT_EQ(Claim(*window, claim), ClaimVerdict::kGranted);
    const CompleteRequest done{.id = id, .token = claim.token};
    MarkerChange change{};
    ASSERT_TRUE(window->Complete({&done, 1}, {&change, 1}));
  }
  window.reset();  // the server counts what a connection did at its end
  ASSERT_TRUE(Eventually(milliseconds(20'000), [&] {
    Sql("SELECT pg_stat_clear_snapshot()");
    return counted("n_tup_upd") - updates >= kIds;
  }));
  EXPECT_LT(counted(read) - reads, 20 * kIds);
}

// The same code writes through a user's own connection, and through the transaction of a run.
TEST_F(PostgresWindowTest, AConnectionOfTheUsersOwnIsASession) {
  const std::string_view name = "b";
  const auto add = [&](SqlSession& session) {
    return session.Run(
        {"UPDATE accounts SET cents = cents + $1 WHERE name = $2", {int64_t{5}, name}});
  };
  const std::unique_ptr<PGconn, void (*)(PGconn*)> own(
      PQconnectdb(("postgresql" + server_->url().substr(8)).c_str()), PQfinish);
  LibpqSession session(own.get());
  EXPECT_EQ(add(session)->affected, 1u);
  const auto window = Open();
  const std::vector<ClaimRequest> claims{Request("x")};
  ASSERT_EQ(Claim(*window, claims[0]), ClaimVerdict::kGranted);
  const auto effects = Effects(*window, claims);
  effects->Begin();
  EXPECT_EQ(add(*effects->sql())->affected, 1u);
  ASSERT_TRUE(effects->Keep());
  EXPECT_EQ(*Complete(*window, *effects, claims[0]), MarkerChange::kMade);
  EXPECT_EQ(session.Run({"SELECT cents FROM accounts WHERE name = 'b'"})->rows[0][0], "10");
}

TEST_F(PostgresWindowTest, WhatIsMissingIsSaidWithItsRemedy) {
  auto options = Options(Level::kGuarded);
  options.schema = "elsewhere";
  const auto missing = OpenPostgresWindow(server_->url(), options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kInvalid);
  EXPECT_NE(missing.error().message.find("oncemq store migrate"), std::string::npos)
      << missing.error().message;
  EXPECT_FALSE(PostgresWindowSchema("no;schema"));
  static_cast<void>(Open(Level::kGuarded));
  const auto other = OpenPostgresWindow(server_->url(), Options(Level::kOpaque));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalid) << "another level is another scope";
}

}  // namespace
}  // namespace oncemq::testing
