// SPDX-License-Identifier: Apache-2.0
// The poll loop on stores of partitions, with a scripted source: what is announced, committed and
// forgotten, and when a store is held.
#include "window_stores.h"

#include <sys/stat.h>

#include <algorithm>

#include "oncemq/dedup/local_window.h"
#include "poll_loop_fixture.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

// Stores whose calls can be made to fail, and are seen.
//
// Thread safety: as Window.
class SeenStores final : public Window {
 public:
  explicit SeenStores(const std::string& directory, Level level = Level::kGuarded) {
    LocalWindowOptions options;
    options.directory = directory;
    options.level = level;
    options.times.handler_timeout = milliseconds(300);
    inner_ = *OpenPartitionWindows(options, SystemClock::Instance());
  }

  std::atomic<bool> slow{false};  // nothing comes back from the disk
  std::atomic<bool> waits{false};
  std::atomic<bool> slow_open{false};  // the same of a store that is opened
  std::atomic<bool> full{false};       // nothing can be announced
  std::atomic<bool> unopened{false};   // no store can be opened
  std::atomic<int> not_opened{0};      // how often
  std::atomic<bool> unmarked{false};   // nothing can be completed
  std::atomic<int> not_completed{0};   // how often
  std::function<void()> completes;     // called before each completion; set before the first
  std::function<void()> closes;        // the same of stores
  // It has lost something: nothing but Open() is answered.
  std::atomic<bool> lost_writes{false};
  std::atomic<bool> late_loss{false};  // one completion is told so, and nothing else
  std::atomic<bool> says_loss{false};  // the next opening does

  const WindowCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<StoreKnowledge> Open(const StoreName& name) override {
    if (unopened) {
      not_opened++;
      return Error{Code::kUnavailable, ::oncemq::Effect::kNone, "no space left on device"};
    }
    while (slow_open) {
      waits = true;
      std::this_thread::yield();
    }
    lost_writes = false;
    auto known = inner_->Open(name);
    if (known) {
      known->lost_writes |= says_loss.exchange(false);
    }
    MutexLock lock(mutex_);
    open_ += known ? 1 : 0;
    return known;
  }
  void Close(uint32_t source, int32_t partition) override {
    if (closes) {
      closes();
    }
    inner_->Close(source, partition);
    MutexLock lock(mutex_);
    open_--;
  }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return lost_writes ? Result<OwnerEpoch>(LostWrites())
                       : inner_->RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    return lost_writes ? Status(LostWrites()) : inner_->Claim(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> changes) override {
    if (unmarked) {
      not_completed++;
      return Error{Code::kUnavailable, ::oncemq::Effect::kNone, "no space left on device"};
    }
    if (completes) {
      completes();
    }
    return lost_writes || late_loss.exchange(false) ? Status(LostWrites())
                                                    : inner_->Complete(requests, changes);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> changes) override {
    return lost_writes ? Status(LostWrites()) : inner_->Release(requests, changes);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> changes) override {
    return inner_->Park(requests, changes);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> changes) override {
    return inner_->Renew(requests, changes);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> changes) override {
    return inner_->Restore(requests, changes);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return inner_->Peek(ids, views);
  }
  void SetAdminSocket(const std::string& path) override { inner_->SetAdminSocket(path); }
  Status Announce(std::span<const Announcement> announcements) override {
    if (full) {
      return Error{Code::kUnavailable, ::oncemq::Effect::kUnknown, "no space left on device"};
    }
    while (slow) {
      waits = true;
      std::this_thread::yield();
    }
    if (lost_writes) {
      return LostWrites();
    }
    MutexLock lock(mutex_);
    for (const Announcement& one : announcements) {
      announced_.push_back(one.offset);
    }
    return inner_->Announce(announcements);
  }
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override {
    MutexLock lock(mutex_);
    for (const Progress& one : progress) {
      committed_.push_back(one.frontier);
    }
    return inner_->Committed(progress, answers);
  }

  int open() const {
    MutexLock lock(mutex_);
    return open_;
  }
  std::vector<int64_t> announced() const {
    MutexLock lock(mutex_);
    return announced_;
  }
  std::vector<int64_t> committed() const {
    MutexLock lock(mutex_);
    return committed_;
  }

 private:
  static Error LostWrites() {
    return {Code::kLostWrites, ::oncemq::Effect::kNone, "changes are gone"};
  }

