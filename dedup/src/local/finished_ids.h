// SPDX-License-Identifier: Apache-2.0
// FinishedIds: all finished ids of a local store: the present generation in memory, a frozen one
// that is being written to the history, and the history.
//
// Promise: what a written batch carried is found after every opening. At most one generation is
// frozen: a second that fills waits for it, so memory stays bounded. After a failure to freeze,
// Failure() says so, and nothing is lost: the journal still has it. Thread safety: the caller's
// lock around every call; the freezing thread takes it where it must.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "history.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/rocks_store.h"
#include "recent_ids.h"

namespace oncemq {

class FinishedIds {
 public:
  // `mutex` is the caller's lock.
  FinishedIds(RocksStore* store, const KeyedHash& hasher, uint32_t generation, Mutex& mutex);
  ~FinishedIds();

  // Reads journal and history. `look`: and puts nothing away, whatever is in memory then.
  Status Open(bool look);

  void Prefetch(uint64_t hash) const;

  // Views stay valid until the next Written(), or lie in the look itself.
  Status Find(std::span<HistoryLook> looks) const;
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

  // As History's, of the same names; the first and the last without the caller's lock.
  Status ForgetFacts(const History::Aged& aged, RocksBatch& with) const {
    return history_.ForgetFacts(aged, with);
  }
  void ForgetBuckets(const History::Aged& aged) { history_.ForgetBuckets(aged); }
  Status DropPages(const History::Aged& aged) const { return history_.DropPages(aged); }

  uint64_t in_memory() const;
  const History& history() const { return history_; }
  size_t memory_bytes() const;

 private:
  struct Generation {
    explicit Generation(const KeyedHash& hasher) : ids(hasher) {}
    RecentIds ids;
    uint64_t first_row = 0;  // of the journal
    uint64_t last_row = 0;
    LogTime newest = LogTime(milliseconds(0));
    Reach reach;
  };

  Status LoadRow(std::string_view key, std::string_view row, bool look);
  void NoteRow(LogTime newest);
  bool Full() const;
  Status Roll();
  void Freeze();

  RocksStore* const store_;
  const KeyedHash& hasher_;
  const uint32_t generation_;
  Mutex& mutex_;
  History history_;
  std::unique_ptr<Generation> recent_;
  std::unique_ptr<Generation> frozen_;
  uint64_t next_row_ = 1;
  std::string records_;                        // of the present batch
  LogTime newest_ = LogTime(milliseconds(0));  // among them
  Status failure_;                             // of the last freezing; the journal still has all
  ConditionVariable frozen_gone_;
  std::thread freezer_;
};

}  // namespace oncemq
