// SPDX-License-Identifier: Apache-2.0
// The commands `check`, `store migrate`, `window show` and `window stat` with a real PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/framework/admin.h"
#include "support/loopback_port.h"
#include "support/postgres_server.h"
#include "unit/cli/command_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// A service that only answers at its socket.
class IdleRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return {}; }
  RunReport Report() const override { return {}; }
  const std::string& guarantee() const override { return line_; }

 private:
  const std::string line_ = "opaque";
};

class WindowCommand : public Command {
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

  std::string FileAt(const std::string& at, const std::string& more = "") const {
    return Write(
        "kafka: {brokers: '127.0.0.1:1', group: payments}\ntopics: payments\n"
        "window:\n  engine: postgres\n  at: '" +
        at + "'\n  schema: " + schema_ +
        "\n  level: opaque\n  ids: crossing\n  id: {header: message-id}\n" + more);
  }
  std::string File(const std::string& more = "") const { return FileAt(server_->url(), more); }
  // By a role of its own, with the password "secret".
  std::string UrlOf(const std::string& role) const {
    std::string url = server_->url();
    return url.replace(url.find("oncemq:"), 6, role);
  }

  void Sql(const std::string& statement) const {
    const auto client = OpenPostgres(*ParsePostgresPlace(server_->url()));
    const auto done = (*client)->Run({statement});
    ASSERT_TRUE(done.has_value()) << statement << ": " << ToString(done.error());
  }

  // One line, on standard error, without the password.
  void ExpectCheckTells(const std::string& file, int code, const std::string& why) const {
    const Ended ended = Run("check " + file);
    EXPECT_EQ(ended.code, code) << why;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err,
                AllOf(StartsWith("`window`: "), HasSubstr(why), Not(HasSubstr("secret"))));
  }

  static std::unique_ptr<PostgresServer> server_;
  std::string schema_;
};

std::unique_ptr<PostgresServer> WindowCommand::server_;

