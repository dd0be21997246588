// SPDX-License-Identifier: Apache-2.0
#include "finished_ids.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "families.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr uint64_t kRowVersion = 1;

std::string RowKey(uint64_t row) {
  std::string key;
  AppendKey(key, row, 8);
  return key;
}

Error DamagedJournal() {
  return {Code::kCorrupt, Effect::kNone, "a row of the journal cannot be read"};
}

}  // namespace

FinishedIds::FinishedIds(RocksStore* store, const KeyedHash& hasher, uint32_t generation,
                         Mutex& mutex, const GenerationMemory::Share& memory,
                         const MergeRules& rules)
    : store_(store),
      hasher_(hasher),
      generation_(generation),
      memory_(memory),
      mutex_(mutex),
      history_(store),
      recent_(std::make_unique<Generation>(hasher)),
      rules_(rules) {}

FinishedIds::~FinishedIds() {
  closing_ = true;
  if (freezer_.joinable()) {
    freezer_.join();  // it may have begun a merge
  }
  if (merger_.joinable()) {
    merger_.join();
  }
}

Status FinishedIds::Open(bool read_only) {
  if (Status opened = history_.Open(read_only); !opened) {
    return opened;
  }
  Status loaded;
  const Status scanned = store_->Scan(kJournal, RowKey(0), RowKey(UINT64_MAX),
                                      [&](std::string_view key, std::string_view row) {
                                        loaded = LoadRow(key, row, read_only);
                                        return loaded.has_value();
                                      });
  if (scanned && loaded && !read_only) {
    MergeIfMany();
  }
  return scanned ? loaded : scanned;
}

Status FinishedIds::LoadRow(std::string_view key, std::string_view row, bool read_only) {
  if (key.size() != sizeof(uint64_t)) {
    return DamagedJournal();
  }
  const uint64_t number = *ReadKey(key, 0, sizeof(uint64_t));
  ByteReader reader(row);
  const auto version = reader.Varint();
  const auto newest = reader.Varint();
  if (version != kRowVersion || !newest) {
    return DamagedJournal();
  }
  const std::string_view records = reader.rest();
  if (*newest > INT64_MAX || !recent_->ids.AppendAll(records)) {
    return DamagedJournal();
  }
  size_t taken = 0;
  for (std::string_view left = records; !left.empty(); left.remove_prefix(taken)) {
    recent_->reach.Note(ReadRecord(left, &taken)->at);
  }
  next_row_ = number;
  NoteRow(LogTime(milliseconds(static_cast<int64_t>(*newest))));
  return read_only ? Status() : Written();
}

void FinishedIds::Prefetch(uint64_t hash) const {
  recent_->ids.Prefetch(hash);
  if (frozen_ != nullptr) {
    frozen_->ids.Prefetch(hash);
  }
}

Status FinishedIds::Find(std::span<HistoryLookup> lookups) {
  size_t missing = 0;
  for (HistoryLookup& lookup : lookups) {
    lookup.pages = 0;
    lookup.filed = LogTime::min();
    if (!lookup.wanted) {
      continue;
    }
    lookup.record = recent_->ids.Find(lookup.hash, lookup.id, lookup.digest);
    lookup.filed = lookup.record ? recent_->newest : LogTime::min();
    if (!lookup.record && frozen_ != nullptr) {
      lookup.record = frozen_->ids.Find(lookup.hash, lookup.id, lookup.digest);
      lookup.filed = lookup.record ? frozen_->newest : LogTime::min();
    }
    missing += lookup.record ? 0 : 1;
  }
  if (missing > 0 && history_.buckets() > 0) {
    if (Status found = history_.Find(lookups); !found) {
      return found;
    }
  }
  for (const HistoryLookup& lookup : lookups) {
    if (lookup.wanted) {
      (lookup.record ? totals_.known : totals_.fresh)++;
      (lookup.record ? totals_.known_pages : totals_.fresh_pages) += lookup.pages;
    }
  }
  return {};
}

