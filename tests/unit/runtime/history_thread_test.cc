// SPDX-License-Identifier: Apache-2.0
// The history thread by itself, and the poll loop over a window on a server: the owner of a
// partition there, when calls come late, twice, or not at all.
#include "history_thread.h"

#include <latch>

#include "poll_loop_fixture.h"
#include "remote_window.h"

namespace oncemq::testing {
namespace {

class HistoryThreadTest : public ::testing::Test {
 protected:
  // The first call of a history thread, which all others wait for.
  void Occupy(HistoryThread& history_thread) {
    remote_.Hold();
    history_thread.Add(HistoryThread::RaiseOwnerEpoch{.action = {.partition = 9}, .partition = 9});
    ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return remote_.waiting() == 1; }));
  }
  static HistoryThread::Committed CommittedUpTo(int32_t partition, int64_t frontier) {
    return {Progress{.partition = partition, .frontier = frontier}};
  }
  static HistoryThread::Announce Announced(int32_t partition) {
    HistoryThread::Announce job;
    job.announcement.partition = partition;
    return job;
  }
  // Announces partitions 1, 2 and 3 at once. Which of them were made?
  static std::map<int32_t, bool> AnnounceThree(RemoteWindow& window,
                                               HistoryThread& history_thread) {
    for (const int32_t partition : {1, 2, 3}) {
      history_thread.Add(Announced(partition));
    }
    window.LetGo();
    std::vector<HistoryThread::Job> done;
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      history_thread.Take(done);
      return done.size() == 4;
    }));
    std::map<int32_t, bool> made;
    for (const HistoryThread::Job& job : done) {
      if (const auto* const one = std::get_if<HistoryThread::Announce>(&job)) {
        made[one->announcement.partition] = one->made.has_value();
      }
    }
    return made;
  }
  // All that was made, once `jobs` are answered.
  std::vector<std::string> MadeAfter(HistoryThread& history_thread, size_t jobs) {
    remote_.LetGo();
    std::vector<HistoryThread::Job> done;
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
      history_thread.Take(done);
      return done.size() >= jobs;
    }));
    return remote_.made();
  }

  RemoteWindow remote_;
  StoreErrors errors_;
  std::unique_ptr<Wake> wake_ = *Wake::Open();
};

TEST_F(HistoryThreadTest, CommitsAndCatchUpsGoBeforeTheirSpaceAndThatIsToldOnceForAPartition) {
  HistoryThread history_thread(&remote_, errors_, *wake_);
  Occupy(history_thread);
  history_thread.Add(CommittedUpTo(1, 10));
  history_thread.Add(CommittedUpTo(2, 5));
  history_thread.Add(Announced(1));
  history_thread.Add(CommittedUpTo(1, 20));
  history_thread.Add(HistoryThread::Restore{});
  history_thread.Add(Announced(2));
  EXPECT_EQ(MadeAfter(history_thread, 6),
            (std::vector<std::string>{"raise 9", "announce 1", "restore", "announce 2",
                                      "committed 1 at 20", "committed 2 at 5"}));
}

TEST_F(HistoryThreadTest, PartitionsAreAnnouncedTogetherOneCommitOfEachAtATime) {
  HistoryThread history_thread(&remote_, errors_, *wake_);
  Occupy(history_thread);
  for (const int32_t partition : {1, 2, 3, 1}) {
    history_thread.Add(Announced(partition));
  }
  EXPECT_EQ(MadeAfter(history_thread, 5),
            (std::vector<std::string>{"raise 9", "announce 1", "announce 2", "announce 3",
                                      "announce 1"}));
  EXPECT_EQ(remote_.announce_calls, 2) << "a store that numbers its calls would drop the second";
}

TEST_F(HistoryThreadTest, OfPartitionsAnnouncedTogetherOnlyTheOneWithANewerOwnerIsRefused) {
  HistoryThread history_thread(&remote_, errors_, *wake_);
  remote_.RaiseBehind(0, 2);
  Occupy(history_thread);
  EXPECT_EQ(AnnounceThree(remote_, history_thread),
            (std::map<int32_t, bool>{{1, true}, {2, false}, {3, true}}));
}

TEST_F(HistoryThreadTest, AStoreOnDiskThatDoesNotAnswerKeepsNoOtherFromItsCommits) {
  RemoteWindow disk(Level::kGuarded, /*remote=*/false);
  HistoryThread history_thread(&disk, errors_, *wake_);
  disk.Hold();
  history_thread.Add(HistoryThread::RaiseOwnerEpoch{.action = {.partition = 9}, .partition = 9});
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] { return disk.waiting() == 1; }));
  disk.announces_not = 2;
  EXPECT_EQ(AnnounceThree(disk, history_thread),
            (std::map<int32_t, bool>{{1, true}, {2, false}, {3, true}}));
}

