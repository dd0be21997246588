// SPDX-License-Identifier: Apache-2.0
// The tool's side of a park topic: which records are the outcome of a command.
#include <gtest/gtest.h>

#include <chrono>
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

}  // namespace
}  // namespace oncemq::testing
