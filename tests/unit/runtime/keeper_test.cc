// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/dedup/memory_window.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr milliseconds kLease{30'000};
constexpr milliseconds kRenewEvery{10'000};
constexpr milliseconds kCallTakes{1'900};

// A window on a server that is far away, on a clock that moves only by its calls and by the test.
class FarWindow final : public Window {
 public:
  explicit FarWindow(ManualClock& clock)
      : clock_(clock),
        inner_(*OpenMemoryWindow({.level = Level::kGuarded, .times = {.lease = kLease}}, clock)) {}

  std::atomic<bool> down{false};
  std::atomic<int32_t> lost_partition{-1};
  std::atomic<int32_t> locked_partition{-1};  // somebody has a row of it
  std::atomic<int> calls{0};                  // renewals
  std::atomic<int> renewed{0};                // claims
  std::atomic<int> ended{0};             // claims whose lease was over when their renewal arrived
  std::atomic<size_t> fewest{SIZE_MAX};  // claims of a call

  const WindowCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return inner_->RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return inner_->Claim(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> changes) override {
    return inner_->Complete(requests, changes);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> changes) override {
    return inner_->Release(requests, changes);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> changes) override {
    return inner_->Park(requests, changes);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> changes) override {
    calls++;
    fewest = std::min(fewest.load(), requests.size());
    clock_.Advance(down ? milliseconds(0) : kCallTakes);
    if (down) {
      return Error{Code::kUnavailable, ::oncemq::Effect::kNone, "down"};
    }
    for (const RenewRequest& request : requests) {
      if (request.at.partition == lost_partition) {
        return Error{Code::kLostWrites, ::oncemq::Effect::kNone, "changes are gone"};
      }
      if (request.at.partition == locked_partition) {
        return Error{Code::kUnavailable, ::oncemq::Effect::kNone, "lock timeout"};
      }
    }
    for (const RenewRequest& request : requests) {
      ClaimRequest other;
      other.id = request.id;
      other.token = {99, ++others_};
      other.at = {request.at.source, request.at.partition, 99};  // a copy
      ClaimAnswer answer;
      const Status claimed = inner_->Claim({&other, 1}, {&answer, 1});
      ended += !claimed || answer.answer != ClaimVerdict::kInFlight ? 1 : 0;
    }
    const Status status = inner_->Renew(requests, changes);
    renewed += static_cast<int>(requests.size());
    return status;
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> changes) override {
    return inner_->Restore(requests, changes);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return inner_->Peek(ids, views);
  }

 private:
  ManualClock& clock_;
  const std::unique_ptr<Window> inner_;
  uint64_t others_ = 0;
};

// Runs of one message each, whose handlers do not return.
class KeeperTest : public ::testing::Test {
 protected:
  ~KeeperTest() override {
    keeper_.reset();
    EXPECT_TRUE(stops_.End(seconds(10)));
  }

  void Begin(int32_t runs) {
    for (int32_t i = 0; i < runs; i++) {
      ids_.push_back("id" + std::to_string(i));
    }
    for (int32_t i = 0; i < runs; i++) {
      auto job = std::make_shared<Job>(BatchPolicy{.level = Level::kGuarded},
                                       TokenSource(1, static_cast<uint64_t>(i) * 100 + 1), nullptr);
      BatchItem item;
      item.id = ids_[static_cast<size_t>(i)];
      item.at = {0, i, 0};
      job->batch.items.push_back(item);
      job->batch.safe_until = BootTime::max();
      job->machine.Start(job->batch);
      ASSERT_TRUE(window_.Claim(job->machine.claims(), job->machine.claim_answers()));
      job->machine.Claimed({});
      job->claims_end.Begin();
      job->claims_end.Claimed(clock_.Boot(), {.lease = kLease, .max_lease = kLease * 100});
      job->watch.Reset(/*on_poll_thread=*/false, BootTime::max());
      job->watch.BeginHandling(job->machine, clock_.Boot());
      ASSERT_NE(job->machine.Next(clock_.Boot()), nullptr);
      keeper_->Watch(job);
      jobs_.push_back(std::move(job));
    }
  }
  static bool Holds(const std::function<bool()>& condition) {
    return Eventually(seconds(20), condition);
  }

  ManualClock clock_;
  FarWindow window_{clock_};
  StoreErrors errors_;
  StopCaller stops_;
  std::vector<std::string> ids_;
  std::vector<JobPtr> jobs_;
  std::optional<Keeper> keeper_{std::in_place,
                                Keeper::Options{.renew_every = kRenewEvery, .remote = true},
                                &window_,
                                clock_,
                                errors_,
                                stops_,
                                [] { return true; }};
};

TEST_F(KeeperTest, SixteenLongRunsLoseNoLeaseOverAStoreThatTakesAlmostTwoSecondsACall) {
  constexpr int kRuns = 16;
  Begin(kRuns);
  clock_.Advance(kRenewEvery);
  ASSERT_TRUE(keeper_->Start());
  for (int round = 1; round <= 10; round++) {
    ASSERT_TRUE(Holds([&] { return window_.renewed >= kRuns * round; }));
    clock_.Advance(kRenewEvery);
  }
  EXPECT_EQ(window_.ended, 0);
  for (const JobPtr& job : jobs_) {
    EXPECT_FALSE(job->watch.stop_handling());
    EXPECT_FALSE(job->claims_end.Reached(clock_.Boot())) << "handlers go on";
  }
}

TEST_F(KeeperTest, ARenewalThatFailedIsTriedAgainLongBeforeTheNextOneIsDue) {
  Begin(1);
  window_.down = true;
  clock_.Advance(kRenewEvery);
  ASSERT_TRUE(keeper_->Start());
  ASSERT_TRUE(Holds([&] { return window_.calls >= 1; }));
  window_.down = false;
  clock_.Advance(kRenewEvery / 10);
  EXPECT_TRUE(Holds([&] { return window_.renewed == 1; }));
  EXPECT_EQ(window_.ended, 0);
}

TEST_F(KeeperTest, ALossInOnePartitionStopsTheRunsOfNoOther) {
  Begin(3);
  window_.lost_partition = 1;
  clock_.Advance(kRenewEvery);
  ASSERT_TRUE(keeper_->Start());
  EXPECT_TRUE(Holds([&] { return jobs_[1]->watch.stop_handling() && window_.renewed >= 2; }));
  EXPECT_FALSE(jobs_[0]->watch.stop_handling());
  EXPECT_FALSE(jobs_[2]->watch.stop_handling());
}

TEST_F(KeeperTest, ARowThatSomebodyHasLockedKeepsNoOtherClaimFromBeingRenewed) {
  constexpr int kRuns = 16;
  Begin(kRuns);
  window_.locked_partition = 11;
  clock_.Advance(kRenewEvery);
  ASSERT_TRUE(keeper_->Start());
  EXPECT_TRUE(Holds([&] { return window_.renewed >= kRuns - 1; }));
  EXPECT_EQ(window_.ended, 0);
  for (const JobPtr& job : jobs_) {
    EXPECT_FALSE(job->watch.stop_handling()) << "it may be renewed yet";
  }
}

// A call to a store that is down may take seconds.
TEST_F(KeeperTest, AnOutageIsNotAskedAboutRunByRun) {
  Begin(16);
  window_.down = true;
  clock_.Advance(kRenewEvery);
  ASSERT_TRUE(keeper_->Start());
  EXPECT_TRUE(Holds([&] { return window_.calls >= 3; }));
  EXPECT_FALSE(Eventually(milliseconds(100), [&] { return window_.calls > 3; }));
  EXPECT_EQ(window_.fewest, 8u);
}

TEST_F(KeeperTest, ALossInOnePartitionKeepsNoOwedClaimOfAnotherFromBeingRenewed) {
  window_.lost_partition = 1;
  ASSERT_TRUE(keeper_->Start());
  std::vector<HeldClaim> owed;
  for (int32_t partition = 0; partition < 3; partition++) {
    const std::string id = "owed" + std::to_string(partition);
    const ClaimRequest claim{
        .id = id, .token = {1, 1u + static_cast<uint64_t>(partition)}, .at = {0, partition, 0}};
    ClaimAnswer answer;
    ASSERT_TRUE(window_.Claim({&claim, 1}, {&answer, 1}));
    owed.push_back({id, claim.token, claim.at});
  }
  keeper_->RenewOwed(std::move(owed));
  EXPECT_TRUE(Holds([&] { return window_.renewed == 2; }));
  EXPECT_EQ(window_.ended, 0);
}

}  // namespace
}  // namespace oncemq::testing