  std::unique_ptr<Window> inner_;
  mutable Mutex mutex_;
  int open_ GUARDED_BY(mutex_) = 0;
  std::vector<int64_t> announced_ GUARDED_BY(mutex_);
  std::vector<int64_t> committed_ GUARDED_BY(mutex_);
};

class WindowStoresTest : public PollLoopTest {
 protected:
  static int64_t Last(const std::vector<int64_t>& offsets) {
    return offsets.empty() ? -1 : offsets.back();
  }

  static std::string WaitsFor(const RunningLoop& loop) {
    const RunReport report = loop.Now();
    return report.partitions.empty() ? "" : report.partitions[0].waiting;
  }

  // A handler that counts its calls, and ends each when it may.
  Handler CountUntil(const std::atomic<bool>& go) {
    return [this, &go](const Message&, Context&) -> Outcome {
      calls_++;
      while (!go) {
        std::this_thread::yield();
      }
      return Done{};
    };
  }

  const TempDir dir_;
  SeenStores stores_{dir_.path() / "stores"};
};

TEST_F(WindowStoresTest, EachCommitIsAnnouncedBeforeItIsSentAndToldWhenItIsAcknowledged) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().AnswerCommits(CommitReply::kUnknown);
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Last(stores_.announced()) == 0; }));
  EXPECT_TRUE(stores_.committed().empty()) << "nobody has acknowledged it";
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return Last(stores_.committed()) == 1; }));
  EXPECT_EQ(Last(stores_.announced()), 1);
  EXPECT_EQ(stores_.open(), 1);
  loop.script().Revoke(0);
  ASSERT_TRUE(Holds([&] { return !loop.script().seen().given_back.empty(); }));
  EXPECT_EQ(stores_.open(), 0) << "before the group hears of it";
}

// The next owner on this host could not open it.
TEST_F(WindowStoresTest, TheGroupHearsOfAPartitionOnceItsStoreIsClosed) {
  RunningLoop loop(Options(), &stores_, Count());
  std::atomic<size_t> given_back{1};
  stores_.closes = [&] {
    SleepFor(milliseconds(20));
    given_back = loop.script().seen().given_back.size();
  };
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  loop.script().Revoke(0);
  ASSERT_TRUE(Holds([&] { return !loop.script().seen().given_back.empty(); }));
  EXPECT_EQ(given_back, 0u);
}

TEST_F(WindowStoresTest, NobodyElseMayReadAStore) {
  const mode_t before = umask(022);
  {
    RunningLoop loop(Options(), &stores_, Count());
    loop.script().Prepare(0);
    ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  }
  umask(before);
  for (const char* folder : {"stores", "stores/topic", "stores/topic/0"}) {
    struct stat facts {};
    ASSERT_EQ(stat((dir_.path() / folder).c_str(), &facts), 0) << folder;
    EXPECT_EQ(facts.st_mode & 07777, 0700u) << folder;
  }
}

TEST_F(WindowStoresTest, WhatCannotBeAnnouncedIsNotCommittedAndThePartitionGoesOnWhenItCan) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  stores_.full = true;
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1 && WaitsFor(loop) == "no space left on device"; }));
  EXPECT_GT(loop.Now().window_errors, 0);
  EXPECT_EQ(Committed(loop.script().seen(), 0), 0);
  stores_.full = false;
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  ASSERT_TRUE(Holds([&] { return WaitsFor(loop).empty(); }));
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(loop.Stop().clean);
}

// Results since the last announcement may be gone: a commit that counts them would lose them.
TEST_F(WindowStoresTest, WhereAStoreHasRegressedThePartitionIsAssignedAnewAndCommitsNothingBefore) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  stores_.lost_writes = true;
  loop.script().Append(0, "b", "k");
  ASSERT_TRUE(Holds([&] { return !loop.script().seen().assigned_anew.empty(); }));
  EXPECT_EQ(calls_, 1) << "no claim was granted";
  const Script::Seen seen = loop.script().seen();
  EXPECT_EQ(Committed(seen, 0), 1);
  EXPECT_TRUE(seen.given_back.empty()) << "the group has not asked for it";
  loop.script().Prepare(0, seen.commits.back());
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(loop.script().seen().assigned_anew.size(), 1u);
  EXPECT_TRUE(loop.Stop().clean);
}