TEST_F(HistoryThreadTest, SpaceIsFreedAlsoWhereCommitsNeverEnd) {
  constexpr size_t kMany = 200;
  HistoryThread history_thread(&remote_, errors_, *wake_);
  Occupy(history_thread);
  history_thread.Add(CommittedUpTo(1, 10));
  for (size_t i = 0; i < kMany; i++) {
    history_thread.Add(Announced(2));
  }
  const auto made = MadeAfter(history_thread, kMany + 2);
  const auto told = std::find(made.begin(), made.end(), "committed 1 at 10");
  EXPECT_LT(told - made.begin(), static_cast<ptrdiff_t>(kMany) / 2);
}

TEST_F(HistoryThreadTest, AStoreIsClosedAfterItsProgressIsTold) {
  HistoryThread history_thread(&remote_, errors_, *wake_);
  Occupy(history_thread);
  history_thread.Add(CommittedUpTo(2, 5));
  history_thread.Add(CommittedUpTo(1, 10));
  history_thread.Add(HistoryThread::Close{.id = 1, .partition = 1});
  history_thread.Add(Announced(2));
  EXPECT_EQ(MadeAfter(history_thread, 5),
            (std::vector<std::string>{"raise 9", "committed 1 at 10", "close 1", "announce 2",
                                      "committed 2 at 5"}));
}

TEST_F(HistoryThreadTest, ItsEndClosesWhatItWasToldToCloseAndWhatWasOpenedForNobody) {
  {
    HistoryThread history_thread(&remote_, errors_, *wake_);
    history_thread.Add(HistoryThread::Open{.partition = 3, .name = {"topic", 3}});
    Occupy(history_thread);
    history_thread.Add(Announced(2));
    history_thread.Add(HistoryThread::Close{.id = 1, .partition = 1});
    remote_.LetGo();
  }
  const std::vector<std::string> made = remote_.made();
  EXPECT_EQ(std::count(made.begin(), made.end(), "close 1"), 1);
  EXPECT_EQ(std::count(made.begin(), made.end(), "close 3"), 1);
}

TEST_F(HistoryThreadTest, ARaiseThatIsForgottenIsNotMadeAndOthersAre) {
  HistoryThread history_thread(&remote_, errors_, *wake_);
  Occupy(history_thread);
  history_thread.Add(HistoryThread::RaiseOwnerEpoch{.action = {.partition = 1}, .partition = 1});
  history_thread.Add(HistoryThread::RaiseOwnerEpoch{.action = {.partition = 2}, .partition = 2});
  history_thread.Add(Announced(1));
  history_thread.ForgetRaise(1);
  EXPECT_EQ(MadeAfter(history_thread, 3),
            (std::vector<std::string>{"raise 9", "raise 2", "announce 1"}));
}

class RemoteOwnershipTest : public PollLoopTest {
 protected:
  static RuntimeOptions Patient() {
    RuntimeOptions options = Options();
    options.workers = 1;
    options.core.session_timeout = seconds(6);
    options.core.session_margin = milliseconds(500);
    return options;
  }
  static bool Active(const RunningLoop& loop) {
    const RunReport report = loop.Now();
    return !report.partitions.empty() &&
           report.partitions[0].status.phase == PartitionPhase::kActive;
  }
  bool Handles(RunningLoop& loop, const std::string& id) {
    const int before = calls_;
    loop.script().Append(0, id, "k");
    return Holds([&] { return calls_ > before; });
  }
  using seconds = std::chrono::seconds;

  RemoteWindow remote_;
};

// The second one would be made after the first was answered, and refuse its commits for ever.
TEST_F(RemoteOwnershipTest, AnOwnershipThatIsBeingRaisedIsNotAskedForAgain) {
  RunningLoop loop(Patient(), &remote_, Count());
  remote_.Hold();
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return remote_.waiting() == 1; }));
  for (const PartitionId partition : {1u, 2u}) {
    loop.script().Assign(partition);
  }
  ASSERT_TRUE(Holds([&] { return loop.Now().partitions.size() == 3; }));
  for (int session = 0; session < 3; session++) {
    loop.script().Advance(seconds(7));
    ASSERT_TRUE(Holds([&] { return loop.Now().age < seconds(1); }));
  }
  remote_.LetGo();
  EXPECT_TRUE(Handles(loop, "a"));
  for (const char* raise : {"raise 0", "raise 1", "raise 2"}) {
    EXPECT_EQ(remote_.Made(raise), 1u);
  }
  EXPECT_TRUE(loop.Stop().clean);
}

// A raise whose client has given up arrives before the ownership is confirmed.
TEST_F(RemoteOwnershipTest, AnOwnershipThatIsRefusedBeforeItIsConfirmedIsRaisedAgain) {
  remote_.raised_behind = 2;
  RunningLoop loop(Patient(), &remote_, Count());
  loop.script().Prepare(0);
  EXPECT_TRUE(Handles(loop, "a"));
  EXPECT_EQ(remote_.Made("raise 0"), 3u);
  EXPECT_EQ(remote_.Made("announce 0 fenced"), 2u);
  EXPECT_TRUE(loop.Stop().clean);
}

