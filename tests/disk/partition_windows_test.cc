// SPDX-License-Identifier: Apache-2.0
// Windows of partitions: when a store is opened, who waits for it, and what it keeps of the place
// that its topic had in the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "disk_window.h"
#include "fault.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/temp_dir.h"
#include "syncs.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLong{30};

class DiskPartitions : public ::testing::Test {
 protected:
  std::unique_ptr<Window> Windows() const {
    auto windows = OpenPartitionWindows(DiskOptions(directory_.path() / "stores", 100),
                                        SystemClock::Instance());
    EXPECT_TRUE(windows);
    return *std::move(windows);
  }
  static Result<StoreKnowledge> Open(Window& windows, int32_t partition, uint32_t source = 0) {
    return windows.Open({source, partition, "payments", "group g"});
  }
  static Result<ClaimAnswer> Claim(Window& windows, const Coordinates& at, uint64_t token = 1) {
    const std::string id = IdNumber(at.offset);
    const ClaimRequest claim{.id = id, .token = {1, token}, .at = at, .time = kThen};
    ClaimAnswer answer;
    const Status claimed = windows.Claim({&claim, 1}, {&answer, 1});
    return claimed ? Result<ClaimAnswer>(answer) : claimed.error();
  }
  static Status Announce(Window& windows, uint32_t source, int32_t partition) {
    const Announcement one{source, partition, 0, 7, 7, "a commit"};
    return windows.Announce({&one, 1});
  }
  // So that the next call has to open the store again.
  static void Fail(Window& windows, int32_t partition) {
    const FailingSyncs failing;
    EXPECT_FALSE(Announce(windows, 0, partition));
  }

  const TempDir directory_;
};

TEST_F(DiskPartitions, ADirectoryThatNoStoreCanLieInIsRefusedAtTheStart) {
  const fs::path file = directory_.path() / "file";
  std::ofstream(file) << "a file";
  for (const fs::path& place : {file, file / "stores", file / "a" / "b", fs::path("/proc/nope")}) {
    const auto windows = OpenPartitionWindows(DiskOptions(place, 100), SystemClock::Instance());
    ASSERT_FALSE(windows) << place;
    EXPECT_EQ(windows.error().code, Code::kInvalid);
    EXPECT_EQ(windows.error().message.find(place.string() + ": "), 0u) << windows.error().message;
    const Status check = CheckWindowDirectory(place);
    ASSERT_FALSE(check) << place;
    EXPECT_EQ(check.error().message, windows.error().message);
  }
}

TEST_F(DiskPartitions, ADirectoryIsMadeWhenTheWindowIsOpenedAndNotWhenItIsLookedAt) {
  const fs::path place = directory_.path() / "a" / "b";
  EXPECT_TRUE(CheckWindowDirectory(place));
  EXPECT_FALSE(fs::exists(directory_.path() / "a"));
  EXPECT_TRUE(OpenPartitionWindows(DiskOptions(place, 100), SystemClock::Instance()));
  EXPECT_EQ(fs::status(place).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_empty(place));
}

// Two names of this length are told apart by eye only where the difference stands first.
TEST_F(DiskPartitions, AStoreOfAnotherGroupNamesTheGroupsFirst) {
  const auto windows = Windows();
  const StoreName name{0, 1, "payments", "cluster c, group g1, app , handler h"};
  ASSERT_TRUE(windows->Open(name));
  windows->Close(0, 1);
  const auto other = windows->Open({0, 1, "payments", "cluster c, group g2, app , handler h"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalid);
  const std::string rest = ", app , handler h, topic payments, partition 1\"";
  EXPECT_THAT(
      other.error().message,
      ::testing::EndsWith("the directory belongs to \"group g1\", not to \"group g2\"; "
                          "it was written for \"a test, cluster c, group g1" +
                          rest + " and is opened for \"a test, cluster c, group g2" + rest));
  const auto fewer = windows->Open({0, 1, "payments", "cluster c"});
  ASSERT_FALSE(fewer);
  EXPECT_THAT(fewer.error().message, ::testing::HasSubstr("not to \"topic payments\"; it was"));
}

TEST_F(DiskPartitions, WhileAStoreIsOpenedAgainOtherCallsAreToldSoAtOnce) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  Fail(*windows, 1);
  std::optional<HeldSyncs> held(std::in_place);
  auto opening = std::async(std::launch::async, [&] { return Claim(*windows, {0, 1, 3}); });
  ASSERT_TRUE(Eventually(kLong, [&] { return held->waiting() == 1; }));
  auto other = std::async(std::launch::async, [&] { return Claim(*windows, {0, 1, 4}); });
  EXPECT_EQ(other.wait_for(kLong), std::future_status::ready) << "it waits for the opening";
  held.reset();
  const auto told = other.get();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kUnavailable);
  EXPECT_EQ(told.error().effect, ::oncemq::Effect::kNone);
  const auto opened = opening.get();
  ASSERT_TRUE(opened) << ToString(opened.error());
  EXPECT_EQ(opened->answer, ClaimVerdict::kGranted);
}

