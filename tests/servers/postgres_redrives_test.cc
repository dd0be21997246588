// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL and parked ids: records that run once more at the level atomic, and
// parking while a new owner takes the partition.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "support/eventually.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

constexpr uint64_t kEntry = 77;

class PostgresRedrivesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    server_ = server.get();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    Sql("DROP TABLE IF EXISTS effects");
    Sql("CREATE TABLE effects (id text)");
  }
  std::unique_ptr<Window> Open(Level level = Level::kAtomic) {
    PostgresWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = level;
    auto window = OpenPostgresWindow(server_->url(), options);
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  std::string Sql(std::string_view text) {
    const auto answer = client_->Run({text});
    EXPECT_TRUE(answer) << text << ": " << ToString(answer.error());
    return answer && !answer->rows.empty() ? answer->rows[0][0].value_or("") : "";
  }
  ClaimRequest Request(std::string_view id, uint64_t parked_entry = 0) {
    return {.id = id, .token = {7, ++tokens_}, .at = {0, 3, 5}, .parked_entry = parked_entry};
  }
  static ClaimAnswer Claim(Window& window, const ClaimRequest& request) {
    ClaimAnswer answer;
    EXPECT_TRUE(window.Claim({&request, 1}, {&answer, 1}));
    return answer;
  }
  static MarkerChange Park(Window& window, const ClaimRequest& claim) {
    const ParkRequest request{claim.id, claim.token, kEntry, claim.at, claim.owner_epoch};
    MarkerChange change{};
    const Status parked = window.Park({&request, 1}, {&change, 1});
    EXPECT_TRUE(parked) << ToString(parked.error());
    return change;
  }
  void AddParked(Window& window, std::string_view id) {
    const ClaimRequest claim = Request(id);
    EXPECT_EQ(Claim(window, claim).answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Park(window, claim), MarkerChange::kMade);
  }
  std::vector<ClaimRequest> Redrive(Window& window, const std::vector<std::string_view>& ids) {
    std::vector<ClaimRequest> claims;
    for (const std::string_view id : ids) {
      claims.push_back(Request(id, kEntry));
      EXPECT_EQ(Claim(window, claims.back()).answer, ClaimVerdict::kGranted);
    }
    return claims;
  }
  static void Do(EffectBatch& effects, std::string_view id, bool live) {
    const SqlStatement insert{"INSERT INTO effects VALUES ($1)", {id}};
    effects.Begin();
    const bool did =
        live ? effects.sql()->Run(insert).has_value() : effects.sql()->Add(insert).has_value();
    if (!effects.Keep() || !did) {
      effects.Undo();
    }
  }
  static MarkerChange Complete(Window& window, EffectBatch& effects, const ClaimRequest& claim) {
    const CompleteRequest request{.id = claim.id, .token = claim.token, .at = claim.at};
    MarkerChange change{};
    const Status done = window.CompleteWith(effects, {&request, 1}, {&change, 1});
    EXPECT_TRUE(done) << ToString(done.error());
    return change;
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<SqlClient> client_;
  uint64_t tokens_ = 0;
};

TEST_F(PostgresRedrivesTest, ARecordThatIsNotFinishedStaysParkedWhateverItsBatchDoes) {
  const auto window = Open();
  for (const bool live : {true, false}) {
    const std::string done = live ? "done live" : "done";
    const std::string fails = live ? "fails live" : "fails";
    AddParked(*window, done);
    AddParked(*window, fails);
    std::vector<ClaimRequest> claims = Redrive(*window, {done, fails});
    const std::string fresh = "fresh " + done;
    claims.push_back(Request(fresh));
    const auto effects = *window->NewEffects(0, 3, claims);
    Do(*effects, done, live);
    EXPECT_EQ(Claim(*window, Request(fails)).answer, ClaimVerdict::kAttached) << "meanwhile";
    EXPECT_EQ(Complete(*window, *effects, claims[0]), MarkerChange::kMade);
    EXPECT_EQ(Claim(*window, Request(done)).answer, ClaimVerdict::kDuplicate);
    const ClaimAnswer copy = Claim(*window, Request(fails));
    EXPECT_EQ(copy.answer, ClaimVerdict::kAttached);
    EXPECT_EQ(copy.entry, kEntry);
    EXPECT_EQ(Claim(*window, claims[2]).answer, ClaimVerdict::kGranted) << "it has no marker";
    const std::vector<ClaimRequest> again = Redrive(*window, {fails});
    const auto last = *window->NewEffects(0, 3, again);
    Do(*last, fails, live);
    EXPECT_EQ(Complete(*window, *last, again[0]), MarkerChange::kMade);
    EXPECT_EQ(Claim(*window, Request(fails)).answer, ClaimVerdict::kDuplicate);
  }
  EXPECT_EQ(Sql("SELECT count(*) FROM effects"), "4");
}

TEST_F(PostgresRedrivesTest, ABatchThatIsLostLeavesItsRecordsParked) {
  const auto window = Open();
  AddParked(*window, "x");
  const std::vector<ClaimRequest> claims = Redrive(*window, {"x"});
  {
    const auto effects = *window->NewEffects(0, 3, claims);
    Do(*effects, "x", /*live=*/true);
  }
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return Claim(*window, Request("x")).answer == ClaimVerdict::kAttached;
  }));
  EXPECT_EQ(Sql("SELECT count(*) FROM effects"), "0");
}

