// SPDX-License-Identifier: Apache-2.0
// The section `locks:` of a service file, and what is opened by it.
#include "oncemq/framework/service_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "minimal_service.h"
#include "oncemq/clients/store_secret.h"
#include "oncemq/locks/lock_engines.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSecret[] = "a secret of payments";

std::string Wrong(const std::string& locks) {
  return ErrorsOf(kMinimalService + "locks: " + locks + "\n");
}

ServiceOptions Accepted(const std::string& locks) {
  const auto options =
      ParseService(kMinimalService + "locks: " + locks + "\n", "/x/service.yaml", NoSources());
  EXPECT_TRUE(options) << options.error().message;
  return options.value_or(ServiceOptions{});
}

TEST(ServiceLocks, EachWayToTakeNamesIsRead) {
  const ServiceOptions named = Accepted(
      "{catalogue: stores.yaml, application: payments, scope: refunds, secret: s, lease: 9s}");
  EXPECT_EQ(named.locks.catalogue, "/x/stores.yaml");
  EXPECT_EQ(named.locks.application, "payments");
  EXPECT_EQ(named.locks.scope, "refunds");
  EXPECT_EQ(named.locks.secret, "s");
  EXPECT_EQ(named.locks.lease, milliseconds(9'000));
  const ServiceOptions one = Accepted("{at: \"memory:\", space: s}");
  EXPECT_EQ(one.locks.at, "memory:");
  EXPECT_EQ(one.locks.space, "s");
  const ServiceOptions elided =
      Accepted("{elided: true, names_partition_owned: true, effects_check_fences: true}");
  EXPECT_TRUE(elided.runtime.locks.elided);
  EXPECT_TRUE(elided.runtime.locks.names_partition_owned);
  EXPECT_TRUE(elided.runtime.locks.effects_check_fences);
}

TEST(ServiceLocks, EachNeedIsReadByItsName) {
  for (const LockNeed& need : kLockNeeds) {
    const std::string name(need.name);
    const ServiceOptions options = Accepted("{at: \"memory:\", needs: " + name + "}");
    for (const LockNeed& other : kLockNeeds) {
      EXPECT_EQ(options.locks.needs.*other.requested, other.name == name)
          << name << " reads " << other.name;
    }
    EXPECT_THAT(Describe(options), HasSubstr("needs: [" + name + "]\n"));
  }
  const LockNeeds two = Accepted("{at: \"memory:\", needs: [fence, fair]}").locks.needs;
  EXPECT_TRUE(two.fence && two.fair && !two.shared);
}

TEST(ServiceLocks, AStoreThatCannotDoWhatIsNeededIsRefusedByCheckAndStart) {
  const ServiceOptions options = Accepted("{at: \"memory:\", needs: [fence, processes]}");
  EXPECT_THAT(ToString(CheckServiceLocks(options).error()),
              HasSubstr("the engine memory does not exclude other processes"));
  EXPECT_THAT(ToString(OpenServiceLocks(options).error()), HasSubstr("other processes"));
  EXPECT_TRUE(CheckServiceLocks(Accepted("{at: \"memory:\", needs: [fence, fair]}")));
  if (CapabilitiesAt("memcached://h")) {
    const Status checked =
        CheckServiceLocks(Accepted("{at: \"memcached://127.0.0.1:1\", needs: fair}"));
    EXPECT_THAT(ToString(checked.error()), HasSubstr("the engine memcached cannot serve waiters"));
  }
}

TEST(ServiceLocks, WhatContradictsItselfIsToldAtItsLine) {
  const std::pair<const char*, const char*> wrong[] = {
      {"{at: \"memory:\", elided: true, names_partition_owned: true, effects_check_fences: true}",
       "one of these"},
      {"{at: \"memory:\", catalogue: c, application: a, secret: s}", "one of these"},
      {"{at: \"memory:\", application: a}", "`locks.application` has no meaning"},
      {"{catalogue: c, application: a, secret: s, space: x}", "`locks.space` has no meaning"},
      {"{catalogue: c, secret: s}", "`locks.application` must be"},
      {"{catalogue: c, application: A_B, secret: s}", "`locks.application` must be"},
      {"{catalogue: c, application: a}", "`locks.secret` must be said"},
      {"{catalogue: c, application: a, secret: s, scope: a.b}", "`locks.scope` must be"},
      {"{at: \"mongo://h\"}", "no locks at such an address"},
      {"{at: \"postgres-advisory://u@h/d\"}", "but at those that begin with memory:"},
      {"{at: \"mariadb-get-lock://u@h/d\"}", "but at those that begin with memory:"},
      {"{at: \"memory:\", lease: 1ms}", "`locks.lease` must be a time"},
      {"{at: \"memory:\", leese: 1s}", "unknown key `leese`"},
      {"{elided: true, effects_check_fences: true}", "`locks.names_partition_owned` must be"},
      {"{elided: true, names_partition_owned: true}", "effects that are checked"},
      {"{names_partition_owned: true}", "for `locks.elided` only"},
      {"{at: \"memory:\", needs: [fence, fairr]}", "did you mean `fair`"},
      {"{at: \"memory:\", needs: []}", "`locks.needs` is empty"},
      {"{needs: fair}", "`locks.needs` has no meaning without a store"},
      {"[a]", "must be a mapping"}};
  for (const auto& [locks, why] : wrong) {
    EXPECT_THAT(Wrong(locks), HasSubstr("service.yaml:10:")) << locks;
    EXPECT_THAT(Wrong(locks), HasSubstr(why)) << locks;
  }
}

TEST(ServiceLocks, NoSecretIsEverShown) {
  const std::string named =
      Describe(Accepted("{catalogue: /c, application: payments, secret: hunter2}"));
  EXPECT_THAT(named, HasSubstr("application: payments\n"));
  EXPECT_THAT(named, Not(HasSubstr("hunter")));
  const std::string one = Describe(Accepted("{at: \"redis://hunter1:hunter2@h/p@hunter3@x\"}"));
  EXPECT_THAT(one, HasSubstr("redis://(not shown)@x"));
  EXPECT_THAT(one, Not(HasSubstr("hunter")));
  EXPECT_THAT(Describe(Accepted("{at: \"redis:hunter1:hunter2@x\"}")), Not(HasSubstr("hunter")));
  EXPECT_THAT(Wrong("{at: \"hunter1:hunter2@h\"}"), Not(HasSubstr("hunter")));
}

TEST(ServiceLocks, AnAddressWithAFileInItCanBeReadAgain) {
  std::string file = "memory:";
  ConfigSources sources = NoSources();
  sources.secret_file = [&file](const std::string&) { return file; };
  const auto options = ParseService(
      kMinimalService + "locks: {at: \"${file:/run/secrets/store}\"}\n", "service.yaml", sources);
  ASSERT_TRUE(options) << options.error().message;
  file = "redis://:new@h";
  EXPECT_EQ(*options->locks.read_at(), "redis://:new@h");
  EXPECT_FALSE(Accepted("{at: \"memory:\"}").locks.read_at) << "there is nothing to read";
}

TEST(ServiceLocks, NothingIsOpenedWhereNothingIsSaid) {
  const auto none = OpenServiceLocks(*ParseService(kMinimalService, "x", NoSources()));
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->get(), nullptr);
}

TEST(ServiceLocks, OneStoreIsOpenedWithItsLease) {
  const auto locks = OpenServiceLocks(Accepted("{at: \"memory:\", lease: 9s}"));
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto lease = (*locks)->TryAcquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  EXPECT_LE((*locks)->engine().Read("x")->parties[0].left, milliseconds(9'000));
}

TEST(ServiceLocks, ACheckRefusesWhatAStartWouldAndAsksNobody) {
  for (const auto& [locks, why] :
       {std::pair("{at: \"etcd://127.0.0.1:1\", lease: 31s}", "30000 ms"),
        {"{at: \"zookeeper://127.0.0.1:1\", lease: 10m}", "30000 ms"}}) {
    const Status checked = CheckServiceLocks(Accepted(locks));
    ASSERT_FALSE(checked) << locks;
    EXPECT_EQ(checked.error().code, Code::kInvalid);
    EXPECT_THAT(checked.error().message, HasSubstr(why));
  }
  EXPECT_TRUE(CheckServiceLocks(Accepted("{at: \"etcd://127.0.0.1:1\", lease: 30s}")));
  EXPECT_TRUE(CheckServiceLocks(Accepted("{at: \"redis://127.0.0.1:1\", lease: 10m}")));
}

class CatalogueService : public ::testing::Test {
 protected:
  ServiceOptions Options(const std::string& more, const std::string& plan = "here") const {
    std::ofstream(dir_.path() / "stores.yaml")
        << "stores:\n  here: {address: \"memory:\", anybody: true}\n"
        << "  there: {address: \"memory:\", anybody: true}\n"
        << "  record: {address: \"file:" << dir_.path().string() << "\", anybody: true}\n"
        << "default: {locks: " << plan << (plan == "here" ? "" : ", record: record") << "}\n"
        << "applications:\n  payments: {secret: " << digest_ << ", scopes: {refunds: {}}}\n";
    return Accepted("{catalogue: '" + (dir_.path() / "stores.yaml").string() + "', " + more + "}");
  }

  const testing::TempDir dir_;
  const std::string digest_ = *DigestOfSecret(kSecret);
};

TEST_F(CatalogueService, OpensTheStoresThatItWasGiven) {
  const ServiceOptions options =
      Options("application: payments, scope: refunds, secret: " + std::string(kSecret));
  EXPECT_TRUE(CheckServiceLocks(options).has_value());
  const auto locks = OpenServiceLocks(options);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  EXPECT_TRUE((*locks)->TryAcquire("x")->has_value());
}

// The record may allow more than what the first one says, and a check asks nobody.
TEST_F(CatalogueService, LearnsFromItsSwitchboardWhenItStartsWhatLeaseIsAllowed) {
  const ServiceOptions options = Options(
      "application: payments, lease: 31s, secret: " + std::string(kSecret), "[here, there]");
  EXPECT_TRUE(CheckServiceLocks(options).has_value());
  EXPECT_THAT(ToString(OpenServiceLocks(options).error()), HasSubstr("30000 ms"));
}

TEST_F(CatalogueService, IsRefusedStoresThatCannotDoWhatIsNeeded) {
  const ServiceOptions options = Options(
      "application: payments, needs: processes, secret: " + std::string(kSecret), "[here, there]");
  EXPECT_THAT(ToString(CheckServiceLocks(options).error()), HasSubstr("other processes"));
  EXPECT_THAT(ToString(OpenServiceLocks(options).error()), HasSubstr("other processes"));
}

TEST_F(CatalogueService, MayNeedWhatItsSwitchboardDoesWithItsStores) {
  const ServiceOptions options = Options(
      "application: payments, needs: seals, secret: " + std::string(kSecret), "[here, there]");
  const Status checked = CheckServiceLocks(options);
  EXPECT_TRUE(checked) << ToString(checked.error());
  const auto locks = OpenServiceLocks(options);
  EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
}

TEST_F(CatalogueService, SaysInItsGuaranteeWhatItsStoresCannotDo) {
  const auto explained = [&](const std::string& secret, const std::string& plan) {
    std::string text = ExplainGuarantee(Options("application: payments, secret: " + secret, plan));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  };
  EXPECT_THAT(explained(kSecret, "here"), HasSubstr("Locks in memory exclude nobody outside"));
  EXPECT_THAT(explained(kSecret, "[here, there]"), HasSubstr("Locks in one of the catalogue's"));
  const std::string refused = explained("another secret of it", "here");
  EXPECT_THAT(refused, HasSubstr("What the stores of locks can do is not known:"));
  EXPECT_THAT(refused, Not(HasSubstr("another secret")));
}

TEST_F(CatalogueService, IsRefusedWhereItWasGivenNone) {
  for (const std::string& more :
       {std::string("application: payments, secret: another secret of it"),
        "application: reports, secret: " + std::string(kSecret),
        "application: payments, scope: settlement, secret: " + std::string(kSecret)}) {
    const ServiceOptions options = Options(more);
    EXPECT_EQ(CheckServiceLocks(options).error().code, Code::kInvalid) << more;
    const auto locks = OpenServiceLocks(options);
    ASSERT_FALSE(locks.has_value()) << more;
    EXPECT_EQ(locks.error().code, Code::kInvalid);
    EXPECT_THAT(ToString(locks.error()), Not(HasSubstr(kSecret)));
  }
  EXPECT_EQ(CheckServiceLocks(Accepted("{catalogue: /no, application: a, secret: b}")).error().code,
            Code::kNotFound);
}

}  // namespace
}  // namespace oncemq
