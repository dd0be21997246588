// SPDX-License-Identifier: Apache-2.0
// Values of a handler's statements in PostgreSQL: each type and NULL, run and added, through the
// transaction with the markers; text that PostgreSQL does not take; and whose fault a refusal is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "libpq/libpq_session.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kInsert =
    "INSERT INTO kinds (t, b, n, at, j, jb, d, u, f, i, r) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
constexpr std::string_view kShow = "SELECT t, b, n, at, j, jb, d, u, f, i, r FROM kinds";
// Not in its place, where the server's answer would be of the session's time zone.
constexpr std::string_view kZone = "SELECT set_config('TimeZone', 'UTC', false)";

class PostgresValues : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static const auto server = PostgresServer::Start();
    url_ = server->url();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(url_), {}, 1);
    ASSERT_TRUE(MigratePostgresWindow(url_, "oncemq"));
    Sql({"DROP TABLE IF EXISTS kinds"});
    Sql(
        {"CREATE TABLE kinds (t text, b bool, n numeric(12, 2), at timestamptz, j json, jb jsonb, "
         "d date, u uuid, f double precision, i bigint, r bytea)"});
    PostgresWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = Level::kAtomic;
    window_ = *OpenPostgresWindow(url_, options);
  }
  SqlAnswer Sql(const SqlStatement& statement) {
    auto answer = client_->Run(statement);
    EXPECT_TRUE(answer) << statement.text << ": " << ToString(answer.error());
    return answer ? *std::move(answer) : SqlAnswer{};
  }
  SqlRow Row(const SqlStatement& statement) {
    const SqlAnswer answer = Sql(statement);
    return answer.rows.size() == 1 ? answer.rows[0] : SqlRow{"there is not one row"};
  }
  SqlCell One(const SqlStatement& statement) { return Row(statement)[0]; }
  SqlRow Shown() {
    Sql({kZone});
    return Row({kShow});
  }
  // Claims of one run, granted.
  std::vector<ClaimRequest> Claims(int count) {
    std::vector<ClaimRequest> claims;
    for (int i = 0; i < count; i++) {
      const uint64_t number = ++claimed_;
      claims.push_back({.id = ids_.emplace_back(std::to_string(number)),
                        .token = {7, number},
                        .at = {0, 3, static_cast<int64_t>(number)},
                        .time = LogTime(milliseconds(1'600'000'000'000))});
    }
    std::vector<ClaimAnswer> answers(claims.size());
    EXPECT_TRUE(window_->Claim(claims, answers));
    return claims;
  }
  void Complete(EffectBatch& effects, const ClaimRequest& claim) {
    const CompleteRequest request{
        .id = claim.id, .token = claim.token, .at = claim.at, .time = claim.time};
    MarkerChange change{};
    const Status done = window_->CompleteWith(effects, {&request, 1}, {&change, 1});
    EXPECT_TRUE(done) << ToString(done.error());
    EXPECT_EQ(change, MarkerChange::kMade);
  }
  // One message whose statement is this one.
  void Message(const SqlStatement& statement, bool added) {
    const auto claims = Claims(1);
    const auto effects = *window_->NewEffects(0, 3, claims);
    effects->Begin();
    if (added) {
      EXPECT_TRUE(effects->sql()->Add(statement));
    } else {
      const auto answer = effects->sql()->Run(statement);
      EXPECT_TRUE(answer) << ToString(answer.error());
    }
    EXPECT_TRUE(effects->Keep());
    Complete(*effects, claims[0]);
  }

  std::string url_;
  std::unique_ptr<SqlClient> client_;
  std::unique_ptr<Window> window_;
  std::deque<std::string> ids_;
  uint64_t claimed_ = 0;
};

const SqlRow kAsWritten{"it's $1 \xC3\xA4",
                        "t",
                        "1234567890.50",
                        "2026-11-27 03:04:05.123456+00",
                        R"({"b": 1, "a": null})",
                        R"({"a": null, "b": 1})",
                        "2026-02-28",
                        "6f9619ff-8b86-d011-b42d-00c04fc964ff",
                        "0.1",
                        "-9223372036854775808",
                        std::string("\0\xff", 2)};

