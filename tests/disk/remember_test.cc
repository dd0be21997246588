// SPDX-License-Identifier: Apache-2.0
// Openings of one store that ask for different times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "disk_window.h"
#include "oncemq/dedup/store_reader.h"
#include "oncemq/dedup/store_stat.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DiskRemember : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Window>> Open(const RememberTimes& times) const {
    auto options = DiskOptions(store_, 1'000);
    options.remember = times.remember;
    options.skew = times.skew;
    return OpenLocalWindow(options, SystemClock::Instance());
  }
  RememberTimes InForce() const {
    const auto reader = StoreReader::Open(store_, SystemClock::Instance());
    EXPECT_TRUE(reader) << ToString(reader.error());
    return (*reader)->Stat()->remembers;
  }

  const TempDir directory_;
  const std::string store_ = directory_.path() / "store";
  const RememberTimes week_{std::chrono::hours(168), std::chrono::seconds(60)};
  const RememberTimes hour_{std::chrono::hours(1), milliseconds(0)};
};

TEST_F(DiskRemember, AShorterOpeningIsRefusedAndALongerOneExtendsTheStore) {
  ASSERT_TRUE(Open(hour_));
  ASSERT_TRUE(Open(week_));
  EXPECT_EQ(InForce(), week_);
  const auto refused = Open(hour_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_THAT(
      refused.error().message,
      AllOf(HasSubstr(store_), HasSubstr("has remember 168h, skew 1m; "),
            HasSubstr("asks for remember 1h, skew 0ms"), HasSubstr("`oncemq window shorten ")));
  EXPECT_EQ(InForce(), week_);
}

TEST_F(DiskRemember, AnOperatorShortensAStoreThatNobodyHolds) {
  auto held = Open(week_);
  ASSERT_TRUE(held);
  EXPECT_EQ(ReplaceRememberTimes(store_, hour_).error().code, Code::kUnavailable);
  held->reset();
  EXPECT_EQ(*ReplaceRememberTimes(store_, hour_), hour_);
  EXPECT_EQ(InForce(), hour_);
  EXPECT_EQ(*ReplaceRememberTimes(store_, week_), hour_) << "it only lowers";
  EXPECT_EQ(*ReplaceRememberTimes(store_, {hour_.remember, week_.skew}), hour_);
  EXPECT_EQ(InForce(), hour_);
  EXPECT_TRUE(Open(hour_));
  EXPECT_FALSE(ReplaceRememberTimes(directory_.path() / "nothing", hour_));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "nothing"));
}

TEST_F(DiskRemember, APartitionWhoseStoreKeepsIdsForLongerIsRefused) {
  const StoreName name{.partition = 0, .topic = "payments", .owner = "us"};
  const auto open = [&](const RememberTimes& times) {
    auto options = DiskOptions(store_, 1'000);
    options.remember = times.remember;
    options.skew = times.skew;
    const auto windows = OpenPartitionWindows(options, SystemClock::Instance());
    EXPECT_TRUE(windows);
    const auto known = (*windows)->Open(name);
    return known ? Status() : Status(known.error());
  };
  ASSERT_TRUE(open(week_));
  const Status refused = open(hour_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_TRUE(open(week_));
}

}  // namespace
}  // namespace oncemq::testing
