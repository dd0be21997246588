// SPDX-License-Identifier: Apache-2.0
// What is the memory window's own; what every window must do is in tests/conformance.
#include "oncemq/dedup/memory_window.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory_window_engine.h"

namespace oncemq {
namespace {

class MemoryWindowTest : public testing::Test {
 protected:
  std::unique_ptr<Window> Open(MemoryWindowOptions options) {
    options.level = Level::kGuarded;
    auto window = OpenMemoryWindow(options, clock_);
    EXPECT_TRUE(window.has_value());
    return *std::move(window);
  }
  static ClaimAnswer Claim(Window& window, std::string_view id, const Token& token) {
    const ClaimRequest request{id, token, {0, 0, 0}, 0, 0};
    ClaimAnswer answer;
    EXPECT_TRUE(window.Claim({&request, 1}, {&answer, 1}).has_value());
    return answer;
  }
  static MarkerChange Complete(Window& window, std::string_view id, const Token& token) {
    const CompleteRequest request{id, token, {0, 0, 0}, {}};
    MarkerChange change{};
    EXPECT_TRUE(window.Complete({&request, 1}, {&change, 1}).has_value());
    return change;
  }
  static Result<MarkerChange> Park(Window& window, std::string_view id, const Token& token) {
    const ParkRequest request{id, token, 1, {0, 0, 0}};
    MarkerChange change{};
    const Status status = window.Park({&request, 1}, {&change, 1});
    return status ? Result<MarkerChange>(change) : Result<MarkerChange>(status.error());
  }
  static bool IsDone(Window& window, std::string_view id) {
    MarkerView view;
    EXPECT_TRUE(window.Peek({&id, 1}, {&view, 1}).has_value());
    return view.state == MarkerState::kDone;
  }

