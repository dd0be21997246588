// SPDX-License-Identifier: Apache-2.0
// The window in Redis between processes whose clocks differ by two hours.
#include <memory>

#include "redis_window_fixture.h"
#include "support/shifted_clock.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr int64_t kHour = 3'600;  // in seconds

// One that is an hour fast, and one that is an hour slow.
class RedisWindowClocks : public RedisWindowTest {
 protected:
  void OpenBoth() {
    Start();
    auto options = Options();
    options.times = {.lease = kLease, .max_lease = seconds(20), .handler_timeout = kLease};
    ahead_ = WithClock(kHour, [&] { return OpenAt(server_->url(), options); });
    behind_ = WithClock(-kHour, [&] { return OpenAt(server_->url(), options); });
  }
  template <class Call>
  static auto Ahead(Call call) {
    return WithClock(kHour, call);
  }
  template <class Call>
  static auto Behind(Call call) {
    return WithClock(-kHour, call);
  }
  int64_t ServerMicros() {
    const RedisReply time = Redis({"TIME"});
    return ParseDecimal(time.list.at(0).text).value_or(0) * 1'000'000;
  }

  static constexpr milliseconds kLease{1'500};
  std::unique_ptr<Window> ahead_;
  std::unique_ptr<Window> behind_;
};

TEST_F(RedisWindowClocks, AreOffInThisTest) {
  const auto wall = [] { return SystemClock::Instance().Wall().micros / 1'000'000; };
  const int64_t now = wall();
  EXPECT_NEAR(static_cast<double>(Ahead(wall) - now), kHour, 60);
  EXPECT_NEAR(static_cast<double>(Behind(wall) - now), -kHour, 60);
  EXPECT_NEAR(static_cast<double>(Ahead([] { return SecondsOfTheProcess(); }) - now), kHour, 60);
}

TEST_F(RedisWindowClocks, EndNoLeaseAndProlongNone) {
  OpenBoth();
  ClaimRequest copy = Request("x", 9);
  copy.at.partition = 4;
  const BootTime began = BootNow();
  ASSERT_EQ(Behind([&] { return AnswerTo(*behind_, Request("x")); }), ClaimVerdict::kGranted);
  const ClaimVerdict early = Ahead([&] { return AnswerTo(*ahead_, copy); });
  if (BootNow() < began + kLease) {
    EXPECT_EQ(early, ClaimVerdict::kInFlight) << "a clock that is ahead has ended the lease";
  }
  ASSERT_TRUE(Eventually(seconds(20), [&] {
    return Ahead([&] { return AnswerTo(*ahead_, copy); }) == ClaimVerdict::kGranted;
  }));
  EXPECT_GE(BootNow(), began + kLease);
  copy = Request("x", 10);
  EXPECT_TRUE(Eventually(seconds(20), [&] {
    return Behind([&] { return AnswerTo(*behind_, copy); }) == ClaimVerdict::kGranted;
  })) << "a clock that is ahead holds an id for an hour";
}

TEST_F(RedisWindowClocks, MakeNoOwner) {
  OpenBoth();
  ASSERT_TRUE(ahead_->Open(name_) && behind_->Open(name_));
  const OwnerEpoch first = *Ahead([&] { return ahead_->RaiseOwnerEpoch(0, 3, 0); });
  const OwnerEpoch second = *Behind([&] { return behind_->RaiseOwnerEpoch(0, 3, 0); });
  EXPECT_GT(second, first);
  EXPECT_NEAR(static_cast<double>(first), static_cast<double>(ServerMicros()), 600e6)
      << "an ownership is the server's time, where nothing is above it";
  ClaimRequest late = Request("y");
  late.owner_epoch = first;
  EXPECT_EQ(Ahead([&] { return AnswerTo(*ahead_, late); }), ClaimVerdict::kFenced);
  const Announcement announced{.partition = 3, .to = 1, .offset = 1, .owner_epoch = first};
  const Status fenced = Ahead([&] { return ahead_->Announce({&announced, 1}); });
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().code, Code::kFenced);
}

