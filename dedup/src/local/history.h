// SPDX-License-Identifier: Apache-2.0
// History: the finished ids of a local store that have left memory, in buckets. A bucket is one
// former generation: sorted pages on disk, and a filter in memory. Buckets are dropped whole.
//
// Promise: a bucket is known after its facts are written, or not at all; what an interrupted
// writing or forgetting left is removed by Open(). A page that cannot be read is an error, never
// "not there".
// Memory: 12 bits for each id.
// Thread safety: Find() and what is const from any thread; Add() and ForgetBuckets() with the
// caller's lock, which keeps the others out. One thread writes at a time, and one forgets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "id_filter.h"
#include "id_record.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/rocks_store.h"
#include "progress_table.h"
#include "reach.h"
#include "recent_ids.h"

namespace oncemq {

// One id that is looked for, and what was found. The record's views lie in `bytes`.
struct HistoryLook {
  uint64_t hash = 0;
  std::string_view id;
  bool digest = false;
  std::optional<IdRecord> record;
  LogTime filed = LogTime::min();  // where it was found: it stays until this has aged
  std::string bytes;
};

class History {
 public:
  explicit History(RocksStore* store) : store_(store) {}

  // Reads the facts of every bucket. `look`: and changes nothing.
  Status Open(bool look);

  // Of the looks that have found nothing yet.
  Status Find(std::span<HistoryLook> looks) const;

  struct Bucket {
    uint32_t number = 0;
    uint32_t pages = 0;
    uint64_t ids = 0;
    LogTime newest = kNoLogTime;  // of the times that its ids are filed under
    int64_t base = 0;             // from which its pages count offsets
    Reach reach;
    IdFilter filter;
  };

  // Writes the pages of a generation: the latest time that an id is filed under, and how far its
  // ids reach.
  Result<Bucket> Write(const RecentIds& ids, LogTime newest, const Reach& reach) const;
  // Then its facts. `with` lands in the same batch: what the bucket makes superfluous.
  Status WriteFacts(const Bucket& bucket, RocksBatch& with) const;
  // Then it is known.
  void Add(Bucket bucket);

  // Buckets whose ids are all older than `limit`, and passed by `progress`.
  struct Aged {
    std::vector<uint32_t> buckets;
    LogTime newest = LogTime::min();  // of their ids
  };
  Aged AgedBefore(LogTime limit, const ProgressTable& progress) const;
  // Forgetting has three steps. On disk, durably: `with` lands in the same batch, the window's new
  // horizon (rule 26).
  Status ForgetFacts(const Aged& aged, RocksBatch& with) const;
  // In memory. A bucket that is known has all its pages.
  void ForgetBuckets(const Aged& aged);
  // And the space.
  Status DropPages(const Aged& aged) const;

  uint64_t ids() const;
  size_t buckets() const { return buckets_.size(); }
  size_t memory_bytes() const;

 private:
  struct Hit {
    uint32_t look;
    uint32_t bucket;  // index
    uint32_t page;
  };

  Status DropUnknown();
  Status DropPagesOf(uint64_t number) const;
  static std::string FactsKey(uint32_t number);
  static std::string FactsOf(const Bucket& bucket);
  static std::optional<Bucket> ReadFacts(std::string_view key, std::string_view facts);
  std::vector<Hit> PerhapsIn(std::span<const HistoryLook> looks) const;

  RocksStore* store_;
  std::vector<Bucket> buckets_;  // oldest first
  uint32_t next_ = 1;
};

}  // namespace oncemq
