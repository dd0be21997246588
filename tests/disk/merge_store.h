// SPDX-License-Identifier: Apache-2.0
// A store with a history in it, whose buckets are written and merged step by step.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "local/bucket_pages.h"
#include "local/history.h"
#include "oncemq/base/hash.h"
#include "oncemq/clients/rocks_store.h"
#include "support/temp_dir.h"

namespace oncemq::testing {

// As the window has them.
inline RocksOptions MergeStoreOptions(const std::string& directory) {
  RocksOptions options{.directory = directory};
  constexpr size_t kSmall = size_t{1} << 20;
  options.families = {
      {.name = "default", .memtable_bytes = kSmall},
      {.name = "journal", .memtable_bytes = kSmall},
      {.name = "history", .memtable_bytes = kSmall, .compactions = false, .pages = true},
      {.name = "kept", .memtable_bytes = kSmall},
      {.name = "effects", .memtable_bytes = 8 * kSmall}};
  return options;
}

inline LogTime Hour(int64_t number) {
  return LogTime(std::chrono::hours(number));
}

// What a look answers.
struct FoundRecord {
  std::string id;
  bool digest = false;
  Coordinates at;
  uint32_t fingerprint = 0;
  uint32_t completer = 0;
  std::string result;
  LogTime filed;
  bool operator==(const FoundRecord&) const = default;
};

class MergeStore : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  // As another process would find it.
  void Reopen() {
    history_.reset();
    store_.reset();
    auto store = RocksStore::Open(MergeStoreOptions(directory_.path() / "store"));
    ASSERT_TRUE(store) << ToString(store.error());
    store_ = *std::move(store);
    history_ = std::make_unique<History>(store_.get());
    const Status opened = history_->Open(/*read_only=*/false);
    ASSERT_TRUE(opened) << ToString(opened.error());
  }

  // A generation of these.
  void Freeze(const std::vector<IdRecord>& records, LogTime newest) {
    RecentIds ids(hasher_);
    Reach reach;
    for (const IdRecord& record : records) {
      std::string bytes(RecordBytes(record), '\0');
      WriteRecord(record, bytes.data());
      ids.Append(bytes, hasher_(record.id));
      reach.Note(record.at);
    }
    auto bucket = history_->Write(history_->TakeNumber(), ids, newest, reach);
    ASSERT_TRUE(bucket) << ToString(bucket.error());
    RocksBatch batch = store_->NewBatch();
    ASSERT_TRUE(history_->WriteFacts(*bucket, batch));
    history_->Add(*std::move(bucket));
  }
  // Ids [first, first + count), at their own offsets.
  void FreezeNumbers(int64_t first, int64_t count, LogTime newest) {
    std::vector<std::string> ids;
    for (int64_t i = first; i < first + count; i++) {
      ids.push_back("id-" + std::to_string(i));
    }
    std::vector<IdRecord> records;
    for (int64_t i = first; i < first + count; i++) {
      records.push_back({.id = ids[static_cast<size_t>(i - first)],
                         .fingerprint = static_cast<uint32_t>(i),
                         .at = {0, 0, i},
                         .completer = 7});
    }
    Freeze(records, newest);
  }

  Result<std::optional<FoundRecord>> LookUp(const std::string& id, bool digest = false) {
    HistoryLookup lookup{.hash = hasher_(id), .id = id, .digest = digest};
    if (Status found = history_->Find({&lookup, 1}); !found) {
      return found.error();
    }
    if (!lookup.record) {
      return std::optional<FoundRecord>();
    }
    return std::optional(FoundRecord{std::string(lookup.record->id), lookup.record->digest,
                                     lookup.record->at, lookup.record->fingerprint,
                                     lookup.record->completer, std::string(lookup.record->result),
                                     lookup.filed});
  }
  // How many of [first, end) are known, each at its own offset.
  Result<int64_t> Known(int64_t first, int64_t end) {
    int64_t known = 0;
    for (int64_t i = first; i < end; i++) {
      const auto found = LookUp("id-" + std::to_string(i));
      if (!found) {
        return found.error();
      }
      known += *found && (*found)->at.offset == i ? 1 : 0;
    }
    return known;
  }

  // The steps of a merge that follow the choice.
  void MergeAll(const MergeRules& rules) {
    while (auto merge = history_->ChooseMerge(rules)) {
      auto merged = history_->WriteMerged(*merge, hasher_, going_on_);
      ASSERT_TRUE(merged) << ToString(merged.error());
      ASSERT_TRUE(history_->TakeFor(*merge));
      ASSERT_TRUE(history_->WriteMergedFacts(*merge, *merged));
      history_->Replace(*merge, *std::move(merged));
      ASSERT_TRUE(history_->DropPages(*merge));
    }
  }

  // Of what is on the disk, known or not.
  std::set<uint64_t> NumbersOfPages() {
    std::set<uint64_t> numbers;
    EXPECT_TRUE(store_->Scan(kHistory, {}, {}, [&](std::string_view key, std::string_view) {
      numbers.insert(*ReadKey(key, 0, 4));
      return true;
    }));
    return numbers;
  }

  TempDir directory_{TempDir::Quick()};
  const KeyedHash hasher_{KeyedHash::Secret{}};
  const std::atomic<bool> going_on_{false};
  std::unique_ptr<RocksStore> store_;
  std::unique_ptr<History> history_;
};

}  // namespace oncemq::testing
