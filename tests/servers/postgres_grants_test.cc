// SPDX-License-Identifier: Apache-2.0
// What is printed for a PostgreSQL, applied as it is printed.
#include <gtest/gtest.h>

#include "oncemq/clients/postgres_client.h"
#include "store_grants_fixture.h"
#include "support/postgres_server.h"

namespace oncemq::testing {
namespace {

constexpr SqlTimes kPatient{milliseconds(10'000), milliseconds(30'000)};

class PostgresGrants : public GrantsTest {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_POSTGRES();
    if (!server_) {
      server_ = PostgresServer::Start();
    }
    std::string address = server_->url();
    address.erase(address.find("//") + 2, address.find('@') - address.find("//") - 1);
    catalogue_ = CatalogueOf(address);
    Apply(Payments());
    Apply(Reports());
  }
  static void TearDownTestSuite() { server_.reset(); }
  // Over one connection, as psql has it.
  void Apply(const StoreIdentity& who) const {
    const auto client = OpenPostgres(*ParsePostgresPlace(server_->url()), kPatient, 1);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    for (const std::string& line : StatementsFor(catalogue_, who)) {
      const auto done = (*client)->Run({line});
      EXPECT_TRUE(done.has_value()) << line << ": " << ToString(done.error());
    }
  }

  static inline std::unique_ptr<PostgresServer> server_;
  StoreCatalogue catalogue_;
};

TEST_F(PostgresGrants, AnApplicationsOwnLocksWorkEntirely) {
  for (const char* scope : {"", "settlement"}) {
    const auto one = OpenAs(catalogue_, Payments(), scope);
    const auto other = OpenAs(catalogue_, Payments(), scope);
    ASSERT_TRUE(one && other);
    EverythingWorks(*one, *other);
  }
}

TEST_F(PostgresGrants, TheSecondTimeTheyChangeNothing) {
  const auto before = OpenAs(catalogue_, Reports());
  ASSERT_EQ(*before->Seal(5), 5u);
  Apply(Reports());
  EXPECT_EQ(*OpenAs(catalogue_, Reports())->Seal(0), 5u);
}

TEST_F(PostgresGrants, AWrongPasswordIsRefusedByTheServer) {
  const std::string wrong = StorePassword(Reports(), "store");
  CannotOpen(AddressAs(catalogue_, "payments", wrong, Payments()), "payments", wrong);
  CannotOpen(AddressAs(catalogue_, "payments", wrong, {"nobody", ""}), "payments", wrong);
}

// A role that names another's space locks a row of its own, and reaches no other.
TEST_F(PostgresGrants, TheRowsOfOthersAreRefusedByTheServer) {
  const auto theirs = OpenAs(catalogue_, Payments(), "refunds");
  ASSERT_EQ(theirs->Ask(AskOf(1))->kind, LockAnswer::Kind::kGranted);
  const std::string address = AddressFor(catalogue_.stores.at("store"), "store", Reports());
  const auto copy = OpenLockEngine(address, "payments.refunds");
  ASSERT_TRUE(copy.has_value()) << ToString(copy.error());
  EXPECT_TRUE((*copy)->Look("account/42")->parties.empty());
  const auto client = OpenPostgres(*ParsePostgresPlace(address), kPatient, 1);
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  for (const std::string_view statement :
       {"SELECT * FROM oncemq_payments.oncemq_locks_v1",
        "DELETE FROM oncemq_payments.oncemq_locks_v1",
        "UPDATE oncemq_payments.oncemq_lock_seals_v1 SET epoch = 9",
        "INSERT INTO oncemq_payments.oncemq_lock_seals_v1 VALUES ('', 9)",
        "CREATE TABLE oncemq_payments.x (x int)", "DROP TABLE oncemq_locks_v1", "CREATE SCHEMA x",
        "CREATE TABLE oncemq_reports.x (x int)", "CREATE ROLE x", "SET ROLE oncemq_payments"}) {
    const auto done = (*client)->Run({statement});
    EXPECT_FALSE(done.has_value()) << statement;
    EXPECT_TRUE(done || done.error().message.find("permission denied") != std::string::npos ||
                done.error().message.find("must be owner") != std::string::npos)
        << ToString(done.error());
  }
  EXPECT_EQ(theirs->Look("account/42")->parties.size(), 1u);
}

TEST_F(PostgresGrants, ASwitchIsRecordedByTheApplicationItself) {
  StoreCatalogue catalogue = catalogue_;
  catalogue.stores["memory"] = {"memory:", true};
  catalogue.plan = StorePlan{{"memory"}, "store"};
  const auto client = OpenPostgres(*ParsePostgresPlace(server_->url()), kPatient, 1);
  const auto grants = LockGrants(catalogue, Reports());
  ASSERT_EQ(grants->size(), 2u);
  EXPECT_EQ(grants->at(0).reader, "") << "memory knows no users";
  for (const std::string& line : grants->at(1).statements) {
    EXPECT_TRUE((*client)->Run({line}).has_value()) << line;
  }
  const auto locks = OpenAs(catalogue, Reports());
  ASSERT_TRUE(locks);
  EXPECT_EQ(locks->Ask(AskOf(1))->kind, LockAnswer::Kind::kGranted);
}

}  // namespace
}  // namespace oncemq::testing