// It would claim the lost results in the store that is opened next.
TEST_F(WindowStoresTest, AnAnnouncementUnderWayIsWaitedForBeforeARegressedStoreIsOpened) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  stores_.slow = true;
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return stores_.waits.load(); }));
  stores_.lost_writes = true;
  const int64_t before = loop.Now().window_errors;
  loop.script().Append(0, "b", "k");
  const bool refused = Holds([&] { return loop.Now().window_errors > before + 2; });
  const size_t assigned_anew = loop.script().seen().assigned_anew.size();
  stores_.slow = false;  // whatever has happened: the loop's end waits for it
  EXPECT_TRUE(refused);
  EXPECT_EQ(assigned_anew, 0u);
  EXPECT_TRUE(Holds([&] { return loop.script().seen().assigned_anew.size() == 1; }));
  EXPECT_EQ(Committed(loop.script().seen(), 0), 0);
}

TEST_F(WindowStoresTest, ALossThatIsMetWhileThePartitionDrainsIsKnownToTheNextAssignment) {
  RuntimeOptions options = Options();
  options.drain_deadline = milliseconds(50);
  options.core.session_margin = milliseconds(50);
  std::atomic<bool> go{false};
  std::atomic<bool> told{false};
  RunningLoop loop(options, &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Revoke(0);
  loop.script().Emit([&](SourceEvents&) {  // the drain has begun
    stores_.lost_writes = true;
    go = true;
  });
  // The marker is asked for again only after the loop has seen the first answer.
  ASSERT_TRUE(Holds(
      [&] { return !loop.script().seen().given_back.empty() && loop.Now().window_errors > 3; }));
  EXPECT_TRUE(loop.script().seen().assigned_anew.empty()) << "the group takes it";
  loop.script().Emit([&](SourceEvents& events) {
    Assignment assignment;
    assignment.log.end = 1'000;
    static_cast<void>(events.Prepare(0, {"topic", 0}, assignment));
    told = assignment.store_lost_writes;
  });
  EXPECT_TRUE(Holds([&] { return told.load(); }));
}

// The store says so to an assignment that is over by then.
TEST_F(WindowStoresTest, ALossThatIsSaidTooLateIsKnownToTheNextAssignment) {
  RunningLoop loop(Options(), &stores_, Count());
  std::atomic<bool> ready{false};
  std::atomic<bool> reported{false};
  const auto prepare = [&] {
    loop.script().Emit([&](SourceEvents& events) {
      Assignment assignment;
      assignment.log.end = 1'000;
      ready = events.Prepare(0, {"topic", 0}, assignment).has_value();
      reported = assignment.store_lost_writes;
    });
  };
  stores_.says_loss = true;
  prepare();
  ASSERT_TRUE(Holds([&] { return stores_.open() == 1; }));
  ASSERT_TRUE(Holds([&] { return stores_.open() == 0; })) << "nobody took the answer";
  EXPECT_FALSE(stores_.says_loss);
  EXPECT_TRUE(Holds([&] {
    prepare();
    return ready.load();
  }));
  EXPECT_TRUE(reported);
}

TEST_F(WindowStoresTest, ALossThatALateRunHasMetDoesNotEndTheNextAssignment) {
  std::atomic<bool> go{false};
  RunningLoop loop(Options(), &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Lose(0);
  loop.script().Prepare(0, loop.script().seen().commits.back());
  loop.script().Emit([&](SourceEvents&) {  // the next assignment has begun
    stores_.late_loss = true;
    go = true;
  });
  loop.script().Append(0, "b", "k");
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  EXPECT_FALSE(stores_.late_loss) << "nothing was met";
  EXPECT_TRUE(loop.script().seen().assigned_anew.empty());
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(WindowStoresTest, AMarkerIsOwedWhileThePartitionIsAssignedAnew) {
  std::atomic<bool> go{false};
  RunningLoop loop(Options(), &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  stores_.lost_writes = true;
  go = true;
  ASSERT_TRUE(Holds([&] { return !loop.script().seen().assigned_anew.empty(); }));
  const int64_t before = loop.Now().window_errors;
  ASSERT_TRUE(Holds([&] { return loop.Now().window_errors > before + 3; })) << "it is asked for";
  loop.script().Prepare(0, loop.script().seen().commits.back());
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(loop.Now().counts.applied, 1);
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(WindowStoresTest, AMarkerThatALossTookFromAPartitionThatHasGoneIsNotOwedForEver) {
  RuntimeOptions options = Options();
  options.drain_deadline = milliseconds(50);
  std::atomic<bool> go{false};
  RunningLoop loop(options, &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Lose(0);
  stores_.lost_writes = true;
  go = true;
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.handed_back == 1; }));
  EXPECT_EQ(loop.Now().counts.open, 0);
  EXPECT_TRUE(loop.Stop().clean);
}

// No store is opened again then.
TEST_F(WindowStoresTest, AStopDoesNotWaitForAMarkerThatALossTook) {
  RuntimeOptions options = Options();
  options.drain_deadline = std::chrono::seconds(10);
  std::atomic<bool> go{false};
  RunningLoop loop(options, &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Lose(0);
  stores_.lost_writes = true;
  go = true;
  ASSERT_TRUE(Holds([&] { return loop.Now().window_errors > 0; }));
  EXPECT_TRUE(loop.Stop().clean);
}

// Its client has not taken the partition, and may never do so.
TEST_F(WindowStoresTest, AStoreThatWasOpenedForAnAssignmentThatDoesNotFollowIsClosed) {
  RuntimeOptions options = Options();
  options.drain_deadline = milliseconds(50);
  std::atomic<bool> opened{false};
  RunningLoop loop(options, &stores_, Count());
  ASSERT_TRUE(Holds([&] {
    loop.script().Emit([&](SourceEvents& events) {
      Assignment assignment;
      assignment.log.end = 1'000;
      const auto ready = opened ? std::nullopt : events.Prepare(0, {"topic", 0}, assignment);
      opened = opened || (ready && *ready && stores_.open() == 1);
    });
    return opened.load();
  }));
  EXPECT_TRUE(Holds([&] { return stores_.open() == 0; }));
}

// The group has taken the partition meanwhile.
TEST_F(WindowStoresTest, AStoreThatIsOpenWhenItsAssignmentIsOverIsClosed) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Emit([&](SourceEvents& events) {
    Assignment assignment;
    assignment.log.end = 1'000;
    EXPECT_FALSE(events.Prepare(0, {"topic", 0}, assignment));
  });
  ASSERT_TRUE(Holds([&] { return stores_.open() == 1; }));
  EXPECT_TRUE(Holds([&] { return stores_.open() == 0; }));
}

// It would come after the opening, and leave the assignment without a store.
TEST_F(WindowStoresTest, AStoreIsNotClosedWhileItIsOpenedForTheNextAssignment) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  stores_.slow_open = true;
  loop.script().Lose(0);
  loop.script().Prepare(0, loop.script().seen().commits.back());
  ASSERT_TRUE(Holds([&] { return stores_.waits.load(); }));
  SleepFor(milliseconds(200));  // stores to be closed are looked for every 50 ms
  stores_.slow_open = false;
  loop.script().Append(0, "a", "k");
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
}

TEST_F(WindowStoresTest, ADiskThatStallsAtAnOpeningHoldsUpNoOtherPartition) {
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  stores_.slow_open = true;
  loop.script().Prepare(1);
  ASSERT_TRUE(Holds([&] { return stores_.waits.load(); }));
  loop.script().Append(0, "a", "k");
  const bool handled = Holds([&] { return calls_ == 1; });
  stores_.slow_open = false;  // whatever has happened: the loop's end waits for it
  EXPECT_TRUE(handled);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 1) == 0; }));
}

