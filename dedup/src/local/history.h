// SPDX-License-Identifier: Apache-2.0
// History: the finished ids of a local store that have left memory, in buckets. A bucket is one
// former generation, or several that were merged: sorted pages on disk, and a filter in memory.
// Buckets are dropped whole.
//
// Promise: a bucket is known after its facts are written, or not at all; what an interrupted
// writing, merging or forgetting left is removed by Open(). A page that cannot be read is an error,
// never "not there". A bucket that is being forgotten is not merged: the merge is given up.
// Memory: 16 bits for each id.
//
// Thread safety: with the caller's lock all that is not const, and Find(): so a look sees each
// bucket with all its pages. Without it Write..., ...Facts and DropPages. One thread freezes at a
// time, one merges and one forgets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bucket.h"
#include "bucket_merge.h"
#include "id_record.h"
#include "merge_rules.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/rocks_store.h"
#include "progress_table.h"
#include "reach.h"
#include "recent_ids.h"

namespace oncemq {

// One id that is looked for, and what was found. The record's views lie in `bytes`.
struct HistoryLookup {
  uint64_t hash = 0;
  std::string_view id;
  bool digest = false;
  std::optional<IdRecord> record;
  LogTime filed = LogTime::min();  // where it was found: it stays until this has aged
  uint32_t pages = 0;              // that were read for it
  bool wanted = true;              // or it is known that it is not finished
  std::string bytes;
};

class History {
 public:
  explicit History(RocksStore* store) : store_(store) {}

  // Reads the facts of every bucket. `read_only`: and changes nothing.
  Status Open(bool read_only);

  // Of the looks that have found nothing yet.
  Status Find(std::span<HistoryLookup> lookups) const;

  // Each bucket is written under a number of its own, also one that is given up.
  uint32_t TakeNumber() { return next_++; }
  // Writes the pages of a generation: the latest time that an id is filed under, and how far its
  // ids reach.
  Result<Bucket> Write(uint32_t number, const RecentIds& ids, LogTime newest,
                       const Reach& reach) const;
  // Then its facts. `with` lands in the same batch: what the bucket makes superfluous.
  Status WriteFacts(const Bucket& bucket, RocksBatch& with) const;
  // Then it is known.
  void Add(Bucket bucket);

  // Merging (docs/adr/0011): choose, write, take the buckets out of forgetting's reach, write the
  // facts, replace, drop.
  struct Merge {
    uint32_t number = 0;
    std::vector<BucketPart> parts;
    LogTime oldest = kNoLogTime;
    LogTime newest = kNoLogTime;
    Reach reach;
  };
  std::optional<Merge> ChooseMerge(const MergeRules& rules);
  // kFull: the disk has not twice the room of its buckets.
  Result<Bucket> WriteMerged(const Merge& merge, const KeyedHash& hasher,
                             const std::atomic<bool>& stop) const;
  // False: some of its buckets are gone, or about to be forgotten.
  bool IsComplete(const Merge& merge) const;
  // Likewise; true: now they will not be.
  bool TakeFor(const Merge& merge);
  Status WriteMergedFacts(const Merge& merge, const Bucket& merged) const;
  void Replace(const Merge& merge, Bucket merged);
  Status DropPages(const Merge& merge) const;
  // Of a merge that is given up.
  Status DropPages(uint32_t number) const { return DropPagesOf(number); }

  // Buckets whose ids are all older than the limit, and passed by the progress: they will be
  // forgotten.
  struct Aged {
    std::vector<uint32_t> buckets;
    LogTime newest = LogTime::min();  // of their ids
  };
  Aged TakeAged(LogTime limit, const ProgressTable& progress);
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
  uint64_t merges() const { return merges_; }

 private:
  struct Hit {
    uint32_t lookup;
    uint32_t bucket;  // index
    uint32_t page;
  };

  Status ReadFilters();
  Status DropUnknown();
  Status DropPagesOf(uint64_t number) const;
  std::vector<Hit> PerhapsIn(std::span<const HistoryLookup> lookups) const;

  RocksStore* store_;
  std::vector<Bucket> buckets_;  // oldest first, by log time
  uint32_t next_ = 1;
  uint64_t merges_ = 0;
  // So that next-bucket on the disk never falls.
  mutable Mutex facts_mutex_;
  mutable uint64_t next_on_disk_ GUARDED_BY(facts_mutex_) = 0;
};

}  // namespace oncemq
