// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/store_access.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr char kSecret[] = "a secret of payments";

// Made once: it is slow on purpose.
const std::string& Digest() {
  static const std::string digest = *DigestOfSecret(kSecret);
  return digest;
}

StoreCatalogue Catalogue() {
  StoreCatalogue catalogue;
  catalogue.stores["redis"] = {"redis://r:6379/2"};
  catalogue.stores["pg"] = {"postgres://db/locks?sslmode=require"};
  catalogue.stores["maria"] = {"mariadb://m:1/locks?socket=/s"};
  catalogue.stores["zk"] = {"zookeeper://z1,z2:2182/base"};
  catalogue.stores["here"] = {.address = "file:/var/lib/x", .anybody = true};
  catalogue.plan = StorePlan{{"redis"}, ""};
  catalogue.applications["payments"].secret = Digest();
  return catalogue;
}

std::string WhyNot(const StoreCatalogue& catalogue, const StoreIdentity& who,
                   std::string_view scope = {}) {
  const auto access = Authorise(catalogue, who, scope);
  EXPECT_FALSE(access.has_value());
  EXPECT_TRUE(access || access.error().code == Code::kInvalid);
  return access ? "" : access.error().message;
}

TEST(StoreAccess, WhoProvesItselfGetsTheStoresOfTheCatalogueAsItself) {
  const auto access = Authorise(Catalogue(), {"payments", kSecret});
  ASSERT_TRUE(access.has_value()) << ToString(access.error());
  EXPECT_EQ(access->space, "payments");
  ASSERT_EQ(access->locks.size(), 1u);
  EXPECT_EQ(access->locks[0].name, "redis");
  EXPECT_EQ(
      access->locks[0].address,
      "redis://oncemq_payments:" + StorePassword({"payments", kSecret}, "redis") + "@r:6379/2");
  EXPECT_FALSE(access->record);
}

