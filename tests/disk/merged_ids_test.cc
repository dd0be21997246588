// SPDX-License-Identifier: Apache-2.0
// A window whose old buckets are merged beside its work: it answers as one that merges nothing, its
// buckets stay few, and what fails is tried again.
#include <random>

#include "local/finished_ids.h"
#include "merge_store.h"

namespace oncemq::testing {
namespace {

// One store, its finished ids, and the lock that a window would have.
class Side {
 public:
  Side(const std::filesystem::path& directory, const KeyedHash& hasher, uint32_t generation,
       const MergeRules& rules)
      : directory_(directory), hasher_(hasher), generation_(generation), rules_(rules) {
    Open();
  }

  void Open() {
    ids_.reset();
    store_.reset();
    auto store = RocksStore::Open(MergeStoreOptions(directory_));
    ASSERT_TRUE(store) << ToString(store.error());
    store_ = *std::move(store);
    ids_ =
        std::make_unique<FinishedIds>(store_.get(), hasher_, generation_, mutex_, memory_, rules_);
    MutexLock lock(mutex_);
    const Status opened = ids_->Open(/*read_only=*/false);
    ASSERT_TRUE(opened) << ToString(opened.error());
  }

  // As a window does with an id that was finished, or came again.
  void Take(const std::string& id, int64_t offset, LogTime time) {
    MutexLock lock(mutex_);
    HistoryLookup lookup{.hash = hasher_(id), .id = id};
    ASSERT_TRUE(ids_->Find({&lookup, 1}));
    if (!lookup.record) {
      ids_->Append({.id = id, .at = {0, 0, offset}, .completer = 3}, lookup.hash, time);
    } else if (time > lookup.filed) {
      ids_->Append(*lookup.record, lookup.hash, time);
    }
    if (ids_->staged()) {
      RocksBatch batch = store_->NewBatch();
      ids_->Stage(batch);
      ASSERT_TRUE(store_->Write(batch, /*sync=*/false));
      ASSERT_TRUE(ids_->Written());
    }
  }
  std::optional<FoundRecord> LookUp(const std::string& id) {
    MutexLock lock(mutex_);
    HistoryLookup lookup{.hash = hasher_(id), .id = id};
    const Status found = ids_->Find({&lookup, 1});
    EXPECT_TRUE(found) << ToString(found.error());
    if (!found || !lookup.record) {
      return std::nullopt;
    }
    return FoundRecord{.id = std::string(lookup.record->id),
                       .at = lookup.record->at,
                       .completer = lookup.record->completer,
                       .filed = lookup.filed};
  }
  void Forget(LogTime limit) {
    ProgressTable progress;
    progress.Note({0, 0, 1, INT64_MAX, limit});
    History::Aged aged;
    {
      MutexLock lock(mutex_);
      aged = ids_->TakeAged(limit, progress);
    }
    RocksBatch batch = store_->NewBatch();
    ASSERT_TRUE(ids_->ForgetFacts(aged, batch));
    {
      MutexLock lock(mutex_);
      ids_->ForgetBuckets(aged);
    }
    ASSERT_TRUE(ids_->DropPages(aged));
  }
  void AwaitMerges() {
    MutexLock lock(mutex_);
    ids_->AwaitMerges();
  }
  size_t buckets() {
    MutexLock lock(mutex_);
    return ids_->history().buckets();
  }
  uint64_t merges() {
    MutexLock lock(mutex_);
    return ids_->history().merges();
  }
  uint64_t failures() {
    MutexLock lock(mutex_);
    return ids_->failed_merges();
  }
  RocksStore& store() { return *store_; }

