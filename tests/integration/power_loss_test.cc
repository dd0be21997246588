// SPDX-License-Identifier: Apache-2.0
// The power goes while a member works: what its stores had not synced is gone, and the broker's
// commits and the target of guarded effects are not. Then a new member begins on what is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "guarded_target.h"
#include "ledger_rows.h"
#include "member_process.h"
#include "power_cut.h"
#include "storm.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/power/power_loss.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr uint32_t kLosses = 4;

class KafkaPowerLoss : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    name_ = "power-" + GetParam();
    KafkaAdmin(SharedKafka::Get().bootstrap())
        .CreateTopic({.name = name_, .partitions = size_.partitions});
    std::filesystem::create_directories(dir_.path() / "stores");
  }
  bool Atomic() const { return GetParam().starts_with("atomic"); }

  MemberSetup Setup() const {
    return {SharedKafka::Get().bootstrap(), name_ + "-group", name_, dir_.path(), GetParam()};
  }
  // What files have lost. Others may have come back, whose removal was not synced.
  static int64_t BytesLost(const std::filesystem::path& before,
                           const std::filesystem::path& after) {
    int64_t lost = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(before)) {
      if (entry.is_regular_file()) {
        std::error_code missing;
        const auto left =
            std::filesystem::file_size(after / entry.path().lexically_relative(before), missing);
        const auto size = static_cast<int64_t>(entry.file_size());
        lost += std::max<int64_t>(0, size - (missing ? 0 : static_cast<int64_t>(left)));
      }
    }
    return lost;
  }
  size_t Calls() {
    calls_log_.ReadOn(calls_);
    return calls_.size();
  }
  size_t CallsOfHandlers() {
    Calls();
    return static_cast<size_t>(
        std::count_if(calls_.begin(), calls_.end(),
                      [](const CallRecord& call) { return call.kind == CallRecord::kCalled; }));
  }
  // A member works for a while; then its process and the power go at once.
  void LoseThePower(uint32_t number, StormProducer& producer) {
    const auto stores = dir_.path() / "stores";
    PowerLoss loss(stores, dir_.path() / ("record-" + std::to_string(number)));
    const auto member = StartMember(Setup(), number, loss.Environment());
    const size_t before = Calls();
    const size_t wanted = before + 200 + random_() % 2'000;
    ASSERT_TRUE(producer.FeedUntil(size_.ids / (kLosses + 2) * (number + 1), [&] {
      return Calls() >= wanted;
    })) << LogOfMember(Setup(), number);
    member->Kill9();
    loss.ReadRecord();
    loss.ReplayTo(loss.entries());
    const auto left = dir_.path() / "left";
    const Keep keeps[] = {Keep::kSynced, Keep::kBefore, Keep::kBeforeOwn, Keep::kAny};
    CutThePower(loss, keeps[number % 4], random_, left);
    lost_bytes_ += BytesLost(stores, left);
    std::filesystem::remove_all(stores);
    std::filesystem::rename(left, stores);
  }
  void Judge(uint64_t sent) {
    const Totals totals =
        ExpectCommitsAddUp(SharedKafka::Get().bootstrap(), name_ + "-group", name_, sent);
    EXPECT_EQ(totals.applied + totals.suppressed, static_cast<int64_t>(sent));
    if (Atomic()) {
      EXPECT_EQ(totals.applied, size_.ids);
      ExpectLedger(dir_.path(), GetParam(), name_ + "-group", name_, size_);
      return;
    }
    StormLog effects;
    for (const StoredEffect& effect : GuardedTarget(dir_.path() / "target").All()) {
      effects.Append(effect.id);
    }
    effects.ExpectOnceAndInOrder(size_);
  }

  const StormSize size_{.ids = 20'000, .keys = 499, .far = 2'000, .partitions = 3};
  const TempDir dir_;
  std::string name_;
  std::mt19937_64 random_{7};
  CallLog calls_log_{dir_.path() / "calls"};
  std::vector<CallRecord> calls_;
  int64_t lost_bytes_ = 0;
};

TEST_P(KafkaPowerLoss, WhatADiskForgetsIsHandledAgainAndNothingTwice) {
  StormProducer producer(SharedKafka::Get().bootstrap(), name_, size_);
  for (uint32_t number = 0; number < kLosses && !HasFatalFailure(); number++) {
    LoseThePower(number, producer);
  }
  ASSERT_FALSE(HasFatalFailure());
  const auto last = StartMember(Setup(), kLosses);
  producer.SendTheRest();
  EXPECT_TRUE(
      AllCommitted(SharedKafka::Get().bootstrap(), name_ + "-group", name_, producer.sent()))
      << LogOfMember(Setup(), kLosses);
  EXPECT_EQ(last->Terminate(seconds(20)), 0) << LogOfMember(Setup(), kLosses);
  EXPECT_GT(lost_bytes_, 0) << "or it was no loss";
  if (GetParam() == "atomic-unsynced") {
    EXPECT_GT(CallsOfHandlers(), size_.ids) << "no effect was lost, so none came again";
  }
  Judge(producer.sent());
}

INSTANTIATE_TEST_SUITE_P(Windows, KafkaPowerLoss,
                         ::testing::Values("guarded", "guarded-unsynced", "atomic",
                                           "atomic-unsynced"),
                         [](const auto& kind) {
                           std::string name = kind.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace oncemq::testing
