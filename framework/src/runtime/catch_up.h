// SPDX-License-Identifier: Apache-2.0
// CatchUp: gives a window back what it forgot. A window in memory knows nothing of what earlier
// owners of a partition did; the log below the start and the commit do. What lies there is
// finished, so its ids become done again before anything new is admitted.
//
// Promise: nothing of a partition is admitted before its catch-up is over; a window that does not
// answer, or leaves an id alone because somebody else may be running it, is asked again with the
// same ids. Bounded by PlanCatchUp's budget.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "history_thread.h"
#include "oncemq/framework/assignment.h"
#include "oncemq/framework/core.h"
#include "store_errors.h"

namespace oncemq {

class CatchUp {
 public:
  // `history_thread`: makes the calls of the window; nullptr: they are made here and now. All
  // outlive it.
  CatchUp(Window* window, StoreErrors& errors, HistoryThread* history_thread = nullptr)
      : window_(window), errors_(errors), history_thread_(history_thread) {}

  // Settles from where to read, for a window that knows what came below `known` by itself and
  // nothing else. kInvalid: the log cannot give the rest, and `stop` says not to go on without.
  // With `reads_park`, as of PlanCatchUp, PassRefused() is to follow.
  static Status Prepare(int64_t known, int64_t most, bool stop, Assignment& assignment,
                        bool reads_park = false);

  void Begin(PartitionId partition, const AssignFacts& facts);
  // The sorted offsets are not done (rule 4). Before the first Take().
  void PassRefused(PartitionId partition, std::vector<int64_t> offsets) {
    not_done_[partition].refused = std::move(offsets);
  }
  // The assignment is over. Messages that were still held go to `released`.
  void End(PartitionId partition, std::vector<void*>& released);

  // True until everything below the start is in the window, and what was read behind it is
  // admitted.
  bool Busy(PartitionId partition) const {
    return partition < partitions_.size() &&
           (partitions_[partition].busy || !partitions_[partition].pending.empty() ||
            !partitions_[partition].behind.empty());
  }

  // True while ids that an earlier call took are not in the window yet: don't read on.
  bool Waits(PartitionId partition, OwnerEpoch owner_epoch, BootTime now,
             std::vector<void*>& released);

  // An answer of the history thread.
  void Restored(const HistoryThread::Restore& answer, BootTime now, std::vector<void*>& released);

  // Appends at most `most` messages that were read together with the last of these ids and had to
  // wait for them: they come before what is read next.
  void GiveBehind(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals);

  // Takes what lies below the start off the front of `arrivals` and puts it into the window. What
  // is left in `arrivals` may be admitted: nothing, while the window has not taken all.
  void Take(PartitionId partition, OwnerEpoch owner_epoch, std::vector<Arrival>& arrivals,
            BootTime now, std::vector<void*>& released);

  // Every message below `end` was taken.
  void ReadTo(PartitionId partition, int64_t end, BootTime now);

  // What lies in [from, to) below the start is gone from the log, and is read no more.
  void Gap(PartitionId partition, int64_t from, int64_t to, BootTime now);

  // Whether it has taken longer than `most`; 0: it may take as long as it does.
  bool Overdue(PartitionId partition, BootTime now, milliseconds most) const;
  // What follows: all that is still to be read below the start, [first, second), is passed over, or
  // nothing of the partition is read any more.
  std::pair<int64_t, int64_t> PassOver(PartitionId partition);
  void Halt(PartitionId partition) { partitions_[partition].halted = true; }

  // While it is busy: reads [from, start), and is at `at`.
  struct Left {
    int64_t from = 0;
    int64_t at = 0;
    int64_t start = 0;
  };
  std::optional<Left> LeftOf(PartitionId partition) const;
  // Why the ids that were taken last are not in the window yet, if it is the window's fault.
  std::optional<Error> FailureOf(PartitionId partition) const;

  // Up to where this process knows the partition without a gap, given its frontier at the end of
  // the last assignment. 0: it has to be read again.
  int64_t KnownUpTo(PartitionId partition, int64_t frontier) const;

  // The same while reading goes on: for a commit at `offset`.
  int64_t KnownTo(PartitionId partition, int64_t offset) const;

  int64_t restored() const { return restored_; }

 private:
  struct Progress {
    int64_t from = 0;   // it begins here
    int64_t start = 0;  // and ends here
    int64_t to = 0;     // everything below it that was to be read is in the window
    bool busy = false;
    bool complete = false;
    bool gap = false;     // in what was read
    bool passes = false;  // over what it still reads below the start
    bool halted = false;
    int64_t taken = 0;  // up to where messages were taken
    uint32_t source = 0;
    int32_t partition = 0;
    int64_t count = 0;
    BootTime began{};
    BootTime retry_at{};
    std::optional<Error> failure;  // of the last putting
    uint64_t requested = 0;        // number of the one that is with the history thread; 0: none is
    bool logged = false;           // that ids are left alone
    std::vector<Arrival> pending;  // ids that are not in the window yet
    std::vector<Arrival> behind;   // what came right after them
  };
  struct NotDone {
    std::vector<int64_t> refused;
    OffsetMap skipped;  // as in the commit
    bool Has(int64_t offset) const {
      return skipped.Contains(offset) || std::binary_search(refused.begin(), refused.end(), offset);
    }
  };
  static void NoteBegin(Progress& progress, BootTime now);
  void Put(PartitionId partition, OwnerEpoch owner_epoch, BootTime now,
           std::vector<void*>& released);
  void Take(Progress& progress, const Status& restored, BootTime now, std::vector<void*>& released);
  size_t KeepRefused(Progress& progress, std::vector<void*>& released);
  void Finish(Progress& progress, BootTime now);

  Window* const window_;
  StoreErrors& errors_;
  HistoryThread* const history_thread_;
  uint64_t last_request_ = 0;
  std::vector<Progress> partitions_;
  std::map<PartitionId, NotDone> not_done_;  // of the messages below the start
  std::vector<RestoreRequest> requests_;
  std::vector<MarkerChange> changes_;
  int64_t restored_ = 0;
};

}  // namespace oncemq
