// SPDX-License-Identifier: Apache-2.0
// The tool's side of a park topic: which records are the outcome of a command.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "oncemq/framework/park.h"
#include "park_fixture.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

class ParkCommandsTest : public ParkFixture {
 protected:
  void Write(ParkKind kind, OwnerEpoch owner) {
    Send(OtherHeaders({.kind = kind, .offset = 41, .owner = owner}));
    producer_->Flush();
  }
};

TEST_F(ParkCommandsTest, AWordOfAnEarlierOwnerIsNoOutcome) {
  Send(EntryHeaders({.kind = ParkKind::kParked}, SourceMessage(), "group"));
  Write(ParkKind::kOwner, 7);
  Result<ParkProgress> progress = ParkProgress{};
  std::jthread tool([&] {
    const ParkedEntry message{.topic = "payments", .offset = 41, .head = 41, .key = "k"};
    progress = CommandParked(Options(), {.run = "run"}, {&message, 1}, seconds(20), {});
  });
  KafkaAdmin admin(cluster_.address());
  ASSERT_TRUE(
      Eventually(seconds(20), [&] { return admin.QueryWatermarks("payments.park", 0).high == 3; }));
  Write(ParkKind::kAgain, 3);
  Write(ParkKind::kEnded, 7);
  tool.join();
  ASSERT_TRUE(progress) << ToString(progress.error());
  EXPECT_EQ(progress->refused_again, 0u);
  EXPECT_EQ(progress->ended, 1u);
  EXPECT_EQ(progress->open, 0u);
}

TEST_F(ParkCommandsTest, ARedriveUnderWayIsFollowedAndHasNoOutcomeBeforeItsEnd) {
  Send(EntryHeaders({.kind = ParkKind::kParked}, SourceMessage(), "group"));
  Write(ParkKind::kOwner, 7);
  const ParkedEntry message{.topic = "payments", .offset = 41, .head = 41, .key = "k"};
  for (int time = 0; time < 2; time++) {
    const auto progress = CommandParked(Options(), {.run = "run"}, {&message, 1}, seconds(1), {});
    ASSERT_TRUE(progress) << ToString(progress.error());
    EXPECT_EQ(progress->open, 1u) << "time " << time;
  }
}

TEST_F(ParkCommandsTest, ACommandThatWasNotSentIsOpen) {
  Send(EntryHeaders({.kind = ParkKind::kParked}, SourceMessage(), "group"));
  producer_->Flush();
  std::stop_source stopped;
  stopped.request_stop();
  const ParkedEntry message{.topic = "payments", .offset = 41, .head = 41, .key = "k"};
  const auto progress =
      CommandParked(Options(), {.run = "run"}, {&message, 1}, seconds(1), stopped.get_token());
  ASSERT_TRUE(progress) << ToString(progress.error());
  EXPECT_EQ(progress->commands, 0u);
  EXPECT_EQ(progress->open, 1u);
}

}  // namespace
}  // namespace oncemq::testing
