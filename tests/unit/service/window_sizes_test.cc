// SPDX-License-Identifier: Apache-2.0
// The size of a window, also while its disk hangs.
#include "window_sizes.h"

#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/base/wait_until.h"
#include "oncemq/dedup/store_stat.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kLong{60'000};

// Two stores, one of them empty.
class SizedWindow final : public Window {
 public:
  const WindowCapabilities& capabilities() const override {
    capabilities_.remote = remote;
    return capabilities_;
  }
  Result<std::vector<StoreStat>> Stat() override {
    asked++;
    MutexLock lock(mutex);
    return std::vector{StoreStat{.recent = 7, .history = 100, .disk_bytes = 4096}, StoreStat{}};
  }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch) override { return kUnused; }
  Status Claim(std::span<const ClaimRequest>, std::span<ClaimAnswer>) override { return kUnused; }
  Status Complete(std::span<const CompleteRequest>, std::span<MarkerChange>) override {
    return kUnused;
  }
  Status Release(std::span<const ReleaseRequest>, std::span<MarkerChange>) override {
    return kUnused;
  }
  Status Park(std::span<const ParkRequest>, std::span<MarkerChange>) override { return kUnused; }
  Status Renew(std::span<const RenewRequest>, std::span<MarkerChange>) override { return kUnused; }
  Status Restore(std::span<const RestoreRequest>, std::span<MarkerChange>) override {
    return kUnused;
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override { return kUnused; }

  bool remote = false;
  std::atomic<int> asked = 0;
  Mutex mutex;  // of a disk that hangs

 private:
  inline static const Error kUnused{Code::kInvalid, Effect::kNone, "not used"};
  mutable WindowCapabilities capabilities_;
};

TEST(WindowSizes, AllStoresOfAWindowOnThisHostCount) {
  SizedWindow window;
  WindowSizes sizes(window);
  const auto size = sizes.Look(kLong);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->ids, 107u);
  EXPECT_EQ(size->disk_bytes, 4096u);
  sizes.Look(kLong);
  EXPECT_EQ(window.asked, 2) << "each is a look of its own";
}

TEST(WindowSizes, AWindowInAServerIsNotAsked) {
  SizedWindow window;
  window.remote = true;
  EXPECT_FALSE(WindowSizes(window).Look(kLong));
  EXPECT_EQ(window.asked, 0);
}

TEST(WindowSizes, WhileADiskHangsTheLastSizeIsTold) {
  SizedWindow window;
  WindowSizes sizes(window);
  window.mutex.lock();
  EXPECT_FALSE(sizes.Look(milliseconds(1))) << "no look has ended yet";
  window.mutex.unlock();
  ASSERT_TRUE(sizes.Look(kLong));
  window.mutex.lock();
  const auto size = sizes.Look(milliseconds(1));
  window.mutex.unlock();
  ASSERT_TRUE(size);
  EXPECT_EQ(size->ids, 107u);
}

}  // namespace
}  // namespace oncemq::testing
