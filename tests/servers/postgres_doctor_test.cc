// SPDX-License-Identifier: Apache-2.0
// `oncemq doctor` with a real PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "doctor_fixture.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresDoctor : public DoctorFixture {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    server_ = PostgresServer::Start();
    client_ = *OpenPostgres(*ParsePostgresEndpoint(server_->url()));
  }

  std::string FileAt(const std::string& at) const {
    return FileOf("postgres", at, "  schema: payments\n");
  }
  std::string File() const { return FileAt(server_->url()); }
  // By a role of its own, with the password "secret".
  std::string UrlOf(const std::string& role) const {
    std::string url = server_->url();
    return url.replace(url.find("oncemq:"), 6, role);
  }
  std::string Sql(const std::string& statement) const {
    const auto done = client_->Run({statement});
    EXPECT_TRUE(done.has_value()) << statement << ": " << ToString(done.error());
    return done && !done->rows.empty() ? done->rows[0][0].value_or("") : "";
  }
  std::string Rows() const {
    return Sql(
        "SELECT (SELECT count(*) FROM payments.window_scopes) + "
        "(SELECT count(*) FROM payments.window_ids)");
  }

  std::unique_ptr<PostgresServer> server_;
  std::unique_ptr<SqlClient> client_;
};

TEST_F(PostgresDoctor, NamesTheServerAndLeavesNothingThere) {
  EXPECT_THAT(ExpectDoctor(File(), 2),
              AllOf(HasSubstr("`oncemq store migrate` makes them"),
                    HasSubstr("\n  claims: made 0, why "), HasSubstr("\n  server: PostgreSQL\n")));
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), "payments"));
  const std::string told = ExpectDoctor(File(), 0);
  EXPECT_THAT(told, HasSubstr(", ok\n  schema: payments\n"));
  EXPECT_THAT(told, HasSubstr("\n  synchronous_commit: " + Sql("SHOW synchronous_commit")));
  EXPECT_THAT(told, HasSubstr(Sql("SHOW fsync") == "on" ? "\n  fsync: yes\n" : "\n  fsync: no\n"));
  EXPECT_THAT(told, HasSubstr("\n  standbys: attached 0, synchronous no, names none\n"));
  EXPECT_THAT(told, HasSubstr("\n  claims: made 100, p50_us "));
  EXPECT_THAT(told, HasSubstr("none is synchronous\n"));
  EXPECT_EQ(Rows(), "0");
  ExpectClaimsMade(File());
  EXPECT_EQ(Rows(), "0");
}

TEST_F(PostgresDoctor, ARoleThatMayNotWriteMakesNoClaims) {
  ASSERT_TRUE(MigratePostgresWindow(server_->url(), "payments"));
  Sql("CREATE ROLE app LOGIN PASSWORD 'secret'");
  Sql("GRANT USAGE ON SCHEMA payments TO app");
  Sql("GRANT SELECT ON ALL TABLES IN SCHEMA payments TO app");
  const std::string file = FileAt(UrlOf("app"));
  EXPECT_THAT(ExpectDoctor(file, 2),
              AllOf(HasSubstr("lacks the right INSERT"), HasSubstr("\n  claims: made 0, why ")));
  Sql("GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA payments TO app");
  Sql("GRANT DELETE ON payments.window_ids, payments.window_uncertain TO app");
  EXPECT_THAT(
      ExpectDoctor(file, 0),
      AllOf(HasSubstr("\n  claims: made 0, why the role of the address lacks the right DELETE "
                      "on window_scopes"),
            Not(HasSubstr("p50_us"))));
  EXPECT_EQ(Rows(), "0");
}

}  // namespace
}  // namespace oncemq::testing