TEST_F(WindowCommand, CheckLeadsToAWindowThatOpens) {
  const LoopbackPort nobody;
  ExpectCheckTells(FileAt(PostgresServer::UrlAt(nobody.number())), 6, "Connection refused");
  std::string wrong = server_->url();
  wrong.replace(wrong.find(":secret"), 7, ":wrong");
  ExpectCheckTells(FileAt(wrong), 2, "password authentication failed");
  ExpectCheckTells(File(), 2,
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
  const auto client = OpenPostgres(*ParsePostgresPlace(server_->url()));
  const auto scopes = (*client)->Run({"SELECT count(*) FROM " + schema_ + ".window_scopes"});
  ASSERT_TRUE(scopes.has_value());
  EXPECT_EQ(scopes->rows[0][0], "0") << "another level may still be chosen";
}

TEST_F(WindowCommand, CheckTellsWhatTheServiceWouldMeet) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  const std::string role = "role_" + schema_;
  Sql("CREATE ROLE " + role + " LOGIN PASSWORD 'secret'");
  ExpectCheckTells(FileAt(UrlOf(role)), 2, "permission denied for schema " + schema_);
  Sql("GRANT USAGE ON SCHEMA " + schema_ + " TO " + role);
  ExpectCheckTells(FileAt(UrlOf(role)), 2, "permission denied for table window_version");
  Sql("GRANT SELECT ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role);
  ExpectCheckTells(FileAt(UrlOf(role)), 2,
                   "the role of the address lacks the right INSERT on window_scopes");
  Sql("GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role);
  ExpectCheckTells(FileAt(UrlOf(role)), 2, "lacks the right DELETE on window_ids");
  Sql("GRANT DELETE ON ALL TABLES IN SCHEMA " + schema_ + " TO " + role);
  EXPECT_EQ(Run("check " + FileAt(UrlOf(role))).code, 0);
  Sql("ALTER ROLE " + role + " SET default_transaction_read_only = on");
  ExpectCheckTells(FileAt(UrlOf(role)), 6, "read-only");
  Sql("UPDATE " + schema_ + ".window_version SET version = 99");
  ExpectCheckTells(File(), 2, "are of version 99; this program knows version 1");
}

TEST_F(WindowCommand, CheckTellsThatTheWindowHasAnotherLevel) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  ASSERT_TRUE(OpenPostgresWindow(
      server_->url(),
      {.schema = schema_, .scope = "default/default/payments/default", .level = Level::kGuarded}));
  ExpectCheckTells(File(), 2, "was made at level guarded, not opaque");
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

TEST_F(WindowCommand, AFinishedIdIsForgottenByHandAndAnOpenOneIsNot) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), schema_));
  const auto window = OpenPostgresWindow(
      server_->url(),
      {.schema = schema_, .scope = "default/default/payments/default", .level = Level::kOpaque});
  ASSERT_TRUE(window.has_value()) << ToString(window.error());
  const ClaimRequest claim{"id-1", {0xABC, 5}, {0, 3, 17}, 0, 0};
  ClaimAnswer answer;
  ASSERT_TRUE((*window)->Claim({&claim, 1}, {&answer, 1}));
  const std::string forget = "window forget id-1 --why 'sent by mistake' -c " + File();
  EXPECT_EQ(Run(forget).code, 1) << "a handler has it";
  const CompleteRequest complete{"id-1", {0xABC, 5}, {0, 3, 17}};
  Change change;
  ASSERT_TRUE((*window)->Complete({&complete, 1}, {&change, 1}));
  const Ended forgotten = Run(forget);
  EXPECT_EQ(forgotten.code, 0) << forgotten.err;
  EXPECT_THAT(forgotten.err, HasSubstr("sent by mistake"));
  ASSERT_TRUE((*window)->Claim({&claim, 1}, {&answer, 1}));
  EXPECT_EQ(answer.answer, Answer::kGranted);
  EXPECT_EQ(Run("window gc -c " + File()).out, "0 ids were dropped\n");
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
  for (const char* command : {"window show x -c ", "window stat -c "}) {
    const Ended unopened = Run(command + File());
    EXPECT_EQ(unopened.code, 2) << command;
    EXPECT_THAT(unopened.err, HasSubstr("no process has opened the window of the scope"));
  }
  EXPECT_EQ(Run("window forget x --why y -c " + File()).code, 2) << "the same cause";
  EXPECT_EQ(Run("window gc -c " + File()).code, 2);
  const std::string scope = "default/default/payments/default";
  const auto window = OpenPostgresWindow(
      server_->url(), {.schema = schema_, .scope = scope, .level = Level::kOpaque});
  ASSERT_TRUE(window.has_value()) << ToString(window.error());
  const auto known = (*window)->Open({.partition = 3, .topic = "payments", .owner = "payments"});
  ASSERT_TRUE(known.has_value()) << ToString(known.error());
  const Own own = *(*window)->RaiseOwn(known->source, 3, 0);
  const ClaimRequest claim{"id-1", {0xABC, 5}, {known->source, 3, 17}, own, 0};
  ClaimAnswer answer;
  ASSERT_TRUE((*window)->Claim({&claim, 1}, {&answer, 1}));
  const std::string from =
      "# Read from the database, schema " + schema_ + ", scope " + scope + "\n";
  EXPECT_EQ(Run("window show id-2 -c " + File()).out,
            from + "none: the window keeps nothing of this id\n");
  const Ended open = Run("window show id-1 -c " + File());
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_EQ(open.out, from +
                          "open\nfrom partition 3 of the topic number 0, offset 17\n"
                          "held by the claim 0000000000000abc0000000000000005\n");
  const CompleteRequest complete{"id-1", {0xABC, 5}, {known->source, 3, 17}};
  Change change;
  ASSERT_TRUE((*window)->Complete({&complete, 1}, {&change, 1}));
  const auto done = nlohmann::json::parse(Run("window show --json id-1 -c " + File()).out);
  EXPECT_EQ(done["state"], "done");
  const Ended stat = Run("window stat -c " + File());
  EXPECT_EQ(stat.code, 0) << stat.err;
  const std::string reader = "reader_" + schema_;
  Sql("CREATE ROLE " + reader + " LOGIN PASSWORD 'secret'");
  Sql("GRANT USAGE ON SCHEMA " + schema_ + " TO " + reader);
  Sql("GRANT SELECT ON ALL TABLES IN SCHEMA " + schema_ + " TO " + reader);
  const Ended read = Run("window stat -c " + FileAt(UrlOf(reader)));
  EXPECT_EQ(read.out, stat.out) << read.err << ": a look needs no right to write";
  const Ended may_not = Run("window forget id-1 --why x -c " + FileAt(UrlOf(reader)));
  EXPECT_EQ(may_not.code, 2);
  EXPECT_THAT(may_not.err, HasSubstr("permission denied for table window_ids"));
  EXPECT_THAT(stat.out,
              StartsWith(from + "schema " + schema_ + ", scope " + scope + "\n  1 ids, open 0, "));
  EXPECT_THAT(stat.out, HasSubstr("\n  topic number 0, partition 3: knows [0, 0), announced "));
  EXPECT_THAT(stat.out, HasSubstr(", level opaque, incarnation "));
  const auto json = nlohmann::json::parse(Run("window stat --json -c " + File()).out);
  EXPECT_EQ(json["from"], "database");
  EXPECT_EQ(json["stores"][0]["ids_in_history"], 1);
  EXPECT_EQ(json["stores"][0]["partitions"][0]["partition"], 3);
  const IdleRuntime runtime;
  const std::string socket = dir_.path() / "admin.sock";
  const auto admin =
      AdminSocket::Open({.socket = socket}, {.runtime = &runtime, .window = window->get()});
  ASSERT_TRUE(admin.has_value()) << ToString(admin.error());
  const Ended asked = Run("window stat --socket '" + socket + "'");
  EXPECT_EQ(asked.out.substr(asked.out.find('\n')), stat.out.substr(stat.out.find('\n')))
      << "a service tells the same";
}

}  // namespace
}  // namespace oncemq::testing
