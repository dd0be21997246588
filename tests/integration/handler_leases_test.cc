// SPDX-License-Identifier: Apache-2.0
// Leases that a real Redis grants to handlers of a real group: one that somebody ends while its
// handler runs, and one that its partition leaves behind.
#include <atomic>
#include <latch>
#include <semaphore>

#include "fenced_target.h"
#include "oncemq/locks/redis_locks.h"
#include "runtime_fixture.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kAccount = "account/42";

class KafkaHandlerLeases : public KafkaRuntimeTest {
 protected:
  void SetUp() override {
    KafkaRuntimeTest::SetUp();
    if (!IsSkipped()) {
      ONCEMQ_REQUIRE_REDIS();
      redis_ = RedisServer::Start();
      store_ = Connect();
    }
  }

  std::shared_ptr<LockEngine> Connect() const { return *OpenRedisLocks(redis_->url()); }
  // As each process has its own.
  std::shared_ptr<LockDomain> Domain() const {
    return *LockDomain::Open(Connect(), {.lease = milliseconds(6'000)});
  }
  RuntimeOptions OptionsWith(std::shared_ptr<LockDomain> domain) const {
    RuntimeOptions options = Options();
    options.workers = 2;
    options.drain_deadline = seconds(1);  // nobody waits for long for a handler that stays
    options.locks.domain = std::move(domain);
    return options;
  }
  static std::string NameOf(int32_t partition) { return "account/" + std::to_string(partition); }
  size_t Parties(std::string_view name) const { return store_->Read(name)->parties.size(); }
  static uint32_t NumberOf(const Context& context) {
    return static_cast<uint32_t>(std::stoul(std::string(context.id())));
  }
  static DeliveryCounts CountsOf(const RunReport& report, int32_t partition) {
    for (const PartitionReport& one : report.partitions) {
      if (one.partition == partition) {
        return one.status.counts;
      }
    }
    return {};
  }

  const TempDir dir_;
  FencedTarget target_{dir_.path() / "target"};
  std::unique_ptr<RedisServer> redis_;
  std::shared_ptr<LockEngine> store_;  // of a person, who looks and ends holds
};

TEST_F(KafkaHandlerLeases, AMessageWhoseLeaseWasEndedByAPersonComesAgainAndIsDoneOnce) {
  constexpr int kIds = 20;
  constexpr uint32_t kEvicted = 3;
  CreateTopic(1);
  Send(0, kIds, /*keys=*/1);
  const auto others = Domain();
  Granted<Lease> other;  // of somebody who is let in meanwhile
  std::latch let_in(1);
  std::atomic<uint32_t> calls{0};
  const auto lose = [&](const Lease& lease) {
    EXPECT_EQ(*store_->Evict(kAccount, lease.fence()), Freed::kYes);
    other = *others->Acquire(kAccount);
    target_.Raise(1, kEvicted, *other);
    std::latch told(1);  // with its next renewal
    const std::stop_callback lost(lease.stop(), [&] { told.count_down(); });
    told.wait();
    EXPECT_EQ(lease.lost(), LeaseLoss::kTaken);
    let_in.count_down();
  };
  const auto handler = [&](const Message&, Context& context) -> Outcome {
    const uint32_t id = NumberOf(context);
    const auto lease = context.Lock(kAccount);
    if (!lease || !*lease) {
      return Retry{};
    }
    target_.Raise(0, id, **lease);
    if (id == kEvicted) {
      EXPECT_EQ(context.attempt(), ++calls);
      EXPECT_EQ(context.uncertain(), calls > 1);
    }
    if (id == kEvicted && calls == 1) {
      lose(**lease);
    }
    target_.Store(0, id, **lease);
    return Done{};  // also where it was refused: the runtime knows better
  };
  RunningMember member(OptionsWith(Domain()), window_.get(), handler);
  let_in.wait();
  EXPECT_TRUE(Eventually(seconds(30), [&] { return Parties(kAccount) == 2; }))
      << "it does not come again, and wait its turn";
  EXPECT_LE(CommittedAt(), int64_t{kEvicted});
  EXPECT_EQ(other->Release(), Released::kYes);
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == kIds; }));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(report.counts.deliveries, kIds);
  EXPECT_EQ(report.counts.applied, kIds);
  EXPECT_EQ(report.counts.handler_calls, kIds + 1);
  EXPECT_EQ(Metadata().totals.applied, kIds);
  const auto overtaken = target_.All(FencedCall::kOvertaken);
  ASSERT_THAT(overtaken, SizeIs(1));
  EXPECT_EQ(overtaken[0].id, kEvicted);
  EXPECT_EQ(overtaken[0].still_mine, 0u);
  EXPECT_THAT(target_.Judge(0, kIds), IsEmpty());
}

