// SPDX-License-Identifier: Apache-2.0
// What a window in PostgreSQL forgets, and when: old stamps at the level atomic, processes that ask
// for different times, and a look that keeps no id from ageing.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "oncemq/dedup/store_stat.h"
#include "remember_scenarios.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

constexpr LogTime kOld{milliseconds(1'600'000'000'000)};
constexpr milliseconds kRemember{3'600'000};

class PostgresAgeing : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    server_ = server.get();
    ASSERT_TRUE(MigratePostgresWindow(server_->url(), "oncemq"));
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    Sql("CREATE TABLE IF NOT EXISTS effects (id bytea)");
  }
  static PostgresWindowOptions Options(milliseconds remember = kRemember,
                                       milliseconds skew = milliseconds(0)) {
    PostgresWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = Level::kAtomic;
    options.remember = remember;
    options.skew = skew;
    return options;
  }
  std::unique_ptr<Window> Open(const PostgresWindowOptions& options) {
    auto window = OpenPostgresWindow(server_->url(), options);
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  SqlAnswer Sql(std::string_view text) {
    auto answer = client_->Run({text});
    EXPECT_TRUE(answer) << text << ": " << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  OpenScope Opener(Level level) const {
    return [this, level](const RememberTimes& times, bool existing_only) {
      auto options = Options(times.remember, times.skew);
      options.level = level;
      options.existing_only = existing_only;
      return OpenPostgresWindow(server_->url(), options);
    };
  }
  ClaimVerdict Claim(Window& window, std::string_view id, int64_t offset,
                     ClaimRequest* sent = nullptr) {
    const ClaimRequest claim{
        .id = id, .token = {7, ++tokens_}, .at = {0, 3, offset}, .time = kOld, .first = true};
    ClaimAnswer answer;
    EXPECT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    if (sent != nullptr) {
      *sent = claim;
    }
    return answer.answer;
  }
  // `live`: by a statement that opens the transaction; else with its COMMIT.
  void Apply(Window& window, std::string_view id, int64_t offset, bool live) {
    ClaimRequest claim;
    ASSERT_EQ(Claim(window, id, offset, &claim), ClaimVerdict::kGranted);
    const auto effects = *window.NewEffects(0, 3, {&claim, 1});
    const SqlStatement insert{"INSERT INTO effects VALUES ($1)", {id}};
    effects->Begin();
    ASSERT_TRUE(live ? effects->sql()->Run(insert).has_value()
                     : effects->sql()->Add(insert).has_value());
    ASSERT_TRUE(effects->Keep());
    const CompleteRequest done{.id = id, .token = claim.token, .at = claim.at, .time = claim.time};
    MarkerChange change = MarkerChange::kFenced;
    ASSERT_TRUE(window.CompleteWith(*effects, {&done, 1}, {&change, 1}));
    ASSERT_EQ(change, MarkerChange::kMade);
  }
  static void Commit(Window& window, OwnerEpoch owner_epoch, int64_t frontier, LogTime watermark) {
    const Progress progress{
        .partition = 3, .owner_epoch = owner_epoch, .frontier = frontier, .watermark = watermark};
    MarkerChange change = MarkerChange::kFenced;
    ASSERT_TRUE(window.Committed({&progress, 1}, {&change, 1}));
    ASSERT_EQ(change, MarkerChange::kMade);
  }

  // The version of each row, and its last lock.
  std::string Versions(const std::string& scope) {
    const SqlAnswer answer =
        Sql("SELECT string_agg(concat_ws('/', m.ctid, m.xmin, m.xmax, m.filed), ' ' ORDER BY m.id) "
            "FROM oncemq.window_ids AS m JOIN oncemq.window_scopes AS s USING (scope) "
            "WHERE s.name = '" +
            scope + "'");
    return answer.rows.empty() ? "" : answer.rows[0][0].value_or("");
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<SqlClient> client_;
  uint64_t tokens_ = 0;
};

// Rule 22: a producer sends after an outage what is older than the window.
TEST_F(PostgresAgeing, AnEffectWithAnOldStampHappensOnce) {
  const auto window = Open(Options());
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  const LogTime watermark = kOld + 100 * kRemember;
  Commit(*window, owner_epoch, 1, watermark);
  Apply(*window, "run", 1, /*live=*/true);
  Apply(*window, "added", 2, /*live=*/false);
  Commit(*window, owner_epoch, 3, watermark + kRemember);
  EXPECT_EQ(window->DropAged(std::chrono::seconds(20)).value_or(9), 0u);
  EXPECT_EQ(Claim(*window, "run", 5), ClaimVerdict::kDuplicate);
  EXPECT_EQ(Claim(*window, "added", 6), ClaimVerdict::kDuplicate);
}

TEST_F(PostgresAgeing, AJudgeLeavesEachRowAsItIs) {
  for (const Level level : {Level::kGuarded, Level::kOpaque, Level::kAtomic}) {
    auto options = Options();
    options.scope += ToString(level);
    options.level = level;
    const auto window = Open(options);
    ClaimRequest claim;
    ASSERT_EQ(Claim(*window, "done", 5, &claim), ClaimVerdict::kGranted);
    const CompleteRequest done{.id = "done", .token = claim.token, .at = claim.at, .time = kOld};
    MarkerChange change{};
    ASSERT_TRUE(window->Complete({&done, 1}, {&change, 1}));
    ASSERT_EQ(Claim(*window, "open", 6), ClaimVerdict::kGranted);
    const std::string versions = Versions(options.scope);
    std::vector<ClaimRequest> copies;
    for (const char* id : {"done", "open", "new"}) {
      copies.push_back({.id = id,
                        .token = {7, ++tokens_},
                        .at = {0, 3, 7},
                        .time = kOld + kRemember,
                        .copies_until = kOld + 2 * kRemember});
    }
    std::vector<ClaimAnswer> answers(copies.size());
    ASSERT_TRUE(window->Judge(copies, answers));
    EXPECT_EQ(answers[0].answer, ClaimVerdict::kDuplicate);
    EXPECT_EQ(answers[2].answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Versions(options.scope), versions);
    ASSERT_TRUE(window->Claim(copies, answers));
    EXPECT_NE(Versions(options.scope), versions) << "a claim is seen";
  }
}

TEST_F(PostgresAgeing, ARecordOfAnUncertainCallGoesAfterThirtyDays) {
  auto options = Options();
  options.level = Level::kOpaque;
  const auto window = Open(options);
  const std::vector<UncertainCall> calls{{"old", {0, 3, 1}, 2}, {"late", {0, 3, 2}, 2}};
  ASSERT_TRUE(window->RecordUncertain(calls));
  Sql("UPDATE oncemq.window_uncertain SET last = last - 31 * 86400000::bigint WHERE id = 'old'");
  Commit(*window, *window->RaiseOwnerEpoch(0, 3, 0), 1, kOld);
  const auto left = window->ListUncertain({});
  ASSERT_TRUE(left) << ToString(left.error());
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->front().id, "late");
}

TEST_F(PostgresAgeing, AProcessThatAsksForShorterTimesIsRefused) {
  ExpectShorterTimesAreRefused(Opener(Level::kAtomic));
}

TEST_F(PostgresAgeing, LongerTimesHoldForAllProcesses) {
  ExpectLongerTimesHoldForAll(Opener(Level::kGuarded));
}

TEST_F(PostgresAgeing, AScopeOfAnEarlierVersionTakesTheTimesOfItsFirstOpening) {
  const RememberTimes day{std::chrono::hours(24), milliseconds(0)};
  const OpenScope open = Opener(Level::kAtomic);
  ASSERT_TRUE(open({std::chrono::hours(168), milliseconds(0)}, false));
  Sql("UPDATE oncemq.window_scopes SET remember = NULL, skew = NULL");
  ASSERT_TRUE(open({milliseconds(1), milliseconds(0)}, true));
  EXPECT_EQ(InForce(**open(day, false)), day) << "not those of a look";
  EXPECT_FALSE(open({std::chrono::hours(1), milliseconds(0)}, false));
}

}  // namespace
}  // namespace oncemq::testing
