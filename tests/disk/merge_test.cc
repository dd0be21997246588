// SPDX-License-Identifier: Apache-2.0
// Buckets that become one, step by step: what was known is known before, between and after, and a
// look answers the same.
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "fault.h"
#include "merge_store.h"

namespace oncemq::testing {
namespace {

constexpr MergeRules kFour{.fan_out = 4, .few = 3};

// While it lives no file of this process grows beyond so many bytes, as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    former_handler_ = std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
    getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limit{bytes, former_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &former_);
    std::signal(SIGXFSZ, former_handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit former_{};
  void (*former_handler_)(int) = nullptr;
};

class DiskMerge : public MergeStore {
 protected:
  static constexpr int64_t kIds = 500;  // of each bucket
  void FreezeFour() {
    for (int64_t i = 0; i < 4; i++) {
      FreezeNumbers(i * kIds, kIds, Hour(i + 1));
    }
  }
  void ExpectAllKnown() {
    const auto known = Known(0, 4 * kIds);
    ASSERT_TRUE(known) << ToString(known.error());
    EXPECT_EQ(*known, 4 * kIds);
  }
};

TEST_F(DiskMerge, WhatAnyOfThemKnewTheMergedOneKnowsAlsoAfterTheNextOpening) {
  FreezeFour();
  MergeAll(kFour);
  EXPECT_EQ(history_->buckets(), 1u);
  EXPECT_EQ(history_->ids(), static_cast<uint64_t>(4 * kIds));
  EXPECT_EQ(history_->merges(), 1u);
  EXPECT_EQ(NumbersOfPages(), std::set<uint64_t>{5}) << "the pages of the others are gone";
  for (int opening = 0; opening < 2; opening++) {
    ExpectAllKnown();
    EXPECT_EQ(*Known(4 * kIds, 5 * kIds), 0);
    EXPECT_EQ((*LookUp("id-3"))->filed, Hour(4)) << "it stays until the youngest has aged";
    Reopen();
  }
  EXPECT_EQ(history_->buckets(), 1u);
}

TEST_F(DiskMerge, MergedOnesAreMergedAgainAndNewOnesComeBesideThem) {
  for (int64_t i = 0; i < 64; i++) {
    FreezeNumbers(i * 50, 50, Hour(i + 1));
    MergeAll(kFour);
    if (i % 10 == 9) {
      Reopen();
    }
  }
  EXPECT_LE(history_->buckets(), 9u);
  EXPECT_EQ(*Known(0, 64 * 50), 64 * 50);
}

TEST_F(DiskMerge, RecordsOfEveryKindAreTheSameAfterwards) {
  const std::string digest(32, 'd');
  const std::string result(20'000, 'r');
  Freeze(
      {{.id = "far", .at = {3, 9, INT64_MAX}, .completer = 1}, {.id = "no log", .at = {0, -1, -1}}},
      Hour(1));
  Freeze({{.id = "long", .at = {0, 0, 77}, .result = result},
          {.id = digest, .digest = true, .fingerprint = 5, .at = {0, 0, 1}}},
         Hour(2));
  Freeze({{.id = digest, .at = {0, 0, 2}}}, Hour(3));
  Freeze({{.id = "first", .at = {0, 0, 0}}}, Hour(4));
  const auto all = [&] {
    return std::vector{*LookUp("far"),  *LookUp("no log"), *LookUp(digest, true), *LookUp(digest),
                       *LookUp("long"), *LookUp("first"),  *LookUp("none")};
  };
  auto before = all();
  MergeAll(kFour);
  ASSERT_EQ(history_->buckets(), 1u);
  for (auto& found : before) {
    if (found) {
      found->filed = Hour(4);
    }
  }
  EXPECT_EQ(all(), before);
}

// Its filter has several rows.
TEST_F(DiskMerge, OneOfManyIdsKnowsThemAllAfterTheNextOpening) {
  constexpr int64_t kMany = 140'000;
  for (int64_t i = 0; i < 4; i++) {
    FreezeNumbers(i * kMany, kMany, Hour(i + 1));
  }
  MergeAll(kFour);
  for (int opening = 0; opening < 2; opening++) {
    ASSERT_EQ(history_->buckets(), 1u);
    for (int64_t i = 0; i < 4 * kMany; i += 997) {
      ASSERT_EQ(*Known(i, i + 1), 1) << i;
    }
    int64_t perhaps = 0;
    for (int64_t i = 4 * kMany; i < 4 * kMany + 10'000; i++) {
      HistoryLookup lookup;
      const std::string id = "id-" + std::to_string(i);
      lookup.hash = hasher_(id);
      lookup.id = id;
      ASSERT_TRUE(history_->Find({&lookup, 1}));
      perhaps += lookup.pages;
    }
    EXPECT_LE(perhaps, 40) << "of 10,000, for nothing";
    Reopen();
  }
}

// Its pages come in several files, of which the first may be there without the others.
TEST_F(DiskMerge, OneOfManyBytesIsThereWholeOrNotAtAll) {
  constexpr int64_t kLong = 150;
  const std::string result(65'000, 'r');
  for (int64_t i = 0; i < 4; i++) {
    std::vector<std::string> ids;
    for (int64_t j = 0; j < kLong; j++) {
      ids.push_back("id-" + std::to_string(i * kLong + j));
    }
    std::vector<IdRecord> records;
    for (int64_t j = 0; j < kLong; j++) {
      records.push_back(
          {.id = ids[static_cast<size_t>(j)], .at = {0, 0, i * kLong + j}, .result = result});
    }
    Freeze(records, Hour(i + 1));
  }
  {
    const auto merge = history_->ChooseMerge(kFour);
    const SmallFiles small(34 << 20);  // the files of 32 MB and a page fit, all in one would not
    ASSERT_TRUE(history_->WriteMerged(*merge, hasher_, going_on_));
  }
  Reopen();
  EXPECT_EQ(NumbersOfPages(), (std::set<uint64_t>{1, 2, 3, 4}));
  MergeAll(kFour);
  Reopen();
  ASSERT_EQ(history_->buckets(), 1u);
  EXPECT_EQ(*Known(0, 4 * kLong), 4 * kLong);
  EXPECT_EQ((*LookUp("id-77"))->result, result);
}

TEST_F(DiskMerge, OfAnIdInSeveralTheRecordStaysThatALookAnswered) {
  Freeze({{.id = "twice", .at = {0, 0, 10}}, {.id = "old", .at = {0, 0, 11}}}, Hour(1));
  Freeze({{.id = "twice", .at = {0, 0, 20}}}, Hour(4));
  Freeze({{.id = "twice", .at = {0, 0, 30}}, {.id = "old", .at = {0, 0, 31}}}, Hour(3));
  Freeze({{.id = "new", .at = {0, 0, 40}}}, Hour(5));
  const auto twice = *LookUp("twice");
  const auto old = *LookUp("old");
  ASSERT_TRUE(twice && old);
  EXPECT_EQ(twice->at.offset, 20) << "of the bucket that stays longest";
  EXPECT_EQ(old->at.offset, 31);
  MergeAll(kFour);
  ASSERT_EQ(history_->buckets(), 1u);
  EXPECT_EQ(history_->ids(), 3u) << "each of them once";
  EXPECT_EQ((*LookUp("twice"))->at, twice->at);
  EXPECT_EQ((*LookUp("old"))->at, old->at);
}

TEST_F(DiskMerge, AKillBehindAnyStepLeavesTheOldOnesOrTheNewOne) {
  FreezeFour();
  for (int steps = 0; steps <= 4; steps++) {
    auto merge = history_->ChooseMerge(kFour);
    ASSERT_TRUE(merge);
    std::optional<Bucket> merged;
    if (steps > 0) {
      merged = *history_->WriteMerged(*merge, hasher_, going_on_);
      EXPECT_EQ(NumbersOfPages().size(), 5u);
    }
    if (steps > 1) {
      ASSERT_TRUE(history_->TakeFor(*merge));
    }
    if (steps > 2) {
      ASSERT_TRUE(history_->WriteMergedFacts(*merge, *merged));
    }
    if (steps > 3) {
      history_->Replace(*merge, *std::move(merged));
    }
    Reopen();
    ExpectAllKnown();
    EXPECT_EQ(NumbersOfPages().size(), history_->buckets()) << "what nobody knows is gone";
    if (steps > 2) {
      EXPECT_EQ(history_->buckets(), 1u);
      break;
    }
    EXPECT_EQ(history_->buckets(), 4u);
  }
  MergeAll({.fan_out = 4, .few = 0});
  ExpectAllKnown();
}

TEST_F(DiskMerge, FactsWhoseSyncFailsAreThoseOfTheOldOnesOrOfTheNewOne) {
  FreezeFour();
  const auto merge = history_->ChooseMerge(kFour);
  const auto merged = history_->WriteMerged(*merge, hasher_, going_on_);
  ASSERT_TRUE(merged && history_->TakeFor(*merge));
  {
    const FailingSyncs failing;
    EXPECT_FALSE(history_->WriteMergedFacts(*merge, *merged));
  }
  Reopen();
  ExpectAllKnown();
}

TEST_F(DiskMerge, FactsThatFindNoRoomLeaveTheOldOnesWithTheirPages) {
  FreezeFour();
  RocksBatch large = store_->NewBatch();
  large.Put(kEffects, "large", std::string(1 << 20, 'x'));
  ASSERT_TRUE(store_->Write(large, /*sync=*/true));
  const auto merge = history_->ChooseMerge(kFour);
  const auto merged = history_->WriteMerged(*merge, hasher_, going_on_);
  ASSERT_TRUE(merged && history_->TakeFor(*merge));
  {
    const SmallFiles small(1 << 19);  // the log is larger by now, and nothing else is
    EXPECT_FALSE(history_->WriteMergedFacts(*merge, *merged));
  }
  Reopen();
  EXPECT_EQ(history_->buckets(), 4u);
  ExpectAllKnown();
}

TEST_F(DiskMerge, ABucketThatIsToBeForgottenIsNotMerged) {
  FreezeFour();
  ProgressTable progress;
  progress.Note({0, 0, 1, 4 * kIds, Hour(1'000)});
  const auto merge = history_->ChooseMerge(kFour);
  auto merged = history_->WriteMerged(*merge, hasher_, going_on_);
  ASSERT_TRUE(merge && merged);
  const History::Aged aged = history_->TakeAged(Hour(2), progress);
  ASSERT_EQ(aged.buckets.size(), 1u);
  EXPECT_FALSE(history_->IsComplete(*merge));
  ASSERT_FALSE(history_->TakeFor(*merge)) << "ids would come back that are forgotten";
  RocksBatch batch = store_->NewBatch();
  ASSERT_TRUE(history_->ForgetFacts(aged, batch));
  history_->ForgetBuckets(aged);
  EXPECT_FALSE(history_->TakeFor(*merge)) << "nor when they are gone";
  ASSERT_TRUE(history_->DropPages(aged));
  ASSERT_TRUE(history_->DropPages(merge->number));
  EXPECT_EQ(*Known(0, kIds), 0);
  EXPECT_EQ(*Known(kIds, 4 * kIds), 3 * kIds);
  EXPECT_EQ(NumbersOfPages(), (std::set<uint64_t>{2, 3, 4}));
  EXPECT_FALSE(history_->ChooseMerge({.fan_out = 4, .few = 0})) << "no four are left";
}

TEST_F(DiskMerge, WhatIsAboutToBeReplacedIsForgottenInTheMergedOne) {
  FreezeFour();
  ProgressTable progress;
  progress.Note({0, 0, 1, 4 * kIds, Hour(1'000)});
  const auto merge = history_->ChooseMerge(kFour);
  auto merged = history_->WriteMerged(*merge, hasher_, going_on_);
  ASSERT_TRUE(merged && history_->TakeFor(*merge));
  EXPECT_TRUE(history_->TakeAged(Hour(100), progress).buckets.empty());
  EXPECT_FALSE(history_->ChooseMerge({.fan_out = 4, .few = 0})) << "nor merged twice";
  ASSERT_TRUE(history_->WriteMergedFacts(*merge, *merged));
  history_->Replace(*merge, *std::move(merged));
  ASSERT_TRUE(history_->DropPages(*merge));
  EXPECT_TRUE(history_->TakeAged(Hour(4), progress).buckets.empty()) << "its newest has not aged";
  progress.Note({0, 0, 1, 4 * kIds - 1, Hour(1'000)});
  EXPECT_TRUE(history_->TakeAged(Hour(5), progress).buckets.empty()) << "it reaches to the last";
  progress.Note({0, 0, 1, 4 * kIds, Hour(1'000)});
  const History::Aged aged = history_->TakeAged(Hour(5), progress);
  EXPECT_EQ(aged.buckets, std::vector<uint32_t>{5});
  EXPECT_EQ(aged.newest, Hour(4));
}

TEST_F(DiskMerge, NoneGetsWiderThanTheSpan) {
  for (int64_t i = 0; i < 40; i++) {
    FreezeNumbers(i * 10, 10, Hour(i));
    MergeAll({.fan_out = 4, .few = 0, .span = std::chrono::hours(5)});
  }
  ProgressTable progress;
  progress.Note({0, 0, 1, 400, Hour(1'000)});
  const History::Aged aged = history_->TakeAged(Hour(26), progress);
  RocksBatch batch = store_->NewBatch();
  ASSERT_TRUE(history_->ForgetFacts(aged, batch));
  history_->ForgetBuckets(aged);
  EXPECT_EQ(*Known(260, 400), 140) << "younger than the limit";
  EXPECT_LE(*Known(0, 210), 0) << "older by more than the span";
}

TEST_F(DiskMerge, ADraftThatFindsNoRoomLeavesAllAsItWasAndTheStoreUsable) {
  FreezeFour();
  auto merge = history_->ChooseMerge(kFour);
  {
    const SmallFiles small(8'192);
    EXPECT_FALSE(history_->WriteMerged(*merge, hasher_, going_on_));
  }
  ASSERT_TRUE(history_->IsComplete(*merge));
  ASSERT_TRUE(history_->DropPages(merge->number));
  ExpectAllKnown();
  FreezeNumbers(4 * kIds, 10, Hour(5));
  MergeAll(kFour);
  ExpectAllKnown();
}

TEST_F(DiskMerge, OneThatIsToEndEndsAndLeavesNothing) {
  FreezeFour();
  const std::atomic<bool> ends{true};
  auto merge = history_->ChooseMerge(kFour);
  EXPECT_FALSE(history_->WriteMerged(*merge, hasher_, ends));
  EXPECT_EQ(NumbersOfPages(), (std::set<uint64_t>{1, 2, 3, 4}));
  ExpectAllKnown();
}

// As the disk, or a fault of ours, may leave them.
TEST_F(DiskMerge, APageThatIsNotWhatItShouldBeIsMergedIntoNothing) {
  FreezeFour();
  const auto second = store_->Get(kHistory, PageKey(2, 1));
  ASSERT_TRUE(second && *second);
  const auto other = store_->Get(kHistory, PageKey(2, 2));
  std::string shorter = (*second)->substr(0, (*second)->size() - 1);
  std::string mistagged = **second;
  mistagged[1] = static_cast<char>(mistagged[1] ^ 1);
  const std::string none(1, '\0');
  for (const std::optional<std::string>& wrong :
       {std::optional<std::string>(), std::optional(shorter), std::optional(mistagged),
        std::optional(**other), std::optional(none)}) {
    RocksBatch batch = store_->NewBatch();
    wrong ? batch.Put(kHistory, PageKey(2, 1), *wrong) : batch.Delete(kHistory, PageKey(2, 1));
    ASSERT_TRUE(store_->Write(batch, /*sync=*/false));
    const auto merge = history_->ChooseMerge(kFour);
    const auto merged = history_->WriteMerged(*merge, hasher_, going_on_);
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, Code::kCorrupt);
    EXPECT_NE(merged.error().message.find("damaged"), std::string::npos) << merged.error().message;
    ASSERT_TRUE(history_->DropPages(merge->number));
    EXPECT_EQ(history_->buckets(), 4u);
  }
  RocksBatch batch = store_->NewBatch();
  batch.Put(kHistory, PageKey(2, 1), **second);
  ASSERT_TRUE(store_->Write(batch, /*sync=*/false));
  ExpectAllKnown();
  MergeAll(kFour);
  ExpectAllKnown();
}

TEST_F(DiskMerge, AFilterThatIsNotWhatItShouldBeIsToldAtTheOpening) {
  FreezeFour();
  MergeAll(kFour);
  const std::string filter = PageKey(5, 4 * kIds / 64 + 1);
  const auto row = store_->Get(kHistory, filter);
  ASSERT_TRUE(row && *row);
  std::string flipped = **row;
  flipped[10] = static_cast<char>(flipped[10] ^ 1);
  for (const std::optional<std::string>& wrong :
       {std::optional<std::string>(), std::optional(flipped), std::optional<std::string>("")}) {
    RocksBatch batch = store_->NewBatch();
    wrong ? batch.Put(kHistory, filter, *wrong) : batch.Delete(kHistory, filter);
    ASSERT_TRUE(store_->Write(batch, /*sync=*/false));
    History again(store_.get());
    const Status opened = again.Open(/*read_only=*/true);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace oncemq::testing
