// SPDX-License-Identifier: Apache-2.0
// Leases that a real Redis grants to handlers of a real group: one that somebody ends while its
// handler runs.
#include <atomic>
#include <latch>

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
    options.locks.domain = std::move(domain);
    return options;
  }
  size_t Parties(std::string_view name) const { return store_->Look(name)->parties.size(); }
  static uint32_t NumberOf(const Context& context) {
    return static_cast<uint32_t>(std::stoul(std::string(context.id())));
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
  std::optional<Lease> other;  // of somebody who is let in meanwhile
  std::latch let_in(1);
  std::atomic<uint32_t> calls{0};
  const auto lose = [&](const Lease& lease) {
    EXPECT_EQ(*store_->Evict(kAccount, lease.fence()), Freed::kYes);
    other = *others->Acquire(kAccount);
    target_.Raise(1, kEvicted, *other);
    std::latch told(1);  // with its next renewal
    const std::stop_callback lost(lease.stop(), [&] { told.count_down(); });
    told.wait();
    EXPECT_EQ(lease.lost(), Lost::kTaken);
    let_in.count_down();
  };
  const auto handler = [&](const Message&, Context& context) -> Outcome {
    const uint32_t id = NumberOf(context);
    const auto lease = context.Lock(kAccount);
    if (!lease || *lease == nullptr) {
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

}  // namespace
}  // namespace oncemq::testing
