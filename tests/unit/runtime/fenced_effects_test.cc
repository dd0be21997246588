// SPDX-License-Identifier: Apache-2.0
// Rows that are written under a lock: several holders over one store, each in a run of its own.
#include "oncemq/framework/fenced_effects.h"

#include "handler_locks_fixture.h"
#include "oncemq/dedup/local_window.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr std::string_view kAccount = "account/42";

class FencedEffectsTest : public HandlerLocksTest {
 protected:
  FencedEffectsTest() {
    LocalWindowOptions options;
    options.directory = directory_.path().string();
    options.identity = "test";
    options.level = Level::kAtomic;
    window_ = *OpenLocalWindow(options, SystemClock::Instance());
    owner_epoch_ = *window_->RaiseOwnerEpoch(0, 0, 0);
    EXPECT_EQ(Drive("first", [](FencedEffects& rows) { Pay(rows, 100); }), DeliveryFate::kApplied);
  }

  // What the handler of one message does under the lock of the account. Not called if Begin
  // refuses.
  using Work = std::function<void(FencedEffects& rows)>;
  DeliveryFate Drive(std::string_view id, const Work& work) {
    const auto handler = [&](const Message&, Context& context) -> Outcome {
      const auto lease = context.Lock(kAccount, {.until = BootTime::min()});
      if (!lease || !*lease) {
        ADD_FAILURE() << "nobody else has it";
        return Retry{};
      }
      holder_ = &**lease;
      auto rows = FencedEffects::Begin(*context.effects(), **lease);
      EXPECT_TRUE(rows.has_value());
      if (!rows || !*rows) {
        return Retry{};
      }
      work(**rows);
      return Done{};
    };
    return HandlerLocksTest::Drive(handler, 1, window_.get(), BootTime::max(), id).front();
  }
  static int Balance(FencedEffects& rows) {
    const auto balance = *rows.Get(kAccount);
    return balance ? std::stoi(*balance) : 0;
  }
  static void Pay(FencedEffects& rows, int amount) {
    EXPECT_TRUE(rows.Put(kAccount, std::to_string(Balance(rows) + amount)));
  }
  std::unique_ptr<EffectBatch> NewRows() { return *window_->NewEffects(0, 0, {}); }
  int Balance() { return std::stoi(**NewRows()->rows()->Get(kAccount)); }
  std::string FenceRow() {
    static constexpr std::string_view kRow("\0oncemq/fence/account/42", 24);
    return **NewRows()->rows()->Get(kRow);
  }
  // Somebody else is let in; the holder is told with its next renewal only.
  void TakeAway() {
    LockEngine& engine = source_of_locks_.domain.lock()->engine();
    const Fence fence = engine.Read(kAccount)->parties.at(0).fence;  // its own, also where elided
    ASSERT_EQ(*engine.Evict(kAccount, fence), Freed::kYes);
    ASSERT_TRUE(holder_->StillMine());
  }

  const TempDir directory_{TempDir::Quick()};
  std::unique_ptr<Window> window_;
  const Lease* holder_ = nullptr;  // of the run that took the account last
};

// The former holder has read, and does not know that it is one.
TEST_F(FencedEffectsTest, WhatAFormerHolderHasReadIsNotWrittenOverALaterHolder) {
  std::string fence_of_later;
  const Work stale = [&](FencedEffects& rows) {
    const int before = Balance(rows);
    TakeAway();
    EXPECT_EQ(Drive("later", [](FencedEffects& later) { Pay(later, -10); }),
              DeliveryFate::kApplied);
    fence_of_later = FenceRow();
    EXPECT_TRUE(rows.Put(kAccount, std::to_string(before + 100)));
  };
  EXPECT_EQ(Drive("former", stale), DeliveryFate::kWithdrawn) << "it is not completed";
  EXPECT_EQ(Balance(), 90);
  EXPECT_EQ(FenceRow(), fence_of_later) << "it never goes back";
  EXPECT_EQ(Drive("former", [](FencedEffects& rows) { Pay(rows, 100); }), DeliveryFate::kApplied);
  EXPECT_EQ(Balance(), 190);
}

// The later holder has read before the former one is written, and Begin() lets nobody out again.
TEST_F(FencedEffectsTest, WhatALaterHolderReadTooEarlyIsNotWrittenOverAFormerHolder) {
  const Lease former = std::move(**domain_->Acquire(kAccount));
  const CompleteRequest request{.id = "former", .token = {2, 1}};
  const ClaimRequest claim{.id = request.id, .token = request.token};
  ClaimAnswer claimed;
  ASSERT_TRUE(window_->Claim({&claim, 1}, {&claimed, 1}));
  const auto batch = NewRows();
  auto rows_of_former = FencedEffects::Begin(*batch->rows(), former);
  Evict(former);
  const Work too_early = [&](FencedEffects& rows) {
    const int before = Balance(rows);
    Pay(**rows_of_former, 100);
    MarkerChange written = MarkerChange::kFenced;
    EXPECT_TRUE(window_->CompleteWith(*batch, {&request, 1}, {&written, 1}));
    EXPECT_EQ(written, MarkerChange::kMade) << "whichever is written first wins";
    EXPECT_TRUE(rows.Put(kAccount, std::to_string(before - 10)));
  };
  EXPECT_EQ(Drive("later", too_early), DeliveryFate::kWithdrawn);
  EXPECT_EQ(Balance(), 200);
  EXPECT_EQ(Drive("later", [](FencedEffects& rows) { Pay(rows, -10); }), DeliveryFate::kApplied);
  EXPECT_EQ(Balance(), 190);
}