TEST(StoreAccess, AnotherSecretIsRefused) {
  for (const std::string& secret : {std::string(kSecret) + "x", std::string("a secret of paymentz"),
                                    std::string(), std::string(2'000, 'x')}) {
    const std::string why = WhyNot(Catalogue(), {"payments", secret});
    EXPECT_EQ(why.find(kSecret), std::string::npos);
    EXPECT_NE(why.find("not the secret"), std::string::npos) << why;
  }
}

TEST(StoreAccess, AnApplicationThatIsNotRegisteredIsRefused) {
  EXPECT_NE(WhyNot(Catalogue(), {"refunds", kSecret}).find("no such application"),
            std::string::npos);
  EXPECT_NE(WhyNot(Catalogue(), {"", kSecret}).find("no such application"), std::string::npos);
}

TEST(StoreAccess, AScopeThatItWasNotGivenIsRefused) {
  StoreCatalogue catalogue = Catalogue();
  catalogue.applications["payments"].scopes["refunds"] = std::nullopt;
  EXPECT_NE(WhyNot(catalogue, {"payments", kSecret}, "settlement").find("this scope"),
            std::string::npos);
  EXPECT_TRUE(Authorise(catalogue, {"payments", kSecret}, "refunds").has_value());
}

TEST(StoreAccess, NoTwoSpacesAreOne) {
  StoreCatalogue catalogue = Catalogue();
  catalogue.applications["payments"].scopes["refunds"] = std::nullopt;
  catalogue.applications["payments-refunds"].secret = Digest();
  const auto own = Authorise(catalogue, {"payments", kSecret});
  const auto scope = Authorise(catalogue, {"payments", kSecret}, "refunds");
  const auto other = Authorise(catalogue, {"payments-refunds", kSecret});
  ASSERT_TRUE(own && scope && other);
  EXPECT_EQ(own->space, "payments");
  EXPECT_EQ(scope->space, "payments.refunds");
  EXPECT_EQ(other->space, "payments-refunds");
}

TEST(StoreAccess, AScopesPlanCountsBeforeTheApplicationsAndThatBeforeTheDefault) {
  StoreCatalogue catalogue = Catalogue();
  StoreApplication& payments = catalogue.applications["payments"];
  payments.plan = StorePlan{{"pg"}, ""};
  payments.scopes["settlement"] = StorePlan{{"zk", "pg"}, "here"};
  payments.scopes["refunds"] = std::nullopt;
  EXPECT_EQ(Authorise(catalogue, {"payments", kSecret})->locks[0].name, "pg");
  EXPECT_EQ(Authorise(catalogue, {"payments", kSecret}, "refunds")->locks[0].name, "pg");
  const auto settlement = Authorise(catalogue, {"payments", kSecret}, "settlement");
  ASSERT_EQ(settlement->locks.size(), 2u);
  EXPECT_EQ(settlement->locks[0].name, "zk");
  ASSERT_TRUE(settlement->record);
  EXPECT_EQ(settlement->record->address, "file:/var/lib/x");
}

TEST(StoreAccess, EachKindOfStoreIsFoundAsAUserOfItsOwn) {
  const StoreCatalogue catalogue = Catalogue();
  const StoreIdentity who{"payments", kSecret};
  const auto address = [&](const char* name) {
    std::string text = AddressFor(catalogue.stores.at(name), name, who);
    const std::string password = StorePassword(who, name);
    const size_t at = text.find(password);
    return at == std::string::npos ? text : text.replace(at, password.size(), "P");
  };
  EXPECT_EQ(address("pg"), "postgres://oncemq_payments:P@db/locks?sslmode=require");
  EXPECT_EQ(address("maria"), "mariadb://oncemq_payments:P@m:1/locks_payments?socket=/s");
  EXPECT_EQ(address("zk"), "zookeeper://oncemq_payments:P@z1,z2:2182/base/payments");
  EXPECT_EQ(address("here"), "file:/var/lib/x");
  EXPECT_TRUE(AddressFor({"zookeeper://z"}, "zk", who).ends_with("@z/payments"));
}

TEST(StoreAccess, AFaultyCatalogueIsRefusedBeforeAnybodyIs) {
  StoreCatalogue catalogue = Catalogue();
  catalogue.stores["redis"].address = "redis://u:hunter2@r";
  const std::string why = WhyNot(catalogue, {"payments", kSecret});
  EXPECT_NE(why.find("stores.redis.address"), std::string::npos) << why;
  EXPECT_EQ(why.find("hunter2"), std::string::npos) << why;
}

TEST(StoreSecret, APasswordOpensOneStoreOfOneApplication) {
  const std::string one = StorePassword({"payments", kSecret}, "redis");
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(one, StorePassword({"payments", kSecret}, "redis"));
  EXPECT_NE(one, StorePassword({"payments", kSecret}, "zk"));
  EXPECT_NE(one, StorePassword({"refunds", kSecret}, "redis"));
  EXPECT_NE(one, StorePassword({"payments", "another secret of it"}, "redis"));
}

TEST(StoreSecret, ADigestIsSaltedAndFitsItsSecretAlone) {
  const std::string again = *DigestOfSecret(kSecret);
  EXPECT_NE(again, Digest());
  EXPECT_TRUE(SecretFits(kSecret, again));
  EXPECT_FALSE(SecretFits("a secret of paymentz", again));
  std::string broken = again;
  broken.back() = broken.back() == '0' ? '1' : '0';
  EXPECT_FALSE(SecretFits(kSecret, broken));
}

TEST(StoreSecret, WhatIsNoDigestFitsNothing) {
  const std::string digest = Digest();
  for (const std::string& text :
       {std::string(), std::string(kSecret), digest.substr(1), digest + "0",
        "scrypt-2" + digest.substr(8), digest.substr(0, 9) + "zz" + digest.substr(11),
        digest.substr(0, digest.size() - 64)}) {
    EXPECT_FALSE(IsSecretDigest(text)) << text;
    EXPECT_FALSE(SecretFits(kSecret, text)) << text;
  }
  EXPECT_TRUE(IsSecretDigest(digest));
}

TEST(StoreSecret, AShortOneIsNotTaken) {
  EXPECT_FALSE(DigestOfSecret("fifteen letters").has_value());
  EXPECT_FALSE(DigestOfSecret(std::string(1'025, 'x')).has_value());
  const std::string fresh = NewSecret();
  EXPECT_EQ(fresh.size(), 64u);
  EXPECT_NE(fresh, NewSecret());
}

// Of a password, by the servers' own functions: sha256sum; PASSWORD('pencil') of MariaDB; the
// digest scheme's generateDigest of ZooKeeper.
TEST(StoreSecret, VerifiersAreThoseOfTheServers) {
  EXPECT_EQ(RedisVerifier("pencil"),
            "13809668fb436386706f67dcb052ed584a04ba16a8c02a17d66d34c30fceda21");
  EXPECT_EQ(MariadbVerifier("pencil"), "*7614BE58636C810A9D8970A50B3B2A78450413E4");
  EXPECT_EQ(ZooKeeperVerifier("super", "test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
  const std::string scram = PostgresVerifier("pencil");
  EXPECT_EQ(scram.substr(0, 19), "SCRAM-SHA-256$4096:");
  EXPECT_EQ(scram.size(), 19u + 24 + 1 + 44 + 1 + 44);
}

}  // namespace
}  // namespace oncemq