// Nothing is claimed then, so that only the commits find out.
TEST_F(RemoteOwnershipTest, AnOwnershipThatIsRefusedWhileNothingRunsIsRaisedAgain) {
  RunningLoop loop(Patient(), &remote_, Count());
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Active(loop); }));
  remote_.RaiseBehind(0, 0);
  loop.script().Advance(seconds(7));
  ASSERT_TRUE(Holds([&] { return remote_.Made("announce 0 fenced") > 0; }));
  EXPECT_TRUE(Handles(loop, "a"));
  EXPECT_EQ(remote_.Made("raise 0"), 2u);
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(RemoteOwnershipTest, NothingIsRaisedForAPartitionThatIsOursNoMore) {
  RunningLoop loop(Patient(), &remote_, Count());
  remote_.Hold();
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return remote_.waiting() == 1; }));
  for (const PartitionId partition : {1u, 2u}) {
    loop.script().Assign(partition);
  }
  ASSERT_TRUE(Holds([&] { return loop.Now().partitions.size() == 3; }));
  loop.script().Lose(1);
  loop.script().Revoke(2);
  ASSERT_TRUE(Holds([&] { return !loop.script().seen().given_back.empty(); }));
  remote_.LetGo();
  EXPECT_TRUE(Handles(loop, "a"));
  EXPECT_EQ(remote_.Made("raise 1"), 0u) << "the next owner would be refused";
  EXPECT_EQ(remote_.Made("raise 2"), 0u);
}

TEST_F(RemoteOwnershipTest, TheAnswerToARaiseOfAnEarlierAssignmentIsNotTaken) {
  RunningLoop loop(Patient(), &remote_, Count());
  remote_.Hold();
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return remote_.waiting() == 1; }));
  loop.script().Lose(0);
  loop.script().Assign(0);
  ASSERT_TRUE(Holds([&] { return loop.Now().partitions[0].status.epoch == 2; }));
  remote_.LetGo();
  EXPECT_TRUE(Handles(loop, "a"));
  EXPECT_EQ(remote_.Made("raise 0"), 2u);
  EXPECT_EQ(remote_.Made("announce 0 fenced"), 0u);
  const Script::Seen seen = loop.script().seen();
  EXPECT_EQ(DecodeCommit(seen.commits[0].metadata, seen.commits[0].offset)->owner_epoch,
            remote_.owner_epoch(0));
}

// The time of a claim is not the handlers': it says nothing against long runs.
TEST_F(RemoteOwnershipTest, AWindowFarAwayGetsLongRuns) {
  constexpr int kMessages = 2'000;
  remote_.claim_takes = milliseconds(8);
  RunningLoop loop(Patient(), &remote_, Count());
  for (int i = 0; i < kMessages; i++) {
    loop.script().Append(0, std::to_string(i), "k" + std::to_string(i));
  }
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return loop.Now().counts.handler_calls == kMessages; }));
  EXPECT_LT(remote_.claims, 200);
}

// A backup was restored: the claim is gone, and anybody may be granted the id.
TEST_F(RemoteOwnershipTest, TheClaimOfWhatIsAppliedIsRenewedUntilItsCompletionIsMade) {
  remote_.completions_down = true;
  RuntimeOptions options = Patient();
  options.renew_every = milliseconds(20);
  RunningLoop loop(options, &remote_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Prepare(0);
  EXPECT_TRUE(Holds([&] { return remote_.renewals >= 3; }));
  EXPECT_EQ(loop.Now().counts.applied, 0);
  remote_.completions_down = false;
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; }));
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(RemoteOwnershipTest, ClaimsAreRenewedWhileTheirCompletionIsUnderWay) {
  remote_.completion_awaits_renewals = 2;
  RuntimeOptions options = Patient();
  options.renew_every = milliseconds(20);
  RunningLoop loop(options, &remote_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Prepare(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; }));
  EXPECT_GE(remote_.renewals, 2);
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(RemoteOwnershipTest, ARenewalThatMeetsALossAsksTheHandlerToStop) {
  std::latch stopped(1);
  remote_.renewals_lose_writes = true;
  RuntimeOptions options = Patient();
  options.renew_every = milliseconds(20);
  RunningLoop loop(options, &remote_, [&](const Message&, Context& context) -> Outcome {
    const std::stop_callback on_stop(context.stop(), [&] { stopped.count_down(); });
    if (!Holds([&] { return stopped.try_wait(); })) {
      ADD_FAILURE() << "it runs on after " << remote_.renewals << " renewals";
    }
    return Retry{.after = seconds(1'000)};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Prepare(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.handler_calls == 1; }));
}

}  // namespace
}  // namespace oncemq::testing
