// SPDX-License-Identifier: Apache-2.0
// A window whose server's clock is set back by an hour while nobody renews: no claim outlives the
// hour for that.
//
//   INSTANTIATE_TEST_SUITE_P(Postgres, ClockSetBack,
//                            Values(ClockOfServer{name, missing, open, advance}));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "oncemq/dedup/conformance/window_conformance.h"
#include "support/require_backend.h"

namespace oncemq::testing {

struct ClockOfServer {
  std::string name;
  std::function<std::optional<std::string>()> missing;  // why it cannot be had
  std::function<Result<std::unique_ptr<Window>>(const ConformanceSetup&)> open;
  std::function<void(milliseconds)> advance;
};
inline void PrintTo(const ClockOfServer& server, std::ostream* out) {
  *out << server.name;
}

class ClockSetBack : public ::testing::TestWithParam<ClockOfServer> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    auto opened = GetParam().open({.level = Level::kOpaque});
    ASSERT_TRUE(opened) << ToString(opened.error());
    window_ = *std::move(opened);
  }
  static constexpr milliseconds kLease{30'000};  // of WindowTimes
  static constexpr milliseconds kBack{3'600'000};

  static void Advance(milliseconds by) { GetParam().advance(by); }
  void SetBack() {
    Advance(milliseconds(1'500));
    Advance(-kBack);
  }
  ClaimAnswer Claim(const ClaimRequest& request) {
    ClaimAnswer answer;
    const Status done = window_->Claim({&request, 1}, {&answer, 1});
    EXPECT_TRUE(done) << ToString(done.error());
    return answer;
  }
  MarkerChange Restore(OwnerEpoch owner_epoch) {
    const RestoreRequest request{.id = "x", .at = {0, 4, 9}, .owner_epoch = owner_epoch};
    MarkerChange change{};
    EXPECT_TRUE(window_->Restore({&request, 1}, {&change, 1}));
    return change;
  }

  // `raised_before`: the heir owned the partition when the clock was still ahead.
  void ExpectAnHeirWaits(bool raised_before);

  std::unique_ptr<Window> window_;
};

// An operation of a gate.
TEST_P(ClockSetBack, AClaimWithoutAPartitionEndsWithItsLease) {
  const ClaimRequest dead{.id = "x", .token = {1, 1}};
  ASSERT_EQ(Claim(dead).answer, ClaimVerdict::kGranted);
  SetBack();
  const ClaimRequest requests{.id = "x", .token = {2, 1}, .not_if_uncertain = true};
  const ClaimAnswer held = Claim(requests);
  EXPECT_EQ(held.answer, ClaimVerdict::kInFlight);
  EXPECT_FALSE(held.uncertain);
  EXPECT_LE(held.wait, kLease);
  Advance(kLease / 2);
  EXPECT_LE(Claim(requests).wait, kLease / 2) << "a look must not begin the lease anew";
  Advance(kLease / 2);
  EXPECT_TRUE(Claim(requests).uncertain);
  const ClaimAnswer resolves = Claim({.id = "x", .token = {3, 1}});
  EXPECT_EQ(resolves.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(resolves.uncertain);
}

inline void ClockSetBack::ExpectAnHeirWaits(bool raised_before) {
  const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, 3, 0);
  ASSERT_EQ(Claim({.id = "x", .token = {1, 1}, .at = {0, 3, 7}, .owner_epoch = owner_epoch}).answer,
            ClaimVerdict::kGranted);
  OwnerEpoch heirs = raised_before ? *window_->RaiseOwnerEpoch(0, 3, owner_epoch + 1) : 0;
  SetBack();
  heirs = raised_before ? heirs : *window_->RaiseOwnerEpoch(0, 3, owner_epoch + 1);
  ClaimRequest requests{.id = "x", .token = {2, 1}, .at = {0, 3, 7}, .owner_epoch = heirs};
  const milliseconds most = std::max(kLease, WindowTimes().handler_timeout);
  const ClaimAnswer held = Claim(requests);
  EXPECT_EQ(held.answer, ClaimVerdict::kInFlight) << "the former owner's handler may act still";
  EXPECT_GE(held.wait, WindowTimes().handler_timeout - kLease);
  EXPECT_LE(held.wait, most);
  Advance(most / 2);
  EXPECT_EQ(Claim(requests).answer, ClaimVerdict::kInFlight);
  Advance(most / 2);
  const ClaimAnswer taken = Claim(requests);
  EXPECT_EQ(taken.answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(taken.uncertain);
}

TEST_P(ClockSetBack, ARestoreWaitsForTheLeaseOnly) {
  const OwnerEpoch owner_epoch = *window_->RaiseOwnerEpoch(0, 4, 0);
  ASSERT_EQ(Claim({.id = "x", .token = {1, 1}}).answer, ClaimVerdict::kGranted);
  SetBack();
  EXPECT_EQ(Restore(owner_epoch), MarkerChange::kInFlight);
  Advance(kLease);
  EXPECT_EQ(Restore(owner_epoch), MarkerChange::kMade);
}

// Its holder renews, and the clock has passed its grant.
TEST_P(ClockSetBack, AClaimOfThePastIsLeftAlone) {
  const ClaimRequest holder{.id = "x", .token = {1, 1}, .lease = std::chrono::hours(3)};
  ASSERT_EQ(Claim(holder).answer, ClaimVerdict::kGranted);
  Advance(kBack);
  SetBack();
  EXPECT_GT(Claim({.id = "x", .token = {2, 1}}).wait, std::chrono::hours(2));
}

TEST_P(ClockSetBack, AnHeirWaitsForAsLongAsItDoesElsewhere) {
  ExpectAnHeirWaits(/*raised_before=*/false);
}

TEST_P(ClockSetBack, AnHeirThatOwnedThePartitionBeforeWaitsForAsLong) {
  ExpectAnHeirWaits(/*raised_before=*/true);
}

}  // namespace oncemq::testing