TEST_F(PostgresRedrivesTest, ARecordIsNotFinishedUnderTheNumberOfALaterOne) {
  const auto window = Open();
  AddParked(*window, "x");
  const std::vector<ClaimRequest> claims = Redrive(*window, {"x"});
  const std::string_view id = "x";
  MarkerChange change{};
  ASSERT_TRUE(window->ForgetByHand({&id, 1}, {&change, 1}));
  const ClaimRequest later = Request("x");
  EXPECT_EQ(Claim(*window, later).answer, ClaimVerdict::kGranted);
  const ParkRequest park{later.id, later.token, kEntry + 1, later.at};
  ASSERT_TRUE(window->Park({&park, 1}, {&change, 1}));
  const auto effects = *window->NewEffects(0, 3, claims);
  Do(*effects, "x", /*live=*/false);
  EXPECT_EQ(Complete(*window, *effects, claims[0]), MarkerChange::kFenced);
  EXPECT_EQ(Claim(*window, Request("x")).entry, kEntry + 1);
}

TEST_F(PostgresRedrivesTest, OfTwoRunsOfARecordOneHasItsEffect) {
  for (const bool live : {true, false}) {
    const std::string id = live ? "live" : "added";
    const auto first = Open();
    const auto second = Open();
    AddParked(*first, id);
    const std::vector<ClaimRequest> one = Redrive(*first, {id});
    const std::vector<ClaimRequest> other = Redrive(*second, {id});
    const auto effects = *first->NewEffects(0, 3, one);
    Do(*effects, id, /*live=*/true);
    MarkerChange late = MarkerChange::kMade;
    std::thread run([&] {
      const auto again = *second->NewEffects(0, 3, other);
      Do(*again, id, live);
      late = Complete(*second, *again, other[0]);
    });
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      return Sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1";
    })) << "the other one waits for the first transaction";
    EXPECT_EQ(Complete(*first, *effects, one[0]), MarkerChange::kMade);
    run.join();
    EXPECT_EQ(late, MarkerChange::kFenced);
    EXPECT_EQ(Claim(*second, Request(id)).answer, ClaimVerdict::kDuplicate);
  }
  EXPECT_EQ(Sql("SELECT count(*) FROM effects"), "2");
}

// A new owner reads the records of parked messages once it has raised: none is parked after that.
TEST_F(PostgresRedrivesTest, NoOwnershipIsRaisedWhileItsFormerOwnerParks) {
  const auto former = Open(Level::kGuarded);
  const auto next = Open(Level::kGuarded);
  ClaimRequest claim = Request("x");
  claim.owner_epoch = *former->RaiseOwnerEpoch(0, 3, 0);
  EXPECT_EQ(Claim(*former, claim).answer, ClaimVerdict::kGranted);
  const auto other = client_->Begin();
  ASSERT_TRUE((*other)->Run({"SELECT FROM oncemq.window_ids FOR UPDATE"}));
  MarkerChange parked = MarkerChange::kFenced;
  std::thread parking([&] { parked = Park(*former, claim); });
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return Sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1";
  })) << "it waits for the row";
  const auto raised = next->RaiseOwnerEpoch(0, 3, 0);
  (*other)->Rollback();
  parking.join();
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().code, Code::kUnavailable) << "it is asked again";
  EXPECT_EQ(parked, MarkerChange::kMade);
  EXPECT_TRUE(next->RaiseOwnerEpoch(0, 3, 0));
}

}  // namespace
}  // namespace oncemq::testing
