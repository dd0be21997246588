// SPDX-License-Identifier: Apache-2.0
// A disk that fails, whichever call it is from which on it does: the window that met it answers
// nothing that rests on it, and the next opening, on a disk that works again, knows all that was
// answered. Nothing is lost for good to a failure that was not.
#include <gtest/gtest.h>

#include <climits>
#include <filesystem>
#include <string>
#include <type_traits>

#include "disk_window.h"
#include "fault.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr int64_t kErrorIds = 200;
constexpr int64_t kStep = 50;

template <class Failing>
class DiskErrors : public ::testing::Test {
 protected:
  std::string Store() const { return directory_.path() / "store"; }
  Result<std::unique_ptr<Window>> Open() const {
    return OpenLocalWindow(DiskOptions(Store(), /*generation=*/40), SystemClock::Instance());
  }
  // How many ids were answered.
  static int64_t Finish(Window& window) {
    const auto owner_epoch = window.RaiseOwnerEpoch(0, 0, 0);
    for (int64_t i = 0; owner_epoch && i < kErrorIds; i += kStep) {
      const Progress progress{0, 0, *owner_epoch, i + kStep, kThen};
      MarkerChange change{};
      if (!FinishIds(window, i, i + kStep)) {
        return i;
      }
      if (!window.Announce({}) || !window.Committed({&progress, 1}, {&change, 1})) {
        return i + kStep;
      }
    }
    return owner_epoch ? kErrorIds : 0;
  }
  // How many calls there were to fail, of which every `step`th one does.
  int FailEach(int step, int most) {
    for (int after = 0;; after += step) {
      std::filesystem::remove_all(Store());
      int64_t answered = 0;
      int failed = 0;
      {
        const Failing failing(after, most);
        if (auto window = Open()) {
          answered = Finish(**window);
        }
        failed = failing.failed();
      }
      const auto next = Open();
      if (!next) {
        ADD_FAILURE() << "after " << after << " calls: " << ToString(next.error());
        return after;
      }
      EXPECT_EQ(*Unknown(**next, 0, answered), 0) << "short, after " << after << " calls";
      if (failed == 0) {
        return after;
      }
    }
  }

  const TempDir directory_{TempDir::Quick()};
};

using Calls = ::testing::Types<FailingSyncs, FailingWrites, FailingNames, FailingMarks>;
TYPED_TEST_SUITE(DiskErrors, Calls);

TYPED_TEST(DiskErrors, ACallThatFailsOnceCostsNothingThatWasAnswered) {
  const int step = std::is_same_v<TypeParam, FailingSyncs> ? 1 : 2;  // a failed one costs a second
  EXPECT_GT(this->FailEach(step, /*most=*/1), 5);
}

TYPED_TEST(DiskErrors, CallsThatFailFromThenOnCostNothingThatWasAnswered) {
  const int step = std::is_same_v<TypeParam, FailingWrites> ? 1 : 2;
  EXPECT_GT(this->FailEach(step, INT_MAX), 5);
}

}  // namespace
}  // namespace oncemq::testing