TEST_F(WindowStoresTest, ADiskThatStallsAtARevocationCostsThePartitionAndNotTheMembership) {
  RuntimeOptions options = Options();
  options.drain_deadline = milliseconds(50);
  options.core.session_margin = milliseconds(50);
  RunningLoop loop(options, &stores_, Count());
  loop.script().Prepare(0);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  stores_.slow = true;
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return stores_.waits.load(); }));
  loop.script().Revoke(0);
  const bool given_back = Holds([&] { return !loop.script().seen().given_back.empty(); });
  const int rejoined = loop.script().seen().rejoined;
  stores_.slow = false;  // whatever has happened: the loop's end waits for it
  ASSERT_TRUE(given_back);
  EXPECT_EQ(rejoined, 0);
  loop.script().Prepare(1);
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 1) == 0; }));
  EXPECT_EQ(Committed(loop.script().seen(), 0), 0) << "what waited for the disk is not sent";
}

TEST_F(WindowStoresTest, AProcessThatWasStoppedInADrainSendsNoCommitForWhatItGivesBack) {
  stores_.unmarked = true;
  RunningLoop loop(Options(), &stores_, Count());
  stores_.completes = [&] { loop.script().Advance(std::chrono::hours(1)); };
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return stores_.not_completed > 0; }));
  loop.script().Revoke(0);
  loop.script().Emit([&](SourceEvents&) { stores_.unmarked = false; });  // the drain has begun
  ASSERT_TRUE(Holds([&] {
    return !loop.script().seen().given_back.empty() || loop.script().seen().rejoined > 0;
  }));
  EXPECT_EQ(Committed(loop.script().seen(), 0), 0) << "its store was closed, and could not know";
  EXPECT_EQ(loop.script().seen().rejoined, 0) << "nothing of it may still land";
}

