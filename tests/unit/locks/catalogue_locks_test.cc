// SPDX-License-Identifier: Apache-2.0
// Locks by a catalogue, and what is granted. What the stores make of it, the tests with servers
// ask.
#include "oncemq/locks/catalogue_locks.h"

#include <gtest/gtest.h>

#include <map>

#include "oncemq/locks/lock_grants.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

const StoreIdentity& Payments() {
  static const StoreIdentity who{"payments", NewSecret()};
  return who;
}

StoreCatalogue Catalogue() {
  static const std::string digest = *DigestOfSecret(Payments().secret);
  StoreCatalogue catalogue;
  catalogue.stores["a"] = {"memory:", true};
  catalogue.stores["b"] = {"memory:", true};
  catalogue.stores["redis"] = {"redis://r/3"};
  catalogue.stores["pg"] = {"postgres://p/locks"};
  catalogue.stores["maria"] = {"mariadb://m/locks"};
  catalogue.stores["zk"] = {"zookeeper://z1,z2"};
  catalogue.plan = StorePlan{{"a"}, ""};
  catalogue.applications["payments"].secret = digest;
  return catalogue;
}

AcquireRequest Request() {
  return {.name = "x",
          .token = {1, 1},
          .lease = milliseconds(1'000),
          .queue_lease = milliseconds(1'000)};
}

TEST(CatalogueLocks, OneStoreIsOpenedAsItself) {
  const auto locks = OpenCatalogueLocks(Catalogue(), Payments());
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  EXPECT_EQ((*locks)->capabilities().engine, "memory");
  EXPECT_EQ((*locks)->Request(Request())->kind, LockAnswer::Kind::kGranted);
}

TEST(CatalogueLocks, WhoIsNotAuthorisedOpensNothing) {
  EXPECT_EQ(OpenCatalogueLocks(Catalogue(), {"payments", NewSecret()}).error().code,
            Code::kInvalid);
  EXPECT_EQ(OpenCatalogueLocks(Catalogue(), {"reports", Payments().secret}).error().code,
            Code::kInvalid);
  EXPECT_EQ(OpenCatalogueLocks(Catalogue(), Payments(), "refunds").error().code, Code::kInvalid);
  EXPECT_EQ(OpenCatalogueSwitch(Catalogue(), {"payments", NewSecret()}).error().code,
            Code::kInvalid);
  EXPECT_EQ(LockGrants(Catalogue(), {"payments", NewSecret()}).error().code, Code::kInvalid);
}

TEST(CatalogueLocks, SeveralStoresAreSwitchedAndTheFirstIsTheMainOne) {
  const TempDir dir;
  StoreCatalogue catalogue = Catalogue();
  catalogue.stores["record"] = {"file:" + dir.path().string(), true};
  catalogue.plan = StorePlan{{"b", "a"}, "record"};
  EXPECT_EQ(OpenCatalogueSwitch(catalogue, Payments(), {}, {}, true).error().code, Code::kInvalid)
      << "no service has begun";
  const auto locks = OpenCatalogueLocks(catalogue, Payments());
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  EXPECT_EQ((*locks)->Request(Request())->kind, LockAnswer::Kind::kGranted);
  const auto board = OpenCatalogueSwitch(catalogue, Payments(), {}, {.automatic = false}, true);
  ASSERT_TRUE(board.has_value()) << ToString(board.error());
  EXPECT_EQ((*board)->Progress().in_force, "b");
}

TEST(CatalogueLocks, EachScopeHasARecordOfItsOwnInOneDirectory) {
  const TempDir dir;
  StoreCatalogue catalogue = Catalogue();
  catalogue.stores["record"] = {"file:" + dir.path().string(), true};
  catalogue.plan = StorePlan{{"a", "b"}, "record"};
  catalogue.applications["payments"].scopes["settlement"] = StorePlan{{"b", "a"}, "record"};
  ASSERT_TRUE(OpenCatalogueLocks(catalogue, Payments()).has_value());
  ASSERT_FALSE(OpenCatalogueSwitch(catalogue, Payments(), "settlement", {}, true).has_value())
      << "nobody of it has begun";
  const auto settlement = OpenCatalogueSwitch(catalogue, Payments(), "settlement");
  ASSERT_TRUE(settlement.has_value()) << ToString(settlement.error());
  EXPECT_EQ((*settlement)->Progress().in_force, "b");
  EXPECT_EQ((*OpenCatalogueSwitch(catalogue, Payments()))->Progress().in_force, "a");
}

TEST(CatalogueLocks, WithoutARecordNothingCanBeSwitched) {
  EXPECT_NE(OpenCatalogueSwitch(Catalogue(), Payments()).error().message.find("`record`"),
            std::string::npos);
}

TEST(LockGrants, EachStoreOfTheApplicationIsToldOnceOfAllItsScopes) {
  StoreCatalogue catalogue = Catalogue();
  StoreApplication& payments = catalogue.applications["payments"];
  payments.plan = StorePlan{{"redis"}, ""};
  payments.scopes["settlement"] = StorePlan{{"redis", "zk"}, "pg"};
  payments.scopes["refunds"] = StorePlan{{"a"}, ""};
  const auto grants = LockGrants(catalogue, Payments());
  ASSERT_TRUE(grants.has_value()) << ToString(grants.error());
  std::map<std::string, StoreGrant> by_name;
  for (const StoreGrant& grant : *grants) {
    by_name[grant.store] = grant;
    for (const std::string& line : grant.statements) {
      EXPECT_EQ(line.find(Payments().secret), std::string::npos);
      EXPECT_EQ(line.find(StorePassword(Payments(), grant.store)), std::string::npos);
      EXPECT_EQ(line.find('\n'), std::string::npos);
    }
  }
  ASSERT_EQ(by_name.size(), 4u);
  EXPECT_EQ(by_name["a"].reader, "");
  EXPECT_TRUE(by_name["a"].statements.empty());
  EXPECT_EQ(by_name["redis"].reader, "redis-cli");
  const std::string& acl = by_name["redis"].statements.at(0);
  EXPECT_NE(acl.find(" ~oncemq:lock:8:payments:* ~oncemq:lock:seal:payments "), std::string::npos);
  EXPECT_NE(acl.find(" ~oncemq:lock:19:payments.settlement:* "), std::string::npos) << acl;
  EXPECT_EQ(acl.find("refunds"), std::string::npos) << "not kept there";
  EXPECT_NE(acl.find(" +select"), std::string::npos) << "the address names a database";
  EXPECT_EQ(by_name["zk"].reader, "zkCli.sh");
  std::string all;
  for (const std::string& line : by_name["pg"].statements) {
    all += line;
  }
  EXPECT_NE(all.find("oncemq_switch_v1"), std::string::npos);
  EXPECT_EQ(all.find("oncemq_locks_v1"), std::string::npos) << "only the record is kept there";
}

TEST(LockGrants, AreTheSameEachTime) {
  StoreCatalogue catalogue = Catalogue();
  for (const char* store : {"redis", "pg", "maria", "zk"}) {
    catalogue.plan = StorePlan{{store}, ""};
    EXPECT_EQ(LockGrants(catalogue, Payments())->at(0).statements,
              LockGrants(catalogue, Payments())->at(0).statements);
  }
}

}  // namespace
}  // namespace oncemq::testing