TEST_F(PostgresValues, EachComesBackFromItsColumn) {
  for (const bool added : {false, true}) {
    Sql({"DELETE FROM kinds"});
    {
      const std::string text = "it's $1 \xC3\xA4";  // gone before an added statement is sent
      const std::string bytes("\0\xff", 2);
      const auto claims = Claims(1);
      const auto effects = *window_->NewEffects(0, 3, claims);
      effects->Begin();
      {
        std::string amount = "1234567890.50";
        const SqlStatement insert{
            kInsert,
            {SqlText{text}, true, SqlText{amount}, SqlText{"2026-11-27T05:04:05.123456+02:00"},
             SqlText{R"({"b": 1, "a": null})"}, SqlText{R"({"b": 1, "a": null})"},
             SqlText{"2026-02-28"}, SqlText{"6F9619FF-8B86-D011-B42D-00C04FC964FF"}, SqlText{"0.1"},
             std::numeric_limits<int64_t>::min(), std::string_view(bytes)}};
        EXPECT_TRUE(added ? effects->sql()->Add(insert).has_value()
                          : effects->sql()->Run(insert).has_value());
        amount = "0";
      }
      EXPECT_TRUE(effects->Keep());
      Complete(*effects, claims[0]);
    }
    EXPECT_EQ(Shown(), kAsWritten) << added;
    EXPECT_EQ(
        One({"SELECT count(*) FROM kinds WHERE t = $1 AND b = $2 AND n = $3 AND at = $4",
             {SqlText{*kAsWritten[0]}, true, SqlText{"1234567890.5"}, SqlText{*kAsWritten[3]}}}),
        "1")
        << "also where they are compared";
  }
}

TEST_F(PostgresValues, NullIsNullOfEachType) {
  const std::vector<SqlValue> nulls(11, nullptr);
  for (const bool added : {false, true}) {
    Sql({"DELETE FROM kinds"});
    Message({kInsert, nulls}, added);
    EXPECT_EQ(Shown(), SqlRow(11)) << added;
  }
}

// A connection keeps what it has prepared; it is asked here by one connection, in both orders.
TEST_F(PostgresValues, OneTextTakesValuesAndNullsInTurn) {
  const std::string_view insert = "INSERT INTO kinds (t, b, i, r) VALUES ($1, $2, $3, $4)";
  const std::vector<SqlValue> all{SqlText{"x"}, false, int64_t{7}, std::string_view("r")};
  for (size_t begin : {0, 1}) {
    for (size_t i = begin; i < begin + 6; i++) {
      Sql({"DELETE FROM kinds"});
      std::vector<SqlValue> values = all;
      SqlRow shown{"x", "f", "7", "r"};
      for (size_t at = 0; at < values.size(); at++) {
        if ((i + at) % 2 == 0) {
          values[at] = nullptr;
          shown[at] = std::nullopt;
        }
      }
      Sql({insert, values});
      EXPECT_EQ(Sql({"SELECT t, b, i, r FROM kinds"}).rows, std::vector<SqlRow>{shown});
    }
  }
  for (int i = 0; i < 2; i++) {
    const std::string_view type = "SELECT pg_typeof($1)";
    EXPECT_EQ(One({type, {int64_t{1}}}), "bigint");
    EXPECT_EQ(One({type, {true}}), "boolean");
    EXPECT_EQ(One({type, {std::string_view("t")}}), "bytea");
  }
}

TEST_F(PostgresValues, ManyListsOfTypesInOnePipelineArePreparedForEach) {
  const std::string_view insert = "INSERT INTO kinds (t, i) VALUES ($1, $2)";
  std::vector<SqlStatement> all;
  for (int i = 0; i < 8; i++) {
    all.push_back({insert,
                   {i % 2 == 0 ? SqlValue(nullptr) : SqlValue(SqlText{"x"}),
                    i % 4 < 2 ? SqlValue(nullptr) : SqlValue(int64_t{i})}});
  }
  const auto outcome = client_->Try(all);
  ASSERT_TRUE(outcome) << ToString(outcome.error());
  EXPECT_FALSE(outcome->refusal) << outcome->refusal->text;
  EXPECT_EQ(Row({"SELECT count(*), count(t), count(i), sum(i) FROM kinds"}),
            (SqlRow{"8", "4", "4", "18"}));
}