void FinishedIds::Append(const IdRecord& record, uint64_t hash, LogTime time) {
  const size_t at = records_.size();
  records_.resize(at + RecordBytes(record));
  WriteRecord(record, records_.data() + at);
  recent_->ids.Append(std::string_view(records_).substr(at), hash);
  recent_->reach.Note(record.at);
  newest_ = std::max(newest_, time);
}

void FinishedIds::Stage(RocksBatch& batch) {
  std::string row;
  AppendVarint(row, kRowVersion);
  AppendVarint(row, static_cast<uint64_t>(newest_.time_since_epoch().count()));
  row += records_;
  records_.clear();
  ONCEMQ_CHECK(next_row_ > recent_->last_row, "rows of the journal rise");
  batch.Put(kJournal, RowKey(next_row_), row);
  NoteRow(std::exchange(newest_, LogTime(milliseconds(0))));
}

void FinishedIds::NoteRow(LogTime newest) {
  recent_->last_row = next_row_;
  if (recent_->first_row == 0) {
    recent_->first_row = next_row_;
  }
  recent_->newest = std::max(recent_->newest, newest);
  next_row_++;
}

Status FinishedIds::Written() {
  return Full() ? Roll() : Status();
}

Status FinishedIds::PutAwayExcess() {
  ONCEMQ_CHECK(!staged(), "a generation is put away with all that was appended");
  return frozen_ == nullptr && Full() ? Roll() : Status();
}

bool FinishedIds::Full() const {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // long results fill a generation by bytes
  return recent_->ids.size() >= generation_ ||
         recent_->ids.bytes_to_put_away() >= std::min(kMostBytes, memory_.OfGeneration());
}

// The generation is full. One that is still being written holds everybody up: memory has a bound.
Status FinishedIds::Roll() {
  frozen_gone_.wait(mutex_, [this] { return frozen_ == nullptr || !failure_; });
  if (!failure_) {
    return failure_;
  }
  if (!Full()) {
    return {};  // somebody else who waited was first
  }
  if (freezer_.joinable()) {
    freezer_.join();
  }
  ONCEMQ_CHECK(frozen_ == nullptr, "at most one generation is frozen");
  frozen_ = std::exchange(recent_, std::make_unique<Generation>(hasher_));
  frozen_->bucket = history_.TakeNumber();
  try {
    freezer_ = std::thread([this] { Freeze(); });
  } catch (const std::system_error&) {
    mutex_.unlock();
    Freeze();
    mutex_.lock();
  }
  return {};
}

void FinishedIds::Freeze() {
  ONCEMQ_CHECK(frozen_ != nullptr && frozen_->first_row <= frozen_->last_row,
               "a frozen generation has rows in the journal");
  // Nobody changes a frozen generation, so it is read without the lock.
  Result<Bucket> bucket =
      history_.Write(frozen_->bucket, frozen_->ids, frozen_->newest, frozen_->reach);
  Status known = bucket ? Status() : Status(bucket.error());
  if (known) {
    RocksBatch batch = store_->NewBatch();
    batch.DeleteRange(kJournal, RowKey(frozen_->first_row), RowKey(frozen_->last_row + 1));
    // Above all rows. RocksDB 7.8, as Debian builds it, ends the process where a compaction fails
    // that would leave nothing: with this one there is always something left.
    batch.Put(kJournal, RowKey(UINT64_MAX), "");
    known = history_.WriteFacts(*bucket, batch);
  }
  {
    MutexLock lock(mutex_);
    if (known) {
      history_.Add(*std::move(bucket));
      frozen_.reset();
      pause_left_ -= std::min(pause_left_, 1u);
      MergeIfMany();
    } else {
      failure_ = known;
    }
    frozen_gone_.notify_all();
  }
  if (!known) {
    return;
  }
  // Frees the log of what the bucket has now. Only space depends on it.
  static_cast<void>(store_->Flush(kJournal));
}

uint64_t FinishedIds::in_memory() const {
  return recent_->ids.size() + (frozen_ != nullptr ? frozen_->ids.size() : 0);
}

size_t FinishedIds::memory_bytes() const {
  return recent_->ids.memory_bytes() + (frozen_ != nullptr ? frozen_->ids.memory_bytes() : 0) +
         history_.memory_bytes();
}

}  // namespace oncemq