// All holders of an assignment have its fence.
TEST_F(FencedEffectsTest, HoldersOfAnElidedNameAreToldApartThoughTheyHaveOneFence) {
  UseElision();
  EXPECT_EQ(Drive("elided", [](FencedEffects& rows) { Pay(rows, 100); }), DeliveryFate::kApplied);
  const Work stale = [&](FencedEffects& rows) {
    const int before = Balance(rows);
    TakeAway();
    EXPECT_EQ(Drive("later", [](FencedEffects& later) { Pay(later, -10); }),
              DeliveryFate::kApplied);
    EXPECT_TRUE(rows.Put(kAccount, std::to_string(before + 100)));
  };
  EXPECT_EQ(Drive("former", stale), DeliveryFate::kWithdrawn);
  EXPECT_EQ(Balance(), 190);
}

TEST_F(FencedEffectsTest, RowsOfAnEarlierHolderAreRefused) {
  const auto rows_of_run = NewRows();
  Effects& rows = *rows_of_run->rows();
  Lease first = std::move(**domain_->Acquire("x"));
  auto by_first = FencedEffects::Begin(rows, first);
  ASSERT_TRUE(by_first.has_value() && by_first->has_value());
  EXPECT_TRUE((*by_first)->Put("row", "1"));
  Evict(first);
  const Lease second = std::move(**domain_->Acquire("x"));
  auto by_second = FencedEffects::Begin(rows, second);
  ASSERT_TRUE(by_second.has_value() && by_second->has_value());
  EXPECT_EQ(*(*by_second)->Get("row"), "1");
  EXPECT_FALSE(FencedEffects::Begin(rows, first)->has_value());
  EXPECT_FALSE(*first.Confirm());
  EXPECT_EQ((*by_first)->Put("row", "2").error().code, Code::kFenced);
  EXPECT_EQ(FencedEffects::Begin(rows, Lease()).error().code, Code::kInvalid);
  const Lease counted =
      std::move(**domain_->Acquire("y", {.mode = LockMode::kCounted, .limit = 2}));
  EXPECT_EQ(FencedEffects::Begin(rows, counted).error().code, Code::kInvalid);
  const Lease shared = std::move(**domain_->Acquire("z", {.mode = LockMode::kShared}));
  EXPECT_EQ(FencedEffects::Begin(rows, shared).error().code, Code::kInvalid);
}

TEST_F(FencedEffectsTest, TheRowOfAFenceIsNobodysToWrite) {
  const auto rows_of_run = NewRows();
  Effects& rows = *rows_of_run->rows();
  ASSERT_TRUE(rows.Put("fence/x", "of the user"));
  const Lease lease = std::move(**domain_->Acquire("x"));
  auto fenced = FencedEffects::Begin(rows, lease);
  ASSERT_TRUE(fenced.has_value() && fenced->has_value());
  const std::string row = std::string(1, '\0') + "oncemq/fence/x";
  EXPECT_TRUE((*rows.Get(row)).has_value()) << "here it is";
  const auto refused = [](const Status& done) {
    return !done && done.error().code == Code::kInvalid;
  };
  EXPECT_TRUE(refused((*fenced)->Put(row, "0")));
  EXPECT_TRUE(refused((*fenced)->Add(row, 1)));
  EXPECT_TRUE(refused((*fenced)->Delete(row)));
  EXPECT_EQ(*(*fenced)->Get("fence/x"), "of the user");
}

// What would give rows a fence without a lease does not compile here.
template <class... Arguments>
concept BeginsRows = requires(Arguments... arguments) {
  FencedEffects::Begin(arguments...);
};

TEST_F(FencedEffectsTest, RowsUnderAFenceAreBegunByALeaseOnly) {
  static_assert(BeginsRows<Effects&, const Lease&>);
  static_assert(!BeginsRows<Effects&>);
  static_assert(!BeginsRows<Effects&, Fence>);
  static_assert(!BeginsRows<Effects&, std::string_view>);
  static_assert(!BeginsRows<Effects&, const Lease*>);
  static_assert(!std::is_default_constructible_v<FencedEffects>);
  static_assert(!std::is_constructible_v<FencedEffects, Effects&>);
  static_assert(!std::is_constructible_v<FencedEffects, Effects&, const Lease&>);
}

}  // namespace
}  // namespace oncemq::testing
