// SPDX-License-Identifier: Apache-2.0
// The commands `check`, `store migrate`, `window show` and `window stat` with a real PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "server_window_fixture.h"
#include "support/loopback_port.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WindowCommand : public ServerWindowFixture {
 protected:
  static void SetUpTestSuite() {
    if (!PostgresServer::Missing()) {
      server_ = PostgresServer::Start();
    }
  }
  static void TearDownTestSuite() { server_.reset(); }

  // Each test has a schema of its own.
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    static int tests = 0;
    schema_ = "test_" + std::to_string(++tests);
  }

  std::string FileAt(const std::string& at) const {
    return FileWith("postgres", at, "  schema: " + schema_ + "\n");
  }
  std::string File() const { return FileAt(server_->url()); }
  // By a role of its own, with the password "secret".
  std::string UrlOf(const std::string& role) const {
    std::string url = server_->url();
    return url.replace(url.find("oncemq:"), 6, role);
  }

  void Sql(const std::string& statement) const {
    const auto client = OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    const auto done = (*client)->Run({statement});
    ASSERT_TRUE(done.has_value()) << statement << ": " << ToString(done.error());
  }

  std::unique_ptr<Window> Opened(Level level = Level::kOpaque) const {
    auto window = OpenPostgresWindow(server_->url(),
                                     {.schema = schema_, .scope = kCommandScope, .level = level});
    EXPECT_TRUE(window.has_value()) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }

  static std::unique_ptr<PostgresServer> server_;
  std::string schema_;
};

std::unique_ptr<PostgresServer> WindowCommand::server_;

TEST_F(WindowCommand, CheckLeadsToAWindowThatOpens) {
  const LoopbackPort nobody;
  ExpectCheckReports(FileAt(PostgresServer::UrlAt(nobody.number())), 6, "Connection refused");
  std::string wrong = server_->url();
  wrong.replace(wrong.find(":secret"), 7, ":wrong");
  ExpectCheckReports(FileAt(wrong), 2, "password authentication failed");
  ExpectCheckReports(File(), 2,
                     "the schema \"" + schema_ +
                         "\" has no tables of a window; `oncemq store migrate` makes them");
  const Ended migrated = Run("store migrate -c " + File());
  EXPECT_EQ(migrated.code, 0) << migrated.err;
  EXPECT_EQ(migrated.out, "the tables of the window are in the schema " + schema_ + "\n");
  EXPECT_THAT(migrated.err, HasSubstr("\"result\":\"done\""));
  const Ended good = Run("check " + File());
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("is accepted; its database answers. In force:"));
  EXPECT_THAT(good.out, Not(HasSubstr("secret")));
  EXPECT_EQ(Run("store migrate -c " + File()).code, 0) << "twice changes nothing";
}

TEST_F(WindowCommand, CheckMakesNothing) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  EXPECT_EQ(Run("check " + File()).code, 0);
  const auto client = OpenPostgres(*ParsePostgresEndpoint(server_->url()));
  const auto scopes = (*client)->Run({"SELECT count(*) FROM " + schema_ + ".window_scopes"});
  ASSERT_TRUE(scopes.has_value());
  EXPECT_EQ(scopes->rows[0][0], "0") << "another level may still be chosen";
}

TEST_F(WindowCommand, CheckTellsWhatTheServiceWouldMeet) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  const std::string role = "role_" + schema_;
  Sql("CREATE ROLE " + role + " LOGIN PASSWORD 'secret'");
  ExpectCheckReports(FileAt(UrlOf(role)), 2, "permission denied for schema " + schema_);
  Sql("GRANT USAGE ON SCHEMA " + schema_ + " TO " + role);
  ExpectCheckReports(FileAt(UrlOf(role)), 2, "permission denied for table window_version");
  Sql("GRANT SELECT ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role);
  ExpectCheckReports(FileAt(UrlOf(role)), 2,
                     "the role of the address lacks the right INSERT on window_scopes");
  Sql("GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role);
  ExpectCheckReports(FileAt(UrlOf(role)), 2, "lacks the right DELETE on window_ids");
  Sql("GRANT DELETE ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role);
  EXPECT_EQ(Run("check " + FileAt(UrlOf(role))).code, 0);
  Sql("ALTER ROLE " + role + " SET default_transaction_read_only = on");
  ExpectCheckReports(FileAt(UrlOf(role)), 6, "read-only");
  Sql("UPDATE " + schema_ + ".window_version SET version = 99");
  ExpectCheckReports(File(), 2, "are of version 99; this program knows version 2");
}

TEST_F(WindowCommand, CheckTellsThatTheWindowHasAnotherLevel) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ASSERT_TRUE(Opened(Level::kGuarded));
  ExpectCheckReports(File(), 2, "was made at level guarded, not opaque");
}

TEST_F(WindowCommand, MigrateTakesTheAddressFromTheEnvironment) {
  const std::string environment = "ONCEMQ_WINDOW='" + server_->url() + "' '" ONCEMQ_PROGRAM "' ";
  const auto run = [&](const std::string& arguments) {
    Process process(
        {.command = {"/bin/sh", "-c", environment + arguments + " >'" + out_.string() + "' 2>&1"}});
    return process.Wait(std::chrono::seconds(30)).value_or(-1);
  };
  EXPECT_EQ(run("store migrate --schema " + schema_), 0) << ReadAll(out_);
  EXPECT_THAT(ReadAll(out_),
              AllOf(HasSubstr("in the schema " + schema_), Not(HasSubstr("secret"))));
  EXPECT_EQ(Run("check " + File()).code, 0);
  const std::string role = "maker_" + schema_;
  Sql("CREATE ROLE " + role + " LOGIN PASSWORD 'secret'");
  schema_ += "_more";
  const Ended refused = Run("store migrate -c " + FileAt(UrlOf(role)));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("permission denied for database"));
}