  ManualClock clock_;
};

TEST_F(MemoryWindowTest, AnOptionThatCannotBeIsRefusedByName) {
  constexpr Level kLevel = Level::kGuarded;
  const struct {
    MemoryWindowOptions options;
    std::string_view named;
  } refused[] = {
      {{}, "say which level"},
      {{.level = Level::kAtomic}, "atomic"},
      {{.level = kLevel, .remember = 0}, "remember"},
      {{.level = kLevel, .remember = 2'000'000'000}, "remember"},
      {{.level = kLevel, .max_open = 0}, "max_open"},
      {{.level = kLevel, .max_open = 2'000'000'000}, "max_open"},
      {{.level = kLevel, .max_parked = 0}, "max_parked"},
      {{.level = kLevel, .max_parked = 2'000'000'000}, "max_parked"},
      {{.level = kLevel, .times = {.lease = milliseconds(0)}}, "lease"},
      {{.level = kLevel, .times = {.lease = milliseconds(10), .max_lease = milliseconds(9)}},
       "max_lease"},
      {{.level = kLevel, .times = {.max_lease = milliseconds::max()}}, "max_lease"},
      {{.level = kLevel, .times = {.handler_timeout = milliseconds(-1)}}, "handler_timeout"},
      {{.level = kLevel, .times = {.handler_timeout = milliseconds::max()}}, "handler_timeout"},
  };
  for (const auto& [options, named] : refused) {
    const auto window = OpenMemoryWindow(options, clock_);
    ASSERT_FALSE(window.has_value()) << named;
    EXPECT_EQ(window.error().code, Code::kInvalid);
    EXPECT_EQ(window.error().effect, Effect::kNone);
    EXPECT_NE(window.error().message.find(named), std::string::npos) << window.error().message;
  }
}

TEST_F(MemoryWindowTest, ItForgetsOnlyWhatLiesBeforeTheIdsToRemember) {
  const auto window = Open({.remember = 80});
  for (uint64_t i = 0; i < 1'000; i++) {
    const std::string id = std::to_string(i);
    Claim(*window, id, {1, i + 1});
    Complete(*window, id, {1, i + 1});
  }
  for (uint64_t i = 0; i < 1'000; i++) {
    if (i < 1'000 - 90 || i >= 1'000 - 80) {
      EXPECT_EQ(IsDone(*window, std::to_string(i)), i >= 1'000 - 80) << i;
    }
  }
}

TEST_F(MemoryWindowTest, OpenAndParkedIdsDoNotAge) {
  const auto window = Open({.remember = 8});
  Claim(*window, "open", {1, 1});
  Claim(*window, "parked", {1, 2});
  const ParkRequest park{"parked", {1, 2}, 5, {0, 0, 0}};
  MarkerChange change{};
  ASSERT_TRUE(window->Park({&park, 1}, {&change, 1}).has_value());
  for (uint64_t i = 0; i < 1'000; i++) {
    Claim(*window, std::to_string(i), {2, i + 1});
    Complete(*window, std::to_string(i), {2, i + 1});
  }
  EXPECT_EQ(Claim(*window, "open", {1, 9}).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Claim(*window, "parked", {1, 9}).answer, ClaimVerdict::kAttached);
}

TEST_F(MemoryWindowTest, ParkedIdsTakeNoRoomFromOpenOnes) {
  const auto window = Open({.max_open = 2, .max_parked = 5});
  for (uint64_t i = 1; i <= 5; i++) {
    const std::string id = "p" + std::to_string(i);
    EXPECT_EQ(Claim(*window, id, {1, i}).answer, ClaimVerdict::kGranted);
    EXPECT_EQ(Park(*window, id, {1, i}).value_or(MarkerChange::kFenced), MarkerChange::kMade);
  }
  EXPECT_EQ(Claim(*window, "a", {2, 1}).answer, ClaimVerdict::kGranted);
  EXPECT_EQ(Claim(*window, "b", {2, 2}).answer, ClaimVerdict::kGranted);
}

TEST_F(MemoryWindowTest, TheOldestCountOfFailedAttemptsMakesRoom) {
  const auto window = Open({.max_open = 2});
  for (uint64_t i = 1; i <= 3; i++) {
    const std::string id(1, static_cast<char>('a' + i));
    EXPECT_EQ(Claim(*window, id, {1, i}).answer, ClaimVerdict::kGranted);
    const ReleaseRequest failed{.id = id, .token = {1, i}, .at = {0, 0, 0}, .failed = true};
    MarkerChange change = MarkerChange::kFenced;
    ASSERT_TRUE(window->Release({&failed, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
  }
  EXPECT_EQ(Claim(*window, "c", {1, 4}).attempt, 2u);
  EXPECT_EQ(Claim(*window, "d", {1, 5}).attempt, 2u);
  const ClaimRequest more{.id = "e", .token = {1, 6}};
  ClaimAnswer answer;
  EXPECT_FALSE(window->Claim({&more, 1}, {&answer, 1})) << "claims that are held make none";
}

TEST_F(MemoryWindowTest, AtTheBoundOfParkedIdsAnotherIsRefusedAndNoneIsForgotten) {
  const auto window = Open({.max_parked = 1});
  Claim(*window, "a", {1, 1});
  Claim(*window, "b", {1, 2});
  EXPECT_EQ(Park(*window, "a", {1, 1}).value_or(MarkerChange::kFenced), MarkerChange::kMade);
  const auto full = Park(*window, "b", {1, 2});
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, Code::kFull);
  EXPECT_EQ(full.error().effect, Effect::kNone);
  EXPECT_NE(full.error().message.find("max_parked is 1"), std::string::npos);
  EXPECT_EQ(Park(*window, "a", {1, 1}).value_or(MarkerChange::kFenced), MarkerChange::kMade)
      << "a repeated request needs no room";
  EXPECT_EQ(Claim(*window, "a", {1, 3}).answer, ClaimVerdict::kAttached);
  EXPECT_EQ(Complete(*window, "b", {1, 2}), MarkerChange::kMade) << "it was left as it is";
}

TEST_F(MemoryWindowTest, AParkedIdThatRunsIsAnOpenOneAndGoesBackWithoutNeedOfRoom) {
  const auto window = Open({.max_open = 2, .max_parked = 1});
  Claim(*window, "a", {1, 1});
  EXPECT_EQ(Park(*window, "a", {1, 1}).value_or(MarkerChange::kFenced), MarkerChange::kMade);
  Claim(*window, "b", {1, 2});
  Claim(*window, "c", {1, 3});
  const ClaimRequest redrive{.id = "a", .token = {1, 4}, .at = {0, 0, 0}, .parked_entry = 1};
  ClaimAnswer answer;
  const Status full = window->Claim({&redrive, 1}, {&answer, 1});
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, Code::kFull);
  EXPECT_EQ(Complete(*window, "b", {1, 2}), MarkerChange::kMade);
  ASSERT_TRUE(window->Claim({&redrive, 1}, {&answer, 1}));
  EXPECT_EQ(answer.answer, ClaimVerdict::kGranted);
  const ParkRequest other{"c", {1, 3}, 2, {0, 0, 0}};
  MarkerChange change{};
  ASSERT_TRUE(window->Park({&other, 1}, {&change, 1})) << "there is room meanwhile";
  EXPECT_EQ(Park(*window, "a", {1, 4}).value_or(MarkerChange::kFenced), MarkerChange::kMade);
  EXPECT_EQ(Claim(*window, "a", {1, 5}).answer, ClaimVerdict::kAttached);
  Claim(*window, "d", {1, 6});
  EXPECT_FALSE(Park(*window, "d", {1, 6}).has_value());
}

TEST_F(MemoryWindowTest, ABatchThatNeedsTooManyMarkersIsRefusedAndNoneOfItIsApplied) {
  const auto window = Open({.max_open = 3});
  Claim(*window, "a", {1, 1});
  Claim(*window, "b", {1, 2});
  const ClaimRequest requests[] = {{"c", {1, 3}, {}, 0, 0}, {"d", {1, 4}, {}, 0, 0}};
  ClaimAnswer answers[2];
  const Status full = window->Claim(requests, answers);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, Code::kFull);
  EXPECT_EQ(full.error().effect, Effect::kNone);
  EXPECT_NE(full.error().message.find("max_open is 3"), std::string::npos);
  EXPECT_EQ(Claim(*window, "c", {1, 5}).answer, ClaimVerdict::kGranted);
}

TEST_F(MemoryWindowTest, AFullWindowStillAnswersWhatNeedsNoMarker) {
  const auto window = Open({.partition_owned = false, .max_open = 3});
  Claim(*window, "done", {1, 1});
  Complete(*window, "done", {1, 1});
  Claim(*window, "a", {1, 2});
  Claim(*window, "b", {1, 3});
  const ClaimRequest requests[] = {{"a", {1, 2}, {}, 0, 0},    {"b", {1, 9}, {}, 0, 0},
                                   {"done", {1, 8}, {}, 0, 0}, {"zombie", {1, 7}, {}, 9, 0},
                                   {"c", {1, 4}, {}, 0, 0},    {"c", {1, 5}, {}, 0, 0}};
  ClaimAnswer answers[6];
  ASSERT_TRUE(window->Claim(requests, answers).has_value());
  EXPECT_EQ(answers[0].answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answers[1].answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(answers[2].answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(answers[3].answer, ClaimVerdict::kFenced);
  EXPECT_EQ(answers[4].answer, ClaimVerdict::kGranted);
  EXPECT_EQ(answers[5].answer, ClaimVerdict::kInFlight);
}

TEST_F(MemoryWindowTest, ALeaseEndsAtItsMicrosecond) {
  const auto window = Open({.times = {.lease = milliseconds(10)}});
  Claim(*window, "x", {1, 1});
  clock_.Advance(microseconds(9'999));
  const ClaimAnswer early = Claim(*window, "x", {1, 2});
  EXPECT_EQ(early.answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(early.wait, microseconds(1));
  clock_.Advance(microseconds(1));
  EXPECT_EQ(Claim(*window, "x", {1, 2}).answer, ClaimVerdict::kGranted);
}

TEST_F(MemoryWindowTest, AWallClockThatJumpsMovesNoLeaseAndLowersNoOwnership) {
  const auto window = Open({});
  Claim(*window, "x", {1, 1});
  const OwnerEpoch before = *window->RaiseOwnerEpoch(0, 0, 0);
  clock_.JumpWall(std::chrono::hours(48));
  EXPECT_EQ(Claim(*window, "x", {1, 2}).answer, ClaimVerdict::kInFlight);
  clock_.JumpWall(-std::chrono::hours(96));
  EXPECT_EQ(Claim(*window, "x", {1, 3}).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(*window->RaiseOwnerEpoch(0, 0, 0), before + 1);
}

TEST_F(MemoryWindowTest, AnOwnershipIsAboveThoseOfAWindowThatWasLost) {
  const OwnerEpoch lost = *Open({})->RaiseOwnerEpoch(0, 0, 0);
  clock_.Advance(microseconds(1));
  EXPECT_GT(*Open({})->RaiseOwnerEpoch(0, 0, 0), lost);
}

TEST_F(MemoryWindowTest, MemoryStaysAtItsBound) {
  MemoryWindow window({.level = Level::kGuarded, .remember = 50'000}, clock_);
  size_t after_two_fills = 0;
  for (uint64_t i = 0; i < 250'000; i++) {
    const std::string id = std::to_string(10'000'000 + i);
    Claim(window, id, {1, i + 1});
    Complete(window, id, {1, i + 1});
    after_two_fills = i == 100'000 ? window.memory_bytes() : after_two_fills;
  }
  EXPECT_EQ(window.memory_bytes(), after_two_fills);
  EXPECT_LE(after_two_fills, 50'000 * 16 + 50'000 * 9 / 8 * (8 + 47) + (size_t{4} << 20));
}

}  // namespace
}  // namespace oncemq
