// SPDX-License-Identifier: Apache-2.0
// The report of a running loop about what holds a partition, and its answers about one id.
#include <gmock/gmock.h>

#include <latch>

#include "holder.h"
#include "lock_use.h"
#include "oncemq/locks/memory_locks.h"
#include "poll_loop_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class HeldReportTest : public PollLoopTest {
 protected:
  static bool IsHeldBy(const RunningLoop& loop, Holder holder) {
    return Holds([&] {
      const RunReport report = loop.Now();
      return !report.partitions.empty() && HolderOf(report.partitions[0]) == holder;
    });
  }
  static RuntimeOptions Worker() {
    RuntimeOptions options = Options();
    options.workers = 1;
    return options;
  }
};

TEST_F(HeldReportTest, ACallOfTheHandlerHoldsItsPartitionAndIsFoundByItsId) {
  std::latch free{1};
  RunningLoop loop(Worker(), &window_, [&](const Message&, Context&) -> Outcome {
    free.wait();
    return Done{};
  });
  loop.script().Append(0, "id-a", "acct-5");
  loop.script().Append(0, "id-b", std::string(300, 'k'));
  loop.script().Assign(0);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kHandler));
  const HeldBy held = *loop.Now().partitions[0].oldest;
  EXPECT_EQ(held.message.key, "acct-5");
  EXPECT_EQ(held.message.message, nullptr) << "it may be released by now";
  const auto found = loop.FindOpen("id-b");
  ASSERT_TRUE(found);
  ASSERT_THAT(*found, SizeIs(1));
  EXPECT_EQ((*found)[0].topic, "topic");
  EXPECT_EQ((*found)[0].message.offset, 1);
  EXPECT_EQ((*found)[0].message.key, std::string(256, 'k')) << "as much as a report takes";
  EXPECT_THAT(*loop.FindOpen("id-c"), IsEmpty());
  EXPECT_THAT(*loop.FindOpen(""), IsEmpty());
  free.count_down();
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
  EXPECT_THAT(*loop.FindOpen("id-b"), IsEmpty());
  loop.Stop();
  EXPECT_EQ(loop.FindOpen("id-b").error().code, Code::kUnavailable);
}

TEST_F(HeldReportTest, ACallThatOutlastsTheOthersOfItsBatchHoldsItsPartition) {
  std::latch free{1};
  RunningLoop loop(Worker(), &window_, [&](const Message& message, Context&) -> Outcome {
    if (message.key() == "slow") {
      free.wait();
    }
    return Done{};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "b", "slow");
  loop.script().Append(0, "c", "l");
  loop.script().Assign(0);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kHandler));
  EXPECT_EQ(loop.Now().partitions[0].oldest->message.offset, 1);
  free.count_down();
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
}

TEST_F(HeldReportTest, ALockThatAHandlerWaitsForHoldsItsPartition) {
  const std::shared_ptr<LockDomain> domain = *LockDomain::Open(MakeMemoryLocks());
  auto taken = domain->Acquire("x", {});
  ASSERT_TRUE(taken && *taken);
  const LockSource source{.kind = LockSource::Kind::kDomain, .domain = domain};
  RunningLoop loop(
      Worker(), &window_,
      [](const Message&, Context& context) -> Outcome {
        return context.Lock("x") ? Outcome(Done{}) : Retry{};
      },
      nullptr, source);
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kLock));
  (*taken)->Release();
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
}

TEST_F(HeldReportTest, AStoreOrACommitWithoutAnAnswerHoldsItsPartition) {
  RunningLoop loop(Worker(), &window_, Count());
  loop.script().Assign(0);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
  window_.down = true;
  loop.script().Append(0, "a", "k");
  EXPECT_TRUE(IsHeldBy(loop, Holder::kStore));
  window_.down = false;
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
  loop.script().AnswerCommits(CommitReply::kUnknown);
  loop.script().Append(0, "b", "k");
  EXPECT_TRUE(IsHeldBy(loop, Holder::kCommit));
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
  loop.script().Unreach(true);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kBroker));
  loop.script().Unreach(false);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kNone));
}

TEST_F(HeldReportTest, ARetryIsTheHandlersToo) {
  RunningLoop loop(Options(), &window_, [](const Message&, Context&) -> Outcome {
    return Retry{.after = std::chrono::seconds(30), .why = "the target is down"};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(IsHeldBy(loop, Holder::kHandler));
  const auto found = loop.FindOpen("a");
  ASSERT_TRUE(found);
  ASSERT_THAT(*found, SizeIs(1));
  EXPECT_GT((*found)[0].next_try, std::chrono::seconds(1));
  loop.script().Lose(0);
}

TEST_F(HeldReportTest, TheClientOfAPartitionIsToldWithTheTimesSince) {
  RunningLoop loop(Options(), &window_, Count());
  const BootTime now = loop.script().clock().Boot();
  loop.script().SeeLog(0,
                       {.fetch = {.state = "active", .answer_at = now - std::chrono::seconds(5)}});
  loop.script().Assign(0);
  ASSERT_TRUE(Holds([&] {
    const RunReport report = loop.Now();
    return !report.partitions.empty() && report.partitions[0].client.fetch_state == "active";
  }));
  const ClientReport client = loop.Now().partitions[0].client;
  EXPECT_GE(client.answer_ago, std::chrono::seconds(5));
  EXPECT_FALSE(client.record_ago);
}

}  // namespace
}  // namespace oncemq::testing