TEST_F(DiskPartitions, AStoreThatWasGivenBackIsNotOpenedAgainByALateCall) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  ASSERT_TRUE(Open(*windows, 2));
  Fail(*windows, 1);
  Fail(*windows, 2);
  std::optional<HeldSyncs> held(std::in_place);
  auto late = std::async(std::launch::async, [&] { return windows->Stat(); });  // of both
  ASSERT_TRUE(Eventually(kLong, [&] { return held->waiting() == 1; }));
  windows->Close(0, 2);
  held.reset();
  const auto stats = late.get();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->size(), 1u);
  const auto next_owner = Windows();
  const auto known = Open(*next_owner, 2);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_EQ(known->earlier.size(), 1u) << "it was opened in the wrong hands";
}

TEST_F(DiskPartitions, AStoreThatIsClosedWhileItIsOpenedIsNotHeld) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  Fail(*windows, 1);
  std::optional<HeldSyncs> held(std::in_place);
  auto late = std::async(std::launch::async, [&] { return Claim(*windows, {0, 1, 3}); });
  ASSERT_TRUE(Eventually(kLong, [&] { return held->waiting() == 1; }));
  windows->Close(0, 1);
  held.reset();
  const auto told = late.get();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->answer, ClaimVerdict::kFenced) << "the partition is not ours";
  const auto next_owner = Windows();
  EXPECT_TRUE(Open(*next_owner, 1));
}

// Its volume is gone, or somebody has put it away: an empty one in its place would let everything
// run again.
TEST_F(DiskPartitions, AStoreThatVanishesWhileItIsHeldIsNotReplacedByAnEmptyOne) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  const fs::path store = directory_.path() / "stores" / "payments" / "1";
  ASSERT_TRUE(fs::exists(store));
  Fail(*windows, 1);
  fs::rename(store, directory_.path() / "away");
  const auto told = Claim(*windows, {0, 1, 3});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kNotFound) << "it may come back";
  EXPECT_FALSE(fs::exists(store)) << "something was made in its place";
  fs::rename(directory_.path() / "away", store);
  EXPECT_TRUE(Claim(*windows, {0, 1, 3})) << "it goes on when the store is back";
}

// Its process could go on with the files for ever, wherever they lie now. Whoever owns the
// partition next would begin with nothing below a commit that stands for all of it.
TEST_F(DiskPartitions, AStoreThatIsMovedUnderItsHolderStandsForNoFurtherCommit) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  ASSERT_TRUE(Announce(*windows, 0, 1));
  const fs::path store = directory_.path() / "stores" / "payments" / "1";
  fs::rename(store, directory_.path() / "away");
  const Status announced = Announce(*windows, 0, 1);
  ASSERT_FALSE(announced) << "a commit would leave for a store that is elsewhere";
  EXPECT_EQ(announced.error().code, Code::kUnavailable);
  EXPECT_EQ(Claim(*windows, {0, 1, 3}).error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(store)) << "something was made in its place";
  fs::rename(directory_.path() / "away", store);
  EXPECT_TRUE(Claim(*windows, {0, 1, 3})) << "it goes on when the store is back";
  EXPECT_TRUE(Announce(*windows, 0, 1));
}

TEST_F(DiskPartitions, AStoreWhoseLockWasTakenAwayStandsForNoFurtherCommit) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  fs::remove(directory_.path() / "stores" / "payments" / "1" / "LOCK");
  EXPECT_FALSE(Announce(*windows, 0, 1)) << "another process can open it by now";
  EXPECT_TRUE(Claim(*windows, {0, 1, 3})) << "with a lock that others see it goes on";
  EXPECT_TRUE(Announce(*windows, 0, 1));
}

