// SPDX-License-Identifier: Apache-2.0
// Processes of one scope that ask for different times: what each window in a server must do.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "oncemq/dedup/store_stat.h"
#include "oncemq/dedup/window.h"

namespace oncemq::testing {

// Opens the scope of the present test.
using OpenScope =
    std::function<Result<std::unique_ptr<Window>>(const RememberTimes& times, bool existing_only)>;

// A process that owns partition 3.
//
// Thread safety: one thread.
class RememberMember {
 public:
  static constexpr LogTime kFiled{milliseconds(1'600'000'000'000)};

  explicit RememberMember(Result<std::unique_ptr<Window>> window) {
    EXPECT_TRUE(window) << ToString(window.error());
    window_ = *std::move(window);
    EXPECT_TRUE(window_->Open({.partition = 3, .topic = "payments", .owner = "us"}));
    owner_epoch_ = *window_->RaiseOwnerEpoch(0, 3, 0);
  }
  Window& window() { return *window_; }

  ClaimVerdict Claim(std::string_view id, int64_t offset) {
    claim_ = {.id = id,
              .token = {7, ++tokens_},
              .at = {0, 3, offset},
              .owner_epoch = owner_epoch_,
              .time = kFiled};
    ClaimAnswer answer;
    EXPECT_TRUE(window_->Claim({&claim_, 1}, {&answer, 1}));
    return answer.answer;
  }
  void Finish(std::string_view id, int64_t offset) {
    EXPECT_EQ(Claim(id, offset), ClaimVerdict::kGranted);
    const CompleteRequest done{
        .id = id, .token = claim_.token, .at = claim_.at, .time = claim_.time};
    MarkerChange change = MarkerChange::kFenced;
    EXPECT_TRUE(window_->Complete({&done, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
  }
  // Announces and tells a commit whose log time is so much later than the ids'; then sweeps.
  void Commit(int64_t frontier, milliseconds later) {
    const Announcement announced{
        .partition = 3, .to = frontier, .offset = frontier, .owner_epoch = owner_epoch_};
    EXPECT_TRUE(window_->Announce({&announced, 1}));
    const Progress progress{.partition = 3,
                            .owner_epoch = owner_epoch_,
                            .frontier = frontier,
                            .watermark = kFiled + later};
    MarkerChange change = MarkerChange::kFenced;
    EXPECT_TRUE(window_->Committed({&progress, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
    static_cast<void>(window_->DropAged(std::chrono::seconds(20)));  // where it has that call
  }

 private:
  std::unique_ptr<Window> window_;
  OwnerEpoch owner_epoch_ = 0;
  ClaimRequest claim_;
  uint64_t tokens_ = 0;
};

inline RememberTimes InForce(Window& window) {
  const auto stat = window.Stat();
  EXPECT_TRUE(stat) << ToString(stat.error());
  return stat ? stat->front().remembers : RememberTimes{};
}

inline void ExpectShorterTimesAreRefused(const OpenScope& open) {
  using std::chrono::hours;
  using std::chrono::seconds;
  const RememberTimes week{hours(168), seconds(60)};
  const auto first = *open(week, false);
  EXPECT_EQ(InForce(*first), week);
  for (const RememberTimes& shorter :
       {RememberTimes{seconds(10), seconds(0)}, RememberTimes{seconds(10), seconds(60)},
        RememberTimes{hours(200), seconds(30)}}) {
    const auto refused = open(shorter, false);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid);
    EXPECT_THAT(refused.error().message,
                ::testing::AllOf(::testing::HasSubstr("has remember 168h, skew 1m; "),
                                 ::testing::HasSubstr("asks for remember "),
                                 ::testing::HasSubstr("`oncemq window shorten ")));
    const auto existing = open(shorter, true);
    ASSERT_TRUE(existing) << "it forgets nothing: " << ToString(existing.error());
    EXPECT_EQ(*(*existing)->Remember(RememberChange::kNone), week);
    EXPECT_EQ((*existing)->Remember(RememberChange::kCheck).error().code, Code::kInvalid);
    EXPECT_EQ((*existing)->Remember(RememberChange::kExtend).error().code, Code::kInvalid);
  }
  EXPECT_EQ(InForce(*first), week) << "a refused opening changes nothing";
  EXPECT_TRUE(open(week, false));
}

// Rule 22. The first member goes on under the times of the second.
inline void ExpectLongerTimesHoldForAll(const OpenScope& open) {
  using std::chrono::hours;
  const RememberTimes hour{hours(1), milliseconds(0)};
  const RememberTimes longer{hours(100), hours(1)};
  RememberMember member(open(hour, false));
  member.Commit(0, hours(0));
  member.Finish("x", 1);
  member.Finish("y", 3);
  ASSERT_TRUE(open(longer, false));
  EXPECT_EQ(InForce(member.window()), longer);
  member.Commit(4, hours(50));
  EXPECT_EQ(member.Claim("x", 1), ClaimVerdict::kDuplicate) << "it forgot by its own hour";
  for (const RememberTimes& raised :
       {RememberTimes{hours(200), hours(1)}, RememberTimes{hours(100), hours(2)},
        RememberTimes{hours(1), hours(2)}}) {
    const auto refused = (*open(raised, true))->Remember(RememberChange::kReplace);
    ASSERT_FALSE(refused) << "an operator who lowers would raise it";
    EXPECT_EQ(refused.error().code, Code::kInvalid);
    EXPECT_THAT(refused.error().message,
                ::testing::AllOf(::testing::HasSubstr("has remember 100h, skew 1h; "),
                                 ::testing::HasSubstr("asks for remember "),
                                 ::testing::HasSubstr("a start with a longer time raises it")));
    EXPECT_EQ(InForce(member.window()), longer);
  }
  const auto existing = *open(hour, true);
  EXPECT_EQ(*existing->Remember(RememberChange::kReplace), hour) << "an operator lowers it for all";
  EXPECT_EQ(InForce(member.window()), hour);
  member.Commit(5, hours(300));
  EXPECT_EQ(member.Claim("x", 1), ClaimVerdict::kOutsideWindow);
  EXPECT_TRUE(open(hour, false)) << "by now it asks for as much";
}

}  // namespace oncemq::testing