// A stamp of the future must not age the window (rule 22): the server's clock decides.
TEST_F(RedisWindowClocks, AgeNothing) {
  OpenBoth();
  const OwnerEpoch owner_epoch = *behind_->RaiseOwnerEpoch(0, 3, 0);
  Finish(*behind_, 1, "x");
  const LogTime future{milliseconds(ServerMicros() / 1'000 + 10 * kHour * 1'000)};
  const Progress progress{
      .partition = 3, .owner_epoch = owner_epoch, .frontier = 1, .watermark = future};
  MarkerChange change{};
  ASSERT_TRUE(Ahead([&] { return ahead_->Committed({&progress, 1}, {&change, 1}); }));
  EXPECT_EQ(change, MarkerChange::kMade);
  const LogTime kept = (*behind_->Stat())[0].partitions.at(0).watermark;
  EXPECT_LE(kept.time_since_epoch().count(), ServerMicros() / 1'000 + 1'000);
  // An id without a partition is known for its own time.
  const ClaimRequest alone{.id = "alone", .token = {7, ++tokens_}};
  ASSERT_EQ(Ahead([&] { return AnswerTo(*ahead_, alone); }), ClaimVerdict::kGranted);
  const CompleteRequest done{.id = "alone", .token = alone.token, .keep = std::chrono::minutes(30)};
  ASSERT_TRUE(Ahead([&] { return ahead_->Complete({&done, 1}, {&change, 1}); }));
  const auto knows = [&](Window& window) {
    return AnswerTo(window, {.id = "alone", .token = {7, ++tokens_}}) == ClaimVerdict::kDuplicate;
  };
  EXPECT_TRUE(Behind([&] { return knows(*behind_); }));
  EXPECT_TRUE(Ahead([&] { return knows(*ahead_); }));
  for (const RedisReply& key : Redis({"KEYS", "*}:i:*"}).list) {
    const int64_t left = Redis({"PTTL", key.text}).integer;
    EXPECT_GT(left, 29 * 60'000);
    EXPECT_LE(left, 30 * 60'000);
  }
}

// The owner judges in memory, by the server's clock.
TEST_F(RedisWindowClocks, ForgetNoIdThatAPartitionOwnsBeforeItsTime) {
  Start();
  auto options = Options();
  options.partition_owned = true;
  options.remember = std::chrono::hours(1);
  const LogTime now{milliseconds(ServerMicros() / 1'000)};
  const auto claim = [&](OwnerEpoch owner_epoch) {
    ClaimRequest request = Request("x");
    request.owner_epoch = owner_epoch;
    request.time = now;
    return request;
  };
  Behind([&] {
    const auto window = OpenAt(server_->url(), options);
    EXPECT_TRUE(window->Open(name_));
    const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
    const Progress before{
        .partition = 3, .owner_epoch = owner_epoch, .watermark = now - std::chrono::hours(2)};
    MarkerChange change{};
    EXPECT_TRUE(window->Committed({&before, 1}, {&change, 1}));
    const ClaimRequest first = claim(owner_epoch);
    EXPECT_EQ(AnswerTo(*window, first), ClaimVerdict::kGranted);
    EXPECT_TRUE(Complete(*window, first));
    const Announcement announced{.partition = 3, .to = 1, .offset = 1, .owner_epoch = owner_epoch};
    EXPECT_TRUE(window->Announce({&announced, 1}));
    return true;
  });
  // An hour fast: also a frontier of the future is not past what the server's clock says.
  Ahead([&] {
    const auto window = OpenAt(server_->url(), options);
    EXPECT_TRUE(window->Open(name_));
    const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
    const Progress progress{.partition = 3,
                            .owner_epoch = owner_epoch,
                            .frontier = 10,
                            .watermark = now + std::chrono::minutes(59)};
    MarkerChange change{};
    EXPECT_TRUE(window->Committed({&progress, 1}, {&change, 1}));
    EXPECT_EQ(AnswerTo(*window, claim(owner_epoch)), ClaimVerdict::kDuplicate);
    return true;
  });
}

}  // namespace
}  // namespace oncemq::testing
