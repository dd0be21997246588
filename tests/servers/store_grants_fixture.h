// SPDX-License-Identifier: Apache-2.0
// A catalogue of one real store and two applications, and what an application does with its locks:
// everything that an engine can.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/lock_grants.h"
#include "oncemq/locks/switch_stores.h"
#include "support/eventually.h"

namespace oncemq::testing {

inline constexpr std::chrono::seconds kGrantPatience{30};

class GrantsTest : public ::testing::Test {
 protected:
  static const StoreIdentity& Payments() {
    static const StoreIdentity who{"payments", NewSecret()};
    return who;
  }
  static const StoreIdentity& Reports() {
    static const StoreIdentity who{"reports", NewSecret()};
    return who;
  }
  // Both have this store; payments has two scopes.
  static StoreCatalogue CatalogueOf(const std::string& address) {
    StoreCatalogue catalogue;
    catalogue.stores["store"] = {address};
    catalogue.plan = StorePlan{{"store"}, ""};
    for (const StoreIdentity& who : {Payments(), Reports()}) {
      catalogue.applications[who.application].secret = *DigestOfSecret(who.secret);
    }
    for (const char* scope : {"settlement", "refunds"}) {
      catalogue.applications["payments"].scopes[scope] = std::nullopt;
    }
    return catalogue;
  }
  static std::vector<std::string> StatementsFor(const StoreCatalogue& catalogue,
                                                const StoreIdentity& who) {
    const auto grants = LockGrants(catalogue, who);
    EXPECT_TRUE(grants.has_value()) << ToString(grants.error());
    EXPECT_EQ(grants->size(), 1u);
    for (const std::string& line : grants->front().statements) {
      EXPECT_EQ(line.find(who.secret), std::string::npos);
      EXPECT_EQ(line.find(StorePassword(who, "store")), std::string::npos);
    }
    return grants->front().statements;
  }
  static std::shared_ptr<LockEngine> OpenAs(const StoreCatalogue& catalogue,
                                            const StoreIdentity& who, std::string_view scope = {}) {
    auto locks = OpenCatalogueLocks(catalogue, who, scope);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  // Past our own check: by this name, with this password.
  static std::string AddressAs(const StoreCatalogue& catalogue, const std::string& application,
                               const std::string& password, const StoreIdentity& who) {
    std::string address = AddressFor(catalogue.stores.at("store"), "store", {application, "x"});
    const std::string old =
        StoreUser(application) + ":" + StorePassword({application, "x"}, "store");
    address.replace(address.find(old), old.size(), StoreUser(who.application) + ":" + password);
    return address;
  }

  static AcquireRequest RequestOf(uint64_t who, bool queue = true) {
    return {.name = "account/42",
            .token = {0xC0DE, who},
            .queue = queue,
            .lease = milliseconds(20'000),
            .queue_lease = milliseconds(20'000),
            .who = "a test"};
  }

  // Two processes of one application: ask, wait and be woken, extend, ask back, look, list, evict,
  // free, seal.
  static void EverythingWorks(LockEngine& one, LockEngine& other) {
    const AcquireRequest holder = RequestOf(1);
    const AcquireRequest waiter = RequestOf(2);
    const auto granted = one.Request(holder);
    ASSERT_TRUE(granted.has_value()) << ToString(granted.error());
    ASSERT_EQ(granted->kind, LockAnswer::Kind::kGranted);
    // A wake that got lost would be missed for as long as a test may take: the place is kept so
    // long, and nobody asks again before.
    std::atomic<bool> has{false};
    std::jthread waits([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const auto answer = other.Request(waiter);
        ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
        if (answer->kind == LockAnswer::Kind::kGranted) {
          has = true;
          return;
        }
        const BootTime until = SystemClock::Instance().Boot() + std::chrono::minutes(10);
        ASSERT_TRUE(other.Await(waiter, until, stop).has_value());
      }
    });
    ASSERT_TRUE(Eventually(kGrantPatience, [&] {
      const auto view = one.Read(holder.name);
      return view && view->parties.size() == 2;
    }));
    EXPECT_EQ(*one.Names("", 10), std::vector<std::string>{"account/42"});
    EXPECT_EQ(*other.Recall(holder.name), 1u);
    const LockClaim claim{holder.name, holder.token, holder.lease};
    Extended extended{};
    EXPECT_TRUE(one.Extend({&claim, 1}, {&extended, 1}).has_value());
    EXPECT_EQ(extended, Extended::kRecalled);
    Freed freed{};
    EXPECT_TRUE(one.Free({&claim, 1}, {&freed, 1}).has_value());
    EXPECT_EQ(freed, Freed::kYes);
    EXPECT_TRUE(Eventually(kGrantPatience, [&] { return has.load(); })) << "nobody was woken";
    waits.request_stop();
    waits.join();
    const auto view = one.Read(holder.name);
    ASSERT_TRUE(view.has_value() && view->parties.size() == 1);
    EXPECT_EQ(*one.Evict(holder.name, view->parties[0].fence), Freed::kYes);
    EXPECT_EQ(*one.Seal(0), 0u);
    EXPECT_EQ(*one.Seal(3), 3u);
    EXPECT_EQ(other.Request(RequestOf(3))->kind, LockAnswer::Kind::kSealed);
  }

  // The same stores; which lock store is in force is kept in the granted one.
  static StoreCatalogue WithRecord(StoreCatalogue catalogue) {
    catalogue.stores["memory"] = {"memory:", true};
    catalogue.plan = StorePlan{{"memory"}, "store"};
    return catalogue;
  }
  // All that a switchboard does with its record.
  static void TheRecordIsKept(const StoreCatalogue& catalogue, const StoreIdentity& who) {
    const auto locks = OpenAs(catalogue, who);
    ASSERT_TRUE(locks);
    EXPECT_EQ(locks->Request(RequestOf(1))->kind, LockAnswer::Kind::kGranted);
    const auto record =
        OpenSwitchStore(AddressFor(catalogue.stores.at("store"), "store", who), who.application);
    ASSERT_TRUE(record.has_value()) << ToString(record.error());
    const auto text = (*record)->Read();
    ASSERT_TRUE(text.has_value()) << ToString(text.error());
    EXPECT_NE(text->text, "") << "it is the one that was written for the locks";
    EXPECT_TRUE(*(*record)->Swap(text->text, text->version));
    EXPECT_TRUE((*record)->Say("a test", "1"));
    EXPECT_EQ((*record)->Hear()->count("a test"), 1u);
    EXPECT_TRUE((*record)->Bury("a test"));
  }

  // Each call is refused, and says no password.
  static void NothingWorks(LockEngine& locks, const std::string& password) {
    std::vector<Error> errors;
    const auto keep = [&](const auto& result) {
      EXPECT_FALSE(result.has_value());
      if (!result) {
        errors.push_back(result.error());
      }
    };
    const AcquireRequest request = RequestOf(7, false);
    const LockClaim claim{request.name, request.token, request.lease};
    Freed freed{};
    keep(locks.Request(request));
    keep(locks.Free({&claim, 1}, {&freed, 1}));
    keep(locks.Read(request.name));
    keep(locks.Recall(request.name));
    keep(locks.Evict(request.name, {0, 1}));
    keep(locks.Seal(9));
    for (const Error& error : errors) {
      EXPECT_EQ(error.message.find(password), std::string::npos);
      EXPECT_NE(error.code, Code::kUnavailable) << "refused, not away: " << ToString(error);
    }
  }
  static void CannotOpen(const std::string& address, const std::string& space,
                         const std::string& password, Code code = Code::kInvalid) {
    const auto locks = OpenLockEngine(address, space);
    ASSERT_FALSE(locks.has_value());
    EXPECT_EQ(locks.error().code, code) << ToString(locks.error());
    EXPECT_EQ(locks.error().message.find(password), std::string::npos);
  }
};

}  // namespace oncemq::testing
