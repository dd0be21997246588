// SPDX-License-Identifier: Apache-2.0
// An assignment that stands in for a lock (rule 50), while the group gives it to somebody else.
#include <csignal>

#include "fenced_target.h"
#include "runtime_fixture.h"
#include "support/process.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class KafkaElidedLocks : public KafkaRuntimeTest {
 protected:
  static constexpr uint32_t kHeld = 1;  // as locking_member.cc has it

  std::unique_ptr<Process> Start(uint32_t number) const {
    return std::make_unique<Process>(
        ProcessOptions{.command = {ONCEMQ_LOCKING_MEMBER, bootstrap_, group_, topic_,
                                   dir_.path().string(), std::to_string(number)},
                       .log_file = LogOf(number)});
  }
  std::filesystem::path LogOf(uint32_t number) const {
    return dir_.path() / ("member-" + std::to_string(number) + ".log");
  }
  std::string SaidBy(uint32_t number) const {
    std::ifstream log(LogOf(number));
    return "member " + std::to_string(number) + ": " +
           std::string(std::istreambuf_iterator<char>(log), {});
  }
  // The fence that this member has raised for the message that it holds; 0: it has not.
  uint64_t HeldUnder(uint32_t number) {
    for (const FencedCall& call : target_.All(FencedCall::kRaised)) {
      if (call.member == number && call.id == kHeld) {
        return call.fence;
      }
    }
    return 0;
  }
  bool Holds(uint32_t number) {
    return Eventually(seconds(30), [&] { return HeldUnder(number) > 0; });
  }
  bool Committed(int64_t offset) {
    return Eventually(seconds(30), [&] { return CommittedAt() == offset; });
  }
  // The id is ours until the process is reaped.
  static void LetGoOn(const Process& member) { ::kill(member.pid(), SIGUSR1); }

  const TempDir dir_;
  FencedTarget target_{dir_.path() / "target"};
};

TEST_F(KafkaElidedLocks, AHolderThatWasPausedBeyondItsSessionChangesNothingBehindItsSuccessor) {
  constexpr int kIds = 10;
  CreateTopic(1);
  Send(0, 1);
  const auto former = Start(0);
  ASSERT_TRUE(Committed(1)) << SaidBy(0);
  Send(1, 2);
  ASSERT_TRUE(Holds(0)) << SaidBy(0);
  former->Pause();
  // Nobody is asked to give the partition back: it is the successor's when the session is over.
  const auto successor = Start(1);
  ASSERT_TRUE(Holds(1)) << SaidBy(1);
  EXPECT_GT(HeldUnder(1), HeldUnder(0));
  EXPECT_THAT(target_.All(FencedCall::kOvertaken), IsEmpty());

  LetGoOn(*former);  // it will find that behind its pause
  former->Continue();
  ASSERT_TRUE(Eventually(seconds(30), [&] { return !target_.All(FencedCall::kOvertaken).empty(); }))
      << "it did not try, or was not refused\n"
      << SaidBy(0);
  LetGoOn(*successor);
  EXPECT_TRUE(Committed(2)) << SaidBy(1);
  Send(2, kIds);
  EXPECT_TRUE(Committed(kIds)) << SaidBy(0) << SaidBy(1);
  EXPECT_EQ(former->Terminate(seconds(20)), 0) << SaidBy(0);
  EXPECT_EQ(successor->Terminate(seconds(20)), 0) << SaidBy(1);

  const auto overtaken = target_.All(FencedCall::kOvertaken);
  ASSERT_THAT(overtaken, SizeIs(1));
  EXPECT_EQ(overtaken[0].member, 0u);
  EXPECT_EQ(overtaken[0].id, kHeld);
  EXPECT_EQ(overtaken[0].fence, HeldUnder(0));
  EXPECT_EQ(overtaken[0].still_mine, 0u) << "the lease has outlived the assignment";
  EXPECT_THAT(SaidBy(0), HasSubstr("a lease of the handler was lost"));
  EXPECT_THAT(target_.Judge(0, kIds), IsEmpty());
  int64_t applied = 0;
  for (const FencedCall& end : target_.All(FencedCall::kEnded)) {
    applied += end.applied;
  }
  EXPECT_EQ(applied, kIds) << "the former one has completed what it was refused";
}

}  // namespace
}  // namespace oncemq::testing