 private:
  const std::filesystem::path directory_;
  const KeyedHash& hasher_;
  const uint32_t generation_;
  const MergeRules rules_;
  const GenerationMemory::Share memory_;
  Mutex mutex_;
  std::unique_ptr<RocksStore> store_;
  std::unique_ptr<FinishedIds> ids_;
};

class DiskMergedIds : public ::testing::Test {
 protected:
  static constexpr MergeRules kNever{.few = SIZE_MAX};
  static constexpr MergeRules kOften{.fan_out = 4, .few = 2};
  TempDir directory_{TempDir::Quick()};
  const KeyedHash hasher_{KeyedHash::Secret{}};
};

// Random ids, copies of them, and times; openings and forgetting between.
TEST_F(DiskMergedIds, AWindowThatMergesAnswersAsOneThatDoesNot) {
  for (uint64_t seed = 1; seed <= 4; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto root = directory_.path() / std::to_string(seed);
    MergeRules rules = kOften;
    rules.span = std::chrono::hours(seed % 2 == 0 ? 300 : 100'000);
    Side merges(root / "merges", hasher_, 20, rules);
    Side plain(root / "plain", hasher_, 20, kNever);
    const int64_t kSteps = 3'000;
    LogTime horizon = Hour(0);
    std::vector<LogTime> latest(kSteps, LogTime::min());  // at which the id came
    for (int64_t i = 0; i < kSteps; i++) {
      const bool copy = random() % 3 == 0;
      const auto number = copy ? random() % static_cast<uint64_t>(i + 1) : static_cast<uint64_t>(i);
      const std::string id = "id-" + std::to_string(number);
      const LogTime time = Hour(i + static_cast<int64_t>(random() % 40));
      if (plain.LookUp(id).has_value() != merges.LookUp(id).has_value()) {
        continue;  // forgotten there, and known for longer here
      }
      merges.Take(id, i, time);
      plain.Take(id, i, time);
      latest[number] = std::max(latest[number], time);
      if (random() % 500 == 0) {
        merges.Open();
        plain.Open();
      }
      if (random() % 400 == 0) {
        horizon = Hour(std::max<int64_t>(i - 1'000, 0));
        merges.Forget(horizon);
        plain.Forget(horizon);
      }
      ASSERT_FALSE(HasFailure());
    }
    merges.AwaitMerges();
    for (uint64_t i = 0; i < latest.size(); i++) {
      const auto here = merges.LookUp("id-" + std::to_string(i));
      const auto there = plain.LookUp("id-" + std::to_string(i));
      if (latest[i] >= horizon) {
        ASSERT_TRUE(here && there) << i << " is forgotten too early";
        EXPECT_GE(here->filed, latest[i]) << i << " will go too early";
      }
      if (here && there) {
        EXPECT_EQ(here->at, there->at) << i;
      }
      if (here && latest[i] != LogTime::min()) {
        EXPECT_GE(latest[i], horizon - rules.span - std::chrono::hours(200)) << i << " stays";
      }
    }
    EXPECT_LT(merges.buckets(), plain.buckets());
  }
}

TEST_F(DiskMergedIds, AThousandGenerationsLeaveAFewBuckets) {
  Side side(directory_.path() / "store", hasher_, 8, {});
  size_t most = 0;
  for (int64_t i = 0; i < 8'000; i++) {
    side.Take("id-" + std::to_string(i), i, Hour(i));
    if (i % 8 == 7) {
      side.AwaitMerges();
      most = std::max(most, side.buckets());
    }
  }
  EXPECT_LE(most, 16u);
  for (int64_t i = 0; i < 8'000; i++) {
    ASSERT_TRUE(side.LookUp("id-" + std::to_string(i))) << i;
  }
  side.Open();
  for (int64_t i = 0; i < 8'000; i += 7) {
    ASSERT_TRUE(side.LookUp("id-" + std::to_string(i))) << i;
  }
}

TEST_F(DiskMergedIds, ManyBucketsOfAFormerVersionAreMergedFromTheOpeningOn) {
  const auto store = directory_.path() / "store";
  {
    Side side(store, hasher_, 10, kNever);
    for (int64_t i = 0; i < 1'000; i++) {
      side.Take("id-" + std::to_string(i), i, Hour(i));
    }
    side.AwaitMerges();
    ASSERT_GE(side.buckets(), 98u);
  }
  Side side(store, hasher_, 10, {});
  side.AwaitMerges();
  EXPECT_LE(side.buckets(), 13u);
  for (int64_t i = 0; i < 1'000; i++) {
    ASSERT_TRUE(side.LookUp("id-" + std::to_string(i))) << i;
  }
}

// It must neither be given up for good, nor take the disk for itself.
TEST_F(DiskMergedIds, AMergeThatFailsIsTriedAgainAfterLongerAndLongerPauses) {
  Side side(directory_.path() / "store", hasher_, 10, {.fan_out = 4, .few = 3});
  int64_t next = 0;
  const auto generation = [&] {
    for (int i = 0; i < 10; i++, next++) {
      side.Take("id-" + std::to_string(next), next, Hour(next));
    }
    side.AwaitMerges();
  };
  for (int i = 0; i < 3; i++) {
    generation();
  }
  ASSERT_EQ(side.buckets(), 3u);
  const auto page = side.store().Get(kHistory, PageKey(1, 0));
  ASSERT_TRUE(page && *page);
  RocksBatch batch = side.store().NewBatch();
  batch.Delete(kHistory, PageKey(1, 0));
  ASSERT_TRUE(side.store().Write(batch, /*sync=*/false));
  std::vector<int> failed_at;
  for (int i = 0; i < 20; i++) {
    const uint64_t before = side.failures();
    generation();
    if (side.failures() > before) {
      failed_at.push_back(i);
    }
  }
  EXPECT_EQ(failed_at, (std::vector{0, 1, 3, 7, 15}));
  batch.Put(kHistory, PageKey(1, 0), **page);
  ASSERT_TRUE(side.store().Write(batch, /*sync=*/false));
  for (int i = 0; i < 16; i++) {
    generation();
  }
  EXPECT_LE(side.buckets(), 9u);
  for (int64_t i = 0; i < next; i++) {
    ASSERT_TRUE(side.LookUp("id-" + std::to_string(i))) << i;
  }
}

}  // namespace
}  // namespace oncemq::testing
