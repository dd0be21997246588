// SPDX-License-Identifier: Apache-2.0
// What an application needs of a lock store, checked before it starts: each need against the record
// of each engine.
#include "lock_check.h"

#include <gtest/gtest.h>

#include <array>

#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/memory_locks.h"

namespace oncemq {
namespace {

struct NeedCase {
  LockNeeds needs;
  bool (*offered)(const LockCapabilities& can);
  std::string_view words;  // in what is said of an engine that does not offer it
};
using Can = const LockCapabilities&;
const std::array kCases{
    NeedCase{{.processes = true}, [](Can can) { return can.processes; }, "other processes"},
    NeedCase{{.fair = true}, [](Can can) { return can.fair; }, "fair"},
    NeedCase{{.unfair = true}, [](Can can) { return can.unfair; }, "pass those who wait"},
    NeedCase{{.shared = true}, [](Can can) { return can.shared; }, "shared"},
    NeedCase{{.counted = true}, [](Can can) { return can.counted; }, "counted"},
    NeedCase{{.wakes = true}, [](Can can) { return can.wakes; }, "wakes nobody"},
    NeedCase{{.fence = true}, [](Can can) { return can.fence; }, "fences"},
    NeedCase{{.survives_failover = true},
             [](Can can) { return can.survives_failover; },
             "loses a server"},
    NeedCase{{.long_holds = true}, [](Can can) { return can.long_holds; }, "minutes and hours"},
    NeedCase{{.seals = true}, [](Can can) { return can.seals; }, "seal"},
    NeedCase{{.lists = true}, [](Can can) { return can.lists; }, "which names"},
};

TEST(LockCheck, AnEngineFitsExactlyTheNeedsThatItsRecordOffers) {
  for (const LockCapabilities& can : LockEngines()) {
    for (const NeedCase& tried : kCases) {
      SCOPED_TRACE(std::string(can.engine) + ": " + std::string(tried.words));
      const Status fit = CheckNeeds(tried.needs, can);
      EXPECT_EQ(fit.has_value(), tried.offered(can));
      if (!fit) {
        EXPECT_EQ(fit.error().code, Code::kInvalid);
        EXPECT_NE(fit.error().message.find(tried.words), std::string::npos) << fit.error().message;
        EXPECT_NE(fit.error().message.find(can.engine), std::string::npos) << fit.error().message;
      }
    }
    EXPECT_TRUE(CheckNeeds({}, can)) << "who needs nothing takes any";
  }
}

TEST(LockCheck, OfSeveralNeedsEachCounts) {
  LockCapabilities can{.engine = "nobody's", .fair = true, .fence = true};
  EXPECT_TRUE(CheckNeeds({.fair = true, .fence = true}, can));
  EXPECT_FALSE(CheckNeeds({.fair = true, .fence = true, .seals = true}, can));
}

TEST(LockCheck, ADomainIsNotOpenedOverAnEngineThatLacksANeed) {
  const auto domain = LockDomain::Open(MakeMemoryLocks(), {.needs = {.survives_failover = true}});
  ASSERT_FALSE(domain.has_value());
  EXPECT_EQ(domain.error().message, "the engine memory may forget a hold when it loses a server");
}

TEST(LockCheck, ALeaseIsAsLongAsTheEngineHasAtMost) {
  const LockCapabilities can{.engine = "nobody's", .longest_lease = milliseconds(9'000)};
  EXPECT_TRUE(CheckLockOptions({.lease = milliseconds(9'000)}, can));
  const Status longer = CheckLockOptions({.lease = milliseconds(9'001)}, can);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().message, "the engine nobody's has leases of up to 9000 ms");
}

TEST(LockCheck, TimesBelowZeroAreNotTheDomainsOwn) {
  const LockCapabilities can{.engine = "any"};
  for (const milliseconds time : {milliseconds(-1), milliseconds::min()}) {
    EXPECT_EQ(CheckLockOptions({.lease = time}, can).error().code, Code::kInvalid);
    EXPECT_EQ(CheckLockOptions({.margin = time}, can).error().code, Code::kInvalid);
    const auto domain = LockDomain::Open(MakeMemoryLocks());
    EXPECT_EQ((*domain)->Acquire("x", {.lease = time}).error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace oncemq
