// SPDX-License-Identifier: Apache-2.0
// The suite itself: that a durable and shared engine is asked what it claims, and that an engine
// which claims less is asked less.
#include <gtest/gtest.h>

#include <set>

#include "memory_engines.h"

namespace oncemq {
namespace {

// A client of a store that outlives it, as a window on a server is.
class ClientWindow final : public Window {
 public:
  ClientWindow(const WindowCapabilities& capabilities, std::shared_ptr<Window> store)
      : capabilities_(capabilities), store_(std::move(store)) {}

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return store_->RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    const Status status = store_->Claim(requests, answers);
    for (ClaimAnswer& answer : answers.first(status ? requests.size() : 0)) {
      answer.result = capabilities_.keeps_results ? answer.result : "";
    }
    return status;
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override {
    return store_->Complete(requests, answers);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override {
    return store_->Release(requests, answers);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override {
    return store_->Park(requests, answers);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override {
    return store_->Renew(requests, answers);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override {
    return store_->Restore(requests, answers);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return store_->Peek(ids, views);
  }
  Status RecordUncertain(std::span<const UncertainCall> calls) override {
    return store_->RecordUncertain(calls);
  }
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override {
    return store_->ListUncertain(since);
  }

 private:
  const WindowCapabilities capabilities_;
  std::shared_ptr<Window> store_;
};

WindowEngine EngineOfClients(const WindowCapabilities& capabilities) {
  const WindowEngine memory = MemoryEngine("memory");
  auto store = std::make_shared<std::shared_ptr<Window>>();
  const auto reopen = [=](const ConformanceSetup& setup) -> Result<std::unique_ptr<Window>> {
    WindowCapabilities opened = capabilities;
    opened.level = setup.level;
    return std::unique_ptr<Window>(new ClientWindow(opened, *store));
  };
  return {
      .name = std::string(capabilities.engine),
      .capabilities = capabilities,
      .open =
          [=](const ConformanceSetup& setup) {
            *store = *memory.open(setup);
            return reopen(setup);
          },
      .reopen = reopen,
      .advance = memory.advance,
  };
}

[[maybe_unused]] const bool kStore = RegisterWindowConformance(
    EngineOfClients({.engine = "store", .shared = true, .durable = true}));
[[maybe_unused]] const bool kModest =
    RegisterWindowConformance(EngineOfClients({.engine = "modest",
                                               .leases_by_clock = false,
                                               .opaque = false,
                                               .keeps_results = false,
                                               .fingerprints = false}));

std::set<std::string> TestsOf(const std::string& suite) {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); i++) {
    const testing::TestSuite& one = *all.GetTestSuite(i);
    for (int j = 0; one.name() == suite && j < one.total_test_count(); j++) {
      names.insert(one.GetTestInfo(j)->name());
    }
  }
  return names;
}

TEST(ConformanceSuite, OnlyADurableEngineIsOpenedAgain) {
  const std::string name = "WhatWasDoneIsDoneAfterTheStoreIsOpenedAgain";
  EXPECT_TRUE(TestsOf("store_guarded/WindowConformance").contains(name));
  EXPECT_FALSE(TestsOf("memory_guarded/WindowConformance").contains(name));
}

TEST(ConformanceSuite, EachLevelIsAskedWhatHoldsThere) {
  const std::string at_once = "TheNewOwnerTakesItsPartitionsDeliveryOverAtOnce";
  EXPECT_TRUE(TestsOf("memory_guarded/WindowConformance").contains(at_once));
  EXPECT_FALSE(TestsOf("memory_opaque/WindowConformance").contains(at_once));
}

TEST(ConformanceSuite, AnEngineThatClaimsLessIsAskedLess) {
  const std::set<std::string> modest = TestsOf("modest_guarded/WindowConformance");
  EXPECT_GT(modest.size(), 50u);
  EXPECT_LT(modest.size(), TestsOf("store_guarded/WindowConformance").size());
  EXPECT_FALSE(modest.contains("ARenewedLeaseEndsToo"));
  EXPECT_FALSE(modest.contains("AJudgedIdStaysNew"));
  EXPECT_TRUE(TestsOf("modest_opaque/WindowConformance").empty());
}

}  // namespace
}  // namespace oncemq