// It costs its message, and not the run.
TEST_F(PostgresValues, BinaryTextIsRefusedWithItsReason) {
  struct Case {
    std::string_view text;
    const char* why;
  };
  for (const Case& one : {Case{std::string_view("a\0b", 3), "$2 is text with a byte 0"},
                          Case{std::string_view("\0", 1), "send it as bytes"},
                          Case{"\xff", "invalid byte sequence"}}) {
    Sql({"DELETE FROM kinds"});
    const SqlStatement insert{"INSERT INTO kinds (i, t) VALUES ($1, $2)",
                              {int64_t{1}, SqlText{one.text}}};
    const auto claims = Claims(2);
    const auto effects = *window_->NewEffects(0, 3, claims);
    effects->Begin();
    const auto refused = effects->sql()->Run(insert);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid) << "a reason to reject it";
    EXPECT_THAT(refused.error().message, HasSubstr(one.why));
    EXPECT_EQ(effects->refusal(), refused.error().message);
    EXPECT_FALSE(effects->Keep());
    EXPECT_EQ(effects->refusal(), "");
    effects->Begin();
    ASSERT_TRUE(effects->sql()->Run({"INSERT INTO kinds (i) VALUES (2)"}));
    ASSERT_TRUE(effects->Keep());
    Complete(*effects, claims[1]);
    EXPECT_EQ(One({"SELECT string_agg(i::text, ' ') FROM kinds"}), "2");
  }
}

TEST_F(PostgresValues, AddedTextWithAByteZeroIsRefusedAtOnce) {
  const auto claims = Claims(1);
  const auto effects = *window_->NewEffects(0, 3, claims);
  effects->Begin();
  const Status added = effects->sql()->Add(
      {"INSERT INTO kinds (t) VALUES ($1)", {SqlText{std::string_view("a\0b", 3)}}});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kInvalid);
  EXPECT_FALSE(effects->Keep());
}

// The next message did nothing wrong: it has no reason to be rejected, and its error says whose
// fault it is.
TEST_F(PostgresValues, ARefusedAdditionIsTheFaultOfItsOwnMessage) {
  const char* const whose = "added by the second in attempt 3 is refused: ";
  const std::string_view insert = "INSERT INTO kinds (n) VALUES ($1)";
  for (const bool run : {false, true}) {
    const auto claims = Claims(5);
    const auto effects = *window_->NewEffects(0, 3, claims);
    for (const char* id : {"the first", "the second", "the third"}) {
      const bool wrong = std::string_view(id) == "the second";
      effects->BeginMessage(id, wrong ? 3 : 1);
      EXPECT_TRUE(effects->sql()->Add({insert, {SqlText{"1"}}}));
      EXPECT_TRUE(effects->sql()->Add({insert, {SqlText{wrong ? "one" : "2"}}}));
      EXPECT_TRUE(effects->Keep());
    }
    for (const char* id : {"the fourth", "the fifth"}) {
      effects->BeginMessage(id, 1);
      if (run) {
        const auto refused = effects->sql()->Run({"SELECT 1"});
        ASSERT_FALSE(refused) << id;
        EXPECT_EQ(refused.error().code, Code::kUnavailable) << id;
        EXPECT_THAT(refused.error().message, HasSubstr(whose)) << id;
        EXPECT_FALSE(effects->Keep());
      } else {
        EXPECT_TRUE(effects->Keep());
      }
    }
    const CompleteRequest request{
        .id = claims[0].id, .token = claims[0].token, .at = claims[0].at, .time = claims[0].time};
    MarkerChange change{};
    const Status done = window_->CompleteWith(*effects, {&request, 1}, {&change, 1});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kInvalid) << "each comes again alone";
    EXPECT_THAT(done.error().message, HasSubstr(whose));
  }
  EXPECT_EQ(One({"SELECT count(*) FROM kinds"}), "0");
}

TEST_F(PostgresValues, TheClientSendsNoTextThatItWouldCut) {
  const auto cut = client_->Run({"SELECT $1::text", {SqlText{std::string_view("a\0b", 3)}}});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::kInvalid);
  EXPECT_EQ(cut.error().effect, Effect::kNone);
  EXPECT_EQ(One({"SELECT $1::text", {SqlText{""}}}), "");
}

TEST_F(PostgresValues, AConnectionOfTheUsersOwnTakesThemToo) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> own(
      PQconnectdb(("postgresql" + url_.substr(8)).c_str()), PQfinish);
  LibpqSession session(own.get());
  const SqlStatement requests{
      "SELECT $1::text, $2::numeric, $3::bool, $4::bigint, $5::bytea IS NULL",
      {SqlText{"x"}, SqlText{"1.50"}, false, int64_t{7}, nullptr}};
  EXPECT_EQ(session.Run(requests)->rows[0], (SqlRow{"x", "1.50", "f", "7", "t"}));
  EXPECT_FALSE(session.Run({"SELECT $1::text", {SqlText{std::string_view("\0", 1)}}}));
}

}  // namespace
}  // namespace oncemq::testing