TEST_F(WindowCommand, AServiceThatStartsWaitsForTheDatabase) {
  const auto server = PostgresServer::Start();
  ASSERT_TRUE(MigratePostgresWindow(server->url(), schema_));
  server->Kill9();
  ExpectRunWaitsFor(*server, FileAt(server->url()));
}

TEST_F(WindowCommand, AFinishedIdIsForgottenByHandAndAnOpenOneIsNot) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ExpectForgottenOnceFinished(*Opened(), File());
}

TEST_F(WindowCommand, OnlyAnOperatorShortensWhatAScopeRemembers) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ExpectOnlyAnOperatorShortens(*Opened(), [&](const std::string& times) {
    return FileWith("postgres", server_->url(), "  schema: " + schema_ + "\n" + times);
  });
}

TEST_F(WindowCommand, MigratePrintsWhatItApplies) {
  const Ended printed = Run("store migrate --print -c " + File());
  std::string rest = printed.out;
  for (size_t end = rest.find(";\n"); end != std::string::npos; end = rest.find(";\n")) {
    Sql(rest.substr(0, end));
    rest.erase(0, end + 2);
  }
  EXPECT_EQ(Run("check " + File()).code, 0) << printed.out;
}

TEST_F(WindowCommand, ShowAndStatReadTheDatabaseWithoutAService) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ExpectNothingToRead(File());
  ExpectShownAndCounted(
      *Opened(), File(),
      {.from = "# Read from the database, schema " + schema_ + ", scope " + kCommandScope + "\n",
       .begin = "schema " + schema_ + ", scope " + kCommandScope + "\n  1 ids, open 0, ",
       .json_from = "database"});
}

TEST_F(WindowCommand, AnOperationWhoseHolderWasKilledIsShownAsUncertain) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ExpectGateShowsASilentHolder(*Opened(), File());
}

// The command does not know how long the application keeps its operations.
TEST_F(WindowCommand, AnOperationThatAnOperatorCallsAppliedIsKnownForEver) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  const auto window = Opened();
  const std::string ref = "shop/" + std::string(64, 'a');
  const ClaimRequest claim{ref, {0xABC, 5}};
  ClaimAnswer answer;
  ASSERT_TRUE(window->Claim({&claim, 1}, {&answer, 1}));
  const ReleaseRequest unsure{ref, {0xABC, 5}, true};
  MarkerChange change;
  ASSERT_TRUE(window->Release({&unsure, 1}, {&change, 1}));
  const Ended resolved = Run("gate resolve " + ref + " --applied --json --why seen -c " + File());
  EXPECT_EQ(resolved.code, 0) << resolved.err;
  EXPECT_EQ(resolved.out, "{\"ref\":\"" + ref + "\",\"applied\":true}\n");
  // Without such a row it divides by zero.
  Sql("SELECT 1 / count(*) FROM " + schema_ + ".window_ids WHERE state = 2 AND ends > 9e18");
  const Ended unknown = Run("window forget x --json --why test -c " + File());
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(unknown.out.starts_with(R"({"id":"x","id_hex":"78","forgotten":false,"why":)"))
      << unknown.out;
  EXPECT_EQ(Run("window forget " + ref + " --json --why test -c " + File()).code, 0);
}

TEST_F(WindowCommand, ARoleThatMayOnlyReadMayLook) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ASSERT_NE(Opened(), nullptr);
  const std::string reader = "reader_" + schema_;
  Sql("CREATE ROLE " + reader + " LOGIN PASSWORD 'secret'");
  Sql("GRANT USAGE ON SCHEMA " + schema_ + " TO " + reader);
  Sql("GRANT SELECT ON ALL TABLES IN SCHEMA " + schema_ + " TO " + reader);
  const Ended read = Run("window stat -c " + FileAt(UrlOf(reader)));
  EXPECT_EQ(read.out, Run("window stat -c " + File()).out) << read.err;
  const Ended may_not = Run("window forget id-1 --why x -c " + FileAt(UrlOf(reader)));
  EXPECT_EQ(may_not.code, 2);
  EXPECT_THAT(may_not.err, HasSubstr("lacks the right"));
  constexpr char kAudited[] = "\"command\":\"gate resolve --applied\"";
  const std::string where = "--schema " + schema_ + " --scope " + kCommandScope;
  ExpectGateResolves("-c " + File(), 1, kAudited);
  OfferWindow(server_->url());
  ExpectGateResolves(where, 1, kAudited);
  OfferWindow(UrlOf(reader));
  ExpectGateShows(where);
  ExpectGateResolves(where, 2, "lacks the right");
  ExpectGateShows("-c " + FileAt(UrlOf(reader)));
  ExpectGateResolves("-c " + FileAt(UrlOf(reader)), 2, "lacks the right");
}

}  // namespace
}  // namespace oncemq::testing
