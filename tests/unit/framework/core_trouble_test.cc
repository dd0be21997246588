// SPDX-License-Identifier: Apache-2.0
// The counts of trouble next to the outcomes.
#include <gmock/gmock.h>

#include <functional>

#include "core_harness.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CoreTrouble : public CoreHarness {
 protected:
  static CoreOptions Parking() {
    CoreOptions options = Small();
    options.refusals.parks = true;
    return options;
  }
  CoreTrouble() : CoreHarness(Parking()) { Give(0); }

  using Edit = std::function<void(Settlement&)>;
  // The next one.
  void SettleNext(
      DeliveryFate fate, const Edit& edit = [](Settlement&) {}) {
    const auto items = Take();
    ASSERT_FALSE(items.empty());
    Settlement settlement;
    settlement.slot = items[0].slot;
    settlement.ticket = items[0].ticket;
    settlement.redriven = items[0].redriven;
    settlement.fate = fate;
    settlement.wait = microseconds(fate == DeliveryFate::kRetry ? 1'000 : 0);
    edit(settlement);
    Settle(settlement);
    for (size_t i = 1; i < items.size(); i++) {
      Settle(items[i], DeliveryFate::kWithdrawn);
    }
  }
  DeliveryCounts Counts() const { return core_.Status(0).counts; }
};

TEST_F(CoreTrouble, ARetryCountsByItsClassAndAWaitDoesNot) {
  Admit(0, 0, "a");
  for (const bool not_done : {true, false, true}) {
    SettleNext(DeliveryFate::kRetry, [&](Settlement& one) { one.not_done = not_done; });
    After(1'000);
  }
  SettleNext(DeliveryFate::kWait);
  EXPECT_EQ(Counts().retries, 1);
  EXPECT_EQ(Counts().retries_not_done, 2);
}

TEST_F(CoreTrouble, ARetriedMessageTellsHowLateItIs) {
  const auto late = [this] {
    oncemq::MessageBatch batch;
    core_.TakeBatch(batch, now_);
    for (const BatchItem& item : batch.items) {
      Settle(item, DeliveryFate::kWait, 1'000);
    }
    return batch.late;
  };
  Admit(0, 0, "a");
  SettleNext(DeliveryFate::kRetry);
  After(999);
  EXPECT_THAT(late(), IsEmpty());
  After(251);
  EXPECT_THAT(late(), ElementsAre(microseconds(250)));
  After(1'500);
  EXPECT_THAT(late(), IsEmpty()) << "another claim was in its way";
}

TEST_F(CoreTrouble, AParkedMessageCountsByItsCause) {
  const auto park = [this](int64_t offset, const std::string& key, const Edit& edit) {
    Admit(0, offset, key);
    SettleNext(DeliveryFate::kParked, edit);
  };
  const Edit plain = [](Settlement&) {};
  park(0, "a", [](Settlement& one) { one.handled = true; });
  park(1, "a", plain);
  park(2, "b", plain);
  park(3, "c", [](Settlement& one) { one.conflict = true; });
  park(4, "d", [](Settlement& one) { one.attached = true; });
  park(5, "e", [](Settlement& one) { one.attempts.made = 2; });
  EXPECT_THAT(Counts().parked_by, ElementsAre(2, 1, 1, 1, 1));
  EXPECT_EQ(Counts().parked, 6);
}

TEST_F(CoreTrouble, ARedrivenMessageCountsByItsEndAndNotAsParkedAnew) {
  const auto redriven = [this](int64_t offset, bool drop, DeliveryFate fate) {
    RedrivenArrival arrival;
    arrival.message = this;
    arrival.key_hash = ProcessHash("a");
    arrival.offset = offset;
    arrival.bytes = 10;
    arrival.drop = drop;
    core_.AdmitRedriven(0, {&arrival, 1});
    SettleNext(fate);
  };
  redriven(0, false, DeliveryFate::kApplied);
  redriven(1, true, DeliveryFate::kSuppressed);
  redriven(2, false, DeliveryFate::kParked);
  redriven(3, false, DeliveryFate::kSuppressed);
  EXPECT_THAT(Counts().redriven, ElementsAre(2, 1, 1));
  EXPECT_THAT(Counts().parked_by, ElementsAre(0, 0, 0, 0, 0));
}

TEST_F(CoreTrouble, ARefusedFenceCountsByItsPlaceAlsoInTheSum) {
  Give(1);
  Admit(0, 0, "a");
  SettleNext(DeliveryFate::kWithdrawn, [](Settlement& one) { one.fenced = FencePlace::kComplete; });
  SettleNext(DeliveryFate::kOwnershipLost,
             [](Settlement& one) { one.fenced = FencePlace::kClaim; });
  EXPECT_EQ(Counts().fenced[static_cast<size_t>(FencePlace::kComplete)], 1);
  EXPECT_EQ(core_.Counts().fenced[static_cast<size_t>(FencePlace::kClaim)], 1);
  EXPECT_EQ(core_.Status(1).counts.fenced[static_cast<size_t>(FencePlace::kClaim)], 0);
}

}  // namespace
}  // namespace oncemq