TEST_F(DiskPartitions, AStoreThatAnotherOneHasReplacedIsNotTakenForIt) {
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 1));
  const fs::path store = directory_.path() / "stores" / "payments" / "1";
  Fail(*windows, 1);
  fs::rename(store, directory_.path() / "away");
  {
    const auto others = OpenPartitionWindows(DiskOptions(directory_.path() / "others", 100),
                                             SystemClock::Instance());
    ASSERT_TRUE(Open(**others, 1));  // of the same group and partition, made anew
  }
  fs::rename(directory_.path() / "others" / "payments" / "1", store);
  const auto told = Claim(*windows, {0, 1, 3});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kCorrupt);
}

// An operator has put an older copy back, or the disk has lost changes that were not synced. Only
// an assignment compares the store with the group's commit.
TEST_F(DiskPartitions, AStoreThatComesBackWithLessThanItAcknowledgedWaitsForAnAssignment) {
  const auto windows = Windows();
  const auto begun = Open(*windows, 0);
  ASSERT_TRUE(begun);
  ASSERT_TRUE(FinishIds(*windows, 0, 10));
  ASSERT_TRUE(Announce(*windows, 0, 0));
  const fs::path store = directory_.path() / "stores" / "payments" / "0";
  fs::copy(store, directory_.path() / "older", fs::copy_options::recursive);
  ASSERT_TRUE(FinishIds(*windows, 10, 20));
  Fail(*windows, 0);
  fs::rename(store, directory_.path() / "away");
  fs::rename(directory_.path() / "older", store);
  for (int i = 0; i < 3; i++) {
    const auto told = Claim(*windows, {0, 0, 30});
    ASSERT_FALSE(told) << "a done id may look new";
    EXPECT_EQ(told.error().code, Code::kLostWrites);
    const Status announced = Announce(*windows, 0, 0);
    ASSERT_FALSE(announced) << "a commit would count effects that are gone";
    EXPECT_EQ(announced.error().code, Code::kLostWrites);
  }
  const auto known = Open(*windows, 0);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_TRUE(known->lost_writes);
  EXPECT_EQ(known->to, 7);
  EXPECT_THAT(known->earlier, ::testing::Contains(begun->incarnation));
  EXPECT_EQ(*Unknown(*windows, 0, 10), 0);
  EXPECT_EQ(*Unknown(*windows, 10, 20), 10);
  EXPECT_TRUE(Announce(*windows, 0, 0));
  Fail(*windows, 0);
  EXPECT_TRUE(Announce(*windows, 0, 0)) << "since then nothing is gone";
}

// No call came between the failure and the assignment.
TEST_F(DiskPartitions, AnAssignmentThatIsTheFirstToFindALossIsToldOfIt) {
  const auto windows = Windows();
  const auto begun = Open(*windows, 0);
  ASSERT_TRUE(begun);
  EXPECT_FALSE(begun->lost_writes);
  ASSERT_TRUE(FinishIds(*windows, 0, 10));
  ASSERT_TRUE(Announce(*windows, 0, 0));
  const fs::path store = directory_.path() / "stores" / "payments" / "0";
  fs::copy(store, directory_.path() / "older", fs::copy_options::recursive);
  ASSERT_TRUE(FinishIds(*windows, 10, 20));
  Fail(*windows, 0);
  fs::rename(store, directory_.path() / "away");
  fs::rename(directory_.path() / "older", store);
  const auto known = Open(*windows, 0);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_TRUE(known->lost_writes);
  EXPECT_EQ(*Unknown(*windows, 10, 20), 10);
  Fail(*windows, 0);
  const auto again = Open(*windows, 0);
  ASSERT_TRUE(again) << ToString(again.error());
  EXPECT_FALSE(again->lost_writes) << "since then nothing is gone";
}

