// SPDX-License-Identifier: Apache-2.0
// HistoryThread: makes the calls to the window that concern partitions as a whole, on a thread of
// its own. They wait for a disk or a server, and the poll thread must not: heartbeats of handlers,
// other partitions and the group come first.
//
// Promise: in the order in which they came. Adjacent announcements of several partitions are one
// call. Only Committed waits for the others, at most for a few dozen of them; of several
// for a partition the last one is made. Answers come back by Take(), after a ring of the wake.
//
// Thread safety: any thread. Blocks: the destructor, for the call under way and to close stores.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/core.h"
#include "source.h"
#include "store_errors.h"
#include "wake.h"

namespace oncemq {

class HistoryThread {
 public:
  struct RaiseOwnerEpoch {
    RaiseOwnerEpochAction action;
    uint32_t source = 0;
    int32_t partition = 0;
    Result<OwnerEpoch> owner_epoch = Error{};
  };
  struct Open {
    PartitionId partition = 0;
    PartitionName name;
    uint32_t source = 0;
    std::string owner;
    Result<StoreKnowledge> known = Error{};
  };
  struct Announce {
    CommitAction commit;
    Announcement announcement;  // its metadata is the commit's
    Status made;
  };
  // Of an acknowledged commit. Needs no answer: only space depends on it.
  struct Committed {
    Progress progress;
  };
  // Ends an Open.
  struct Close {
    PartitionId id = 0;
    uint32_t source = 0;
    int32_t partition = 0;
  };
  // Of a catch-up.
  struct Restore {
    PartitionId partition = 0;
    uint64_t number = 0;
    std::vector<std::string> ids;  // those of the requests
    std::vector<RestoreRequest> requests;
    std::vector<MarkerChange> changes;
    Status made;
  };
  using Job = std::variant<RaiseOwnerEpoch, Open, Announce, Committed, Restore, Close>;

  // All outlive it. Without a thread for it, the caller's does the work.
  HistoryThread(Window* window, StoreErrors& errors, Wake& wake);
  ~HistoryThread();
  HistoryThread(const HistoryThread&) = delete;
  HistoryThread& operator=(const HistoryThread&) = delete;

  void Add(Job job);
  // One for the partition that has not begun is not made, and gets no answer.
  void ForgetRaise(PartitionId partition);
  // Appends those that are answered; true if there are any.
  bool Take(std::vector<Job>& done);

 private:
  void Work();
  std::deque<Committed>::iterator CommittedOf(uint32_t source, int32_t partition) REQUIRES(mutex_);
  void Keep(Committed job) REQUIRES(mutex_);
  // The jobs of the next call.
  std::vector<Job> Next() REQUIRES(mutex_);
  void Make(std::span<Job> jobs);
  void AnnounceTogether(std::span<Job> jobs);
  void Call(RaiseOwnerEpoch& job);
  void Call(Open& job);
  void Call(Announce& job);
  void Call(Committed& job);
  void Call(Restore& job);
  void Call(Close& job);

  Window* const window_;
  StoreErrors& errors_;
  Wake& wake_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Job> waiting_ GUARDED_BY(mutex_);
  std::deque<Committed> committed_ GUARDED_BY(mutex_);
  uint32_t passed_ GUARDED_BY(mutex_) = 0;  // jobs that went before the first of committed_
  std::vector<Job> done_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