// Two fences, two questions: the lease says who may change the account, the claim whose word about
// the message counts. Both members see one window; it refuses the former one.
TEST_F(KafkaHandlerLeases, AFormerOwnersNameKeepsTheNewOneWaitingAndItsWordCountsNoMore) {
  constexpr int kPartitions = 2;  // one of them goes to the new member
  CreateTopic(kPartitions);
  for (int partition = 0; partition < kPartitions; partition++) {
    Send(partition, partition + 1, /*keys=*/1, partition);
  }
  FencedTarget targets[] = {FencedTarget(dir_.path() / "0"), FencedTarget(dir_.path() / "1")};
  std::atomic<OwnerEpoch> owner_epochs[2][kPartitions] = {};
  std::counting_semaphore inside(0);
  std::latch may_go_on(1);
  const auto handler_of = [&](uint32_t member) {
    return [&, member](const Message& message, Context& context) -> Outcome {
      FencedTarget& target = targets[message.partition()];
      owner_epochs[member][message.partition()] = context.fence();
      const auto lease = context.Lock(NameOf(message.partition()));
      if (!lease || !*lease) {
        return Retry{};
      }
      target.Raise(member, NumberOf(context), **lease);
      if (member == 0) {
        inside.release();
        may_go_on.wait();
      }
      target.Store(member, NumberOf(context), **lease);
      return Done{};
    };
  };
  RunningMember former(OptionsWith(Domain()), window_.get(), handler_of(0));
  for (int partition = 0; partition < kPartitions; partition++) {
    inside.acquire();
  }
  RunningMember successor(OptionsWith(Domain()), window_.get(), handler_of(1));
  int moved = kPartitions;
  const auto somebody_waits = [&] {
    moved = Parties(NameOf(0)) == 2 ? 0 : 1;
    return Parties(NameOf(moved)) == 2;
  };
  EXPECT_TRUE(Eventually(seconds(30), somebody_waits)) << "the new owner does not wait";
  FencedTarget& target = targets[moved];
  EXPECT_GT(owner_epochs[1][moved], owner_epochs[0][moved]);
  EXPECT_THAT(target.All(), SizeIs(1)) << "the new owner is let in beside the former one";
  may_go_on.count_down();
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt(0) == 1 && CommittedAt(1) == 1; }));
  const DeliveryCounts of_former = CountsOf(former.Stop(), moved);
  EXPECT_EQ(of_former.applied, 0);
  EXPECT_EQ(of_former.handed_back, 1);
  EXPECT_EQ(CountsOf(successor.Stop(), moved).applied, 1);
  EXPECT_EQ(Metadata(moved).totals.applied, 1);
  const auto calls = target.All();
  ASSERT_THAT(calls, SizeIs(4));
  EXPECT_TRUE(calls[1].kind == FencedCall::kStored && calls[1].member == 0);
  EXPECT_EQ(calls[1].still_mine, 1u) << "whoever owns the partition, the name was still its own";
  EXPECT_TRUE(calls[2].kind == FencedCall::kRaised && calls[2].fence > calls[1].fence);
  EXPECT_TRUE(calls[3].kind == FencedCall::kKnown && calls[3].member == 1);
}

}  // namespace
}  // namespace oncemq::testing
