// SPDX-License-Identifier: Apache-2.0
// FinishedIds: all finished ids of a local store: the present generation in memory, a frozen one
// that is being written to the history, and the history.
//
// Promise: what a written batch carried is found after every opening. At most one generation is
// frozen: a second that fills waits for it. So memory stays bounded, by `generation` ids and by the
// store's share of the memory of the process. After a failure to freeze Written() says so, and
// nothing is lost: the journal still has it. Old buckets are merged meanwhile; nobody waits for
// it, and a merge that fails is logged and tried again after later generations.
//
// Thread safety: the caller's lock around every call; the threads that freeze and merge take it
// where they must.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "generation_memory.h"
#include "history.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/rocks_store.h"
#include "recent_ids.h"

namespace oncemq {

// How many pages were read for ids that were known, and for those that were not.
struct LookupTotals {
  uint64_t known = 0;
  uint64_t known_pages = 0;
  uint64_t fresh = 0;
  uint64_t fresh_pages = 0;
};

class FinishedIds {
 public:
  // `mutex` is the caller's lock. `memory` outlives them.
  FinishedIds(RocksStore* store, const KeyedHash& hasher, uint32_t generation, Mutex& mutex,
              const GenerationMemory::Share& memory, const MergeRules& rules = {});
  // Gives up a merge that is under way.
  ~FinishedIds();

  // Reads journal and history. `read_only`: and puts nothing away, whatever is in memory then.
  Status Open(bool read_only);

  void Prefetch(uint64_t hash) const;

  // Views stay valid until the next Written(), or lie in the look itself.
  Status Find(std::span<HistoryLookup> lookups);
  // Among what the present batch has appended, and all else that is in memory.
  std::optional<IdRecord> FindRecent(uint64_t hash, std::string_view id, bool digest) const {
    return recent_->ids.Find(hash, id, digest);
  }

  // Known at once. Bound for the journal with the next Stage(): if that batch cannot be written,
  // the store has to be opened again, and knows what was written. Goes when `time` has aged, and
  // may be appended once more to stay longer.
  void Append(const IdRecord& record, uint64_t hash, LogTime time);
  bool staged() const { return !records_.empty(); }
  // What was appended last is filed under no earlier time.
  LogTime newest() const { return std::max(recent_->newest, newest_); }
  // Puts what was appended into the store's batch, and Written() says that it is on record.
  void Stage(RocksBatch& batch);
  Status Written();
  // Likewise, for a store at rest: puts away the ids that its share of the memory does not hold any
  // more. Waits for no other generation that is being put away. Precondition: nothing is staged.
  Status PutAwayExcess();

  // As History's, of the same names; ForgetFacts and DropPages without the caller's lock.
  History::Aged TakeAged(LogTime limit, const ProgressTable& progress) {
    return history_.TakeAged(limit, progress);
  }
  Status ForgetFacts(const History::Aged& aged, RocksBatch& with) const {
    return history_.ForgetFacts(aged, with);
  }
  void ForgetBuckets(const History::Aged& aged) { history_.ForgetBuckets(aged); }
  Status DropPages(const History::Aged& aged) const { return history_.DropPages(aged); }

  uint64_t in_memory() const;
  const History& history() const { return history_; }
  size_t memory_bytes() const;
  const LookupTotals& totals() const { return totals_; }
  uint64_t failed_merges() const { return failed_merges_; }
  // Until no merge is under way, and none that could begin now.
  void AwaitMerges() {
    frozen_gone_.wait(mutex_, [this] { return !merging_ && (frozen_ == nullptr || !failure_); });
  }

 private:
  struct Generation {
    explicit Generation(const KeyedHash& hasher) : ids(hasher) {}
    RecentIds ids;
    uint32_t bucket = 0;     // its number, once it is frozen
    uint64_t first_row = 0;  // of the journal
    uint64_t last_row = 0;
    LogTime newest = LogTime(milliseconds(0));
    Reach reach;
  };

  Status LoadRow(std::string_view key, std::string_view row, bool read_only);
  void NoteRow(LogTime newest);
  bool Full() const;
  Status Roll();
  void Freeze();
  void MergeIfMany();
  void MergeAll();
  bool MergeInTurn();
  enum class Merged : uint8_t { kOne, kNone, kFailed };
  Merged MergeOne();
  static Merged Failed(const Error& error);

  RocksStore* const store_;
  const KeyedHash& hasher_;
  const uint32_t generation_;
  const GenerationMemory::Share& memory_;
  Mutex& mutex_;
  History history_;
  std::unique_ptr<Generation> recent_;
  std::unique_ptr<Generation> frozen_;
  uint64_t next_row_ = 1;                      // above all rows of both generations
  std::string records_;                        // of the present batch
  LogTime newest_ = LogTime(milliseconds(0));  // among them
  Status failure_;                             // of the last freezing; the journal still has all
  ConditionVariable frozen_gone_;              // or a merge has ended
  std::thread freezer_;

  const MergeRules rules_;
  std::atomic<bool> closing_{false};
  bool merging_ = false;
  bool merge_again_ = false;  // a generation was put away meanwhile
  uint32_t pause_ = 0;        // generations from one failure to the next attempt
  uint32_t pause_left_ = 0;   // of these
  uint64_t failed_merges_ = 0;
  std::thread merger_;
  LookupTotals totals_;
};

}  // namespace oncemq