// The list of the earlier openings is bounded, and the group's commit names one of them: tries that
// fail must not push that out.
TEST_F(DiskPartitions, AnOpeningThatFailsIsNotCounted) {
  const fs::path sound = directory_.path() / "stores";
  {
    const auto windows = Windows();
    ASSERT_TRUE(Open(*windows, 0));
    for (int64_t i = 0; i < 700; i += 50) {
      ASSERT_TRUE(FinishIds(*windows, i, i + 50));
    }
    ASSERT_TRUE(Announce(*windows, 0, 0));
  }
  const fs::path kept = directory_.path() / "kept";
  fs::copy(sound, kept, fs::copy_options::recursive);
  int failed = 0;
  int healed = 0;
  for (const auto& entry : fs::directory_iterator(kept / "payments" / "0")) {
    const fs::path file = sound / "payments" / "0" / entry.path().filename();
    for (const uint64_t eighth : {1, 3, 5, 7}) {
      fs::remove_all(sound);
      fs::copy(kept, sound, fs::copy_options::recursive);
      const uint64_t at = fs::file_size(file) * eighth / 8;
      FlipByte(file, at);
      const bool opens = Open(*Windows(), 0).has_value() || Open(*Windows(), 0).has_value();
      failed += opens ? 0 : 1;
      if (opens || !fs::exists(file)) {
        continue;
      }
      FlipByte(file, at);
      if (const auto known = Open(*Windows(), 0)) {
        healed++;
        EXPECT_EQ(known->earlier.size(), 1u) << file;
      }
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(healed, 0);
}

// Each of them begins in the store, and cannot be said to: the list of the earlier ones is full
// soon, and the one that this process goes on from stays in it.
TEST_F(DiskPartitions, AStoreThatFailsForLongIsStillTheOneThatWasHeld) {
  constexpr int kTries = 80;
  ManualClock clock;
  auto windows = OpenPartitionWindows(DiskOptions(directory_.path() / "stores", 100), clock);
  ASSERT_TRUE(windows);
  const auto known = Open(**windows, 1);
  ASSERT_TRUE(known);
  const OwnerEpoch owner_epoch = *(*windows)->RaiseOwnerEpoch(0, 1, 0);
  ASSERT_TRUE(Announce(**windows, 0, 1));
  const Progress progress{0, 1, owner_epoch, 7, kThen, known->incarnation};
  MarkerChange change{};
  ASSERT_TRUE((*windows)->Committed({&progress, 1}, {&change, 1}));
  (*windows)->Close(0, 1);
  ASSERT_TRUE(Open(**windows, 1)) << "whose commits are still to come";
  Fail(**windows, 1);
  for (int i = 0; i < kTries; i++) {
    const FailingMarks failing;  // behind the row of the opening
    clock.Advance(std::chrono::seconds(10));
    ASSERT_FALSE(Claim(**windows, {0, 1, 3}));
    ASSERT_EQ(failing.failed(), 1);
  }
  clock.Advance(std::chrono::seconds(10));
  const Status announced = Announce(**windows, 0, 1);
  EXPECT_TRUE(announced) << ToString(announced.error());
}

TEST_F(DiskPartitions, AStoreThatCannotBeOpenedIsAskedForEverLessOften) {
  ManualClock clock;
  auto opened = OpenPartitionWindows(DiskOptions(directory_.path() / "stores", 100), clock);
  ASSERT_TRUE(opened);
  Window& windows = **opened;
  ASSERT_TRUE(Open(windows, 1));
  const fs::path store = directory_.path() / "stores" / "payments" / "1";
  Fail(windows, 1);
  fs::rename(store, directory_.path() / "away");
  EXPECT_FALSE(Claim(windows, {0, 1, 3}));
  EXPECT_FALSE(Claim(windows, {0, 1, 3})) << "the second try is made at once";
  fs::rename(directory_.path() / "away", store);
  const auto early = Claim(windows, {0, 1, 3});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kNotFound) << "what the last try found";
  clock.Advance(milliseconds(100));
  EXPECT_TRUE(Claim(windows, {0, 1, 3}));
}

// The number of a topic is its place in the configuration: `topics: [new, payments]` is no other
// store than `topics: [payments]`.
TEST_F(DiskPartitions, AnotherOrderOfTopicsGoesOnWithTheSameStores) {
  OwnerEpoch former = 0;
  {
    const auto windows = Windows();
    ASSERT_TRUE(Open(*windows, 1, /*source=*/0));
    former = *windows->RaiseOwnerEpoch(0, 1, 0);
    ASSERT_EQ(Claim(*windows, {0, 1, 3})->answer, ClaimVerdict::kGranted);
    const std::string id = IdNumber(3);
    const CompleteRequest done{.id = id, .token = {1, 1}, .at = {0, 1, 3}, .time = kThen};
    MarkerChange change{};
    ASSERT_TRUE(windows->Complete({&done, 1}, {&change, 1}));
    ASSERT_EQ(change, MarkerChange::kMade);
    ASSERT_TRUE(Announce(*windows, 0, 1));
    const Progress progress{0, 1, former, 7, kThen};
    ASSERT_TRUE(windows->Committed({&progress, 1}, {&change, 1}));
  }
  const auto windows = Windows();
  const auto known = Open(*windows, 1, /*source=*/5);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_EQ(known->to, 7);
  EXPECT_EQ(known->offset, 7);
  const auto copy = Claim(*windows, {5, 1, 3}, /*token=*/2);
  ASSERT_TRUE(copy) << ToString(copy.error());
  EXPECT_EQ(copy->answer, ClaimVerdict::kDuplicate);
  EXPECT_TRUE(copy->same_delivery);
  EXPECT_GT(*windows->RaiseOwnerEpoch(5, 1, 0), former);
  const std::string id = IdNumber(3);
  const std::string_view view = id;
  MarkerView marker;
  ASSERT_TRUE(windows->Peek({&view, 1}, {&marker, 1}));
  EXPECT_EQ(marker.at, (Coordinates{5, 1, 3})) << "by its present number";
  const auto stats = *windows->Stat();
  ASSERT_EQ(stats.size(), 1u);
  ASSERT_EQ(stats[0].partitions.size(), 1u) << "no partition is left behind that pins everything";
  EXPECT_EQ(stats[0].partitions[0].source, 5u);
  EXPECT_EQ(stats[0].partitions[0].frontier, 7);
}

TEST_F(DiskPartitions, EffectsAndRestoredIdsKnowTheirPartitionByItsPresentNumber) {
  LocalWindowOptions options = DiskOptions(directory_.path() / "stores", 100);
  options.level = Level::kAtomic;
  const auto windows = *OpenPartitionWindows(options, SystemClock::Instance());
  ASSERT_TRUE(Open(*windows, 1, /*source=*/3));
  const OwnerEpoch owner_epoch = *windows->RaiseOwnerEpoch(3, 1, 0);
  ASSERT_EQ(Claim(*windows, {3, 1, 3})->answer, ClaimVerdict::kGranted);
  const auto effects = *windows->NewEffects(3, 1, {});
  ASSERT_TRUE(effects->rows()->Put("row", "value"));
  const std::string id = IdNumber(3);
  const CompleteRequest done{.id = id, .token = {1, 1}, .at = {3, 1, 3}, .time = kThen};
  MarkerChange change{};
  ASSERT_TRUE(windows->CompleteWith(*effects, {&done, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
  EXPECT_EQ(**(*windows->NewEffects(3, 1, {}))->rows()->Get("row"), "value");
  const RestoreRequest restore{
      .id = "other", .at = {3, 1, 4}, .owner_epoch = owner_epoch, .time = kThen};
  ASSERT_TRUE(windows->Restore({&restore, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
}

TEST_F(DiskPartitions, OnlyTheWindowsThatMadeABatchTakeItAndNotWithoutARequest) {
  LocalWindowOptions options = DiskOptions(directory_.path() / "stores", 100);
  options.level = Level::kAtomic;
  const auto windows = *OpenPartitionWindows(options, SystemClock::Instance());
  ASSERT_TRUE(Open(*windows, 1));
  options.directory = directory_.path() / "others";
  const auto others = *OpenPartitionWindows(options, SystemClock::Instance());
  ASSERT_TRUE(Open(*others, 1));
  ASSERT_EQ(Claim(*windows, {0, 1, 3})->answer, ClaimVerdict::kGranted);
  const std::string id = IdNumber(3);
  const CompleteRequest done{.id = id, .token = {1, 1}, .at = {0, 1, 3}, .time = kThen};
  MarkerChange change{};
  const auto foreign = *others->NewEffects(0, 1, {});
  ASSERT_TRUE(foreign->rows()->Put("row", "of the others"));
  const Status refused = windows->CompleteWith(*foreign, {&done, 1}, {&change, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  const auto effects = *windows->NewEffects(0, 1, {});
  ASSERT_TRUE(effects->rows()->Put("row", "value"));
  const Status without = windows->CompleteWith(*effects, {}, {});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::kInvalid);
  EXPECT_EQ(*(*windows->NewEffects(0, 1, {}))->rows()->Get("row"), std::nullopt);
  ASSERT_TRUE(windows->CompleteWith(*effects, {&done, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
}

}  // namespace
}  // namespace oncemq::testing