// Rule 13: who opened it would take the claim of the handler that still runs for a dead one's.
TEST_F(WindowStoresTest, AtOpaqueAStoreStaysWhileAHandlerMayActThoughThePartitionIsGivenBack) {
  SeenStores stores(dir_.path() / "opaque", Level::kOpaque);
  RuntimeOptions options = Options();
  options.drain_deadline = milliseconds(20);
  options.policy.level = Level::kOpaque;
  std::atomic<bool> go{false};
  RunningLoop loop(options, &stores, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Revoke(0);
  ASSERT_TRUE(Holds([&] { return !loop.script().seen().given_back.empty(); }));
  EXPECT_EQ(stores.open(), 1) << "its handler still runs";
  go = true;
  ASSERT_TRUE(Holds([&] { return stores.open() == 0; }));
}

TEST_F(WindowStoresTest, AStoreOfALostPartitionStaysOpenForTheRunThatIsUnderWay) {
  std::atomic<bool> go{false};
  RunningLoop loop(Options(), &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Lose(0);
  loop.script().Emit([&](SourceEvents&) { calls_++; });  // it polls on
  ASSERT_TRUE(Holds([&] { return calls_ == 2; }));
  EXPECT_EQ(stores_.open(), 1);
  go = true;
  ASSERT_TRUE(Holds([&] { return stores_.open() == 0; }));
  const auto known = stores_.Open({0, 0, "topic", "cluster , "});
  ASSERT_TRUE(known) << ToString(known.error());
  const std::string_view id = "a";
  MarkerView view;
  ASSERT_TRUE(stores_.Peek({&id, 1}, {&view, 1}));
  EXPECT_EQ(view.state, MarkerState::kDone) << "a late truth is kept";
}

TEST_F(WindowStoresTest, AStoreOfALostPartitionStaysOpenForAMarkerThatIsOwed) {
  stores_.unmarked = true;
  RunningLoop loop(Options(), &stores_, Count());
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return stores_.not_completed > 0; }));
  loop.script().Lose(0);
  loop.script().Emit([&](SourceEvents&) { calls_++; });
  ASSERT_TRUE(Holds([&] { return calls_ == 2; }));
  const int tries = stores_.not_completed;
  ASSERT_TRUE(Holds([&] { return stores_.not_completed > tries + 2 || stores_.open() == 0; }));
  EXPECT_EQ(stores_.open(), 1);
  stores_.unmarked = false;
  ASSERT_TRUE(Holds([&] { return stores_.open() == 0; }));
  ASSERT_TRUE(stores_.Open({0, 0, "topic", "cluster , "}));
  const std::string_view id = "a";
  MarkerView view;
  ASSERT_TRUE(stores_.Peek({&id, 1}, {&view, 1}));
  EXPECT_EQ(view.state, MarkerState::kDone);
}

TEST_F(WindowStoresTest, AStoreThatWasToBeClosedIsClosedAlsoWhereItCannotBeOpenedAgain) {
  std::atomic<bool> go{false};
  RunningLoop loop(Options(), &stores_, CountUntil(go));
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().Lose(0);
  stores_.unopened = true;
  loop.script().Emit([](SourceEvents& events) {  // it comes back, cannot be had, and goes again
    Assignment assignment;
    EXPECT_FALSE(events.Prepare(0, {"topic", 0}, assignment));
  });
  ASSERT_TRUE(Holds([&] { return stores_.not_opened == 1; }));
  go = true;
  EXPECT_TRUE(Holds([&] { return stores_.open() == 0; }));
}

}  // namespace
}  // namespace oncemq::testing
