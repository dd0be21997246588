// SPDX-License-Identifier: Apache-2.0
// WindowStores: the poll loop's side of a window that remembers beyond an assignment. Opens a
// partition's store before the assignment, and closes it when the partition goes.
//
// Promise: a store whose partition was lost stays open for work that is still under way, as long as
// CloseLater() says at most: its markers are owed (rule 15).
//
// Thread safety: none; belongs to the poll thread. Blocks: for the disk, without a history thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "history_thread.h"
#include "oncemq/framework/store_fit.h"
#include "source.h"
#include "store_errors.h"

namespace oncemq {

struct OpenStore {
  int64_t known_from = 0;
  uint64_t number = 0;  // of the commit announced last
  Progress progress;    // of that commit; the name of the store is always there
};

class WindowStores {
 public:
  struct Options {
    std::string owner;  // group, scope and recipe, as text
    StoreRules rules;
  };
  // `history_thread`: makes the calls of the window; without one they are made here.
  // All outlive it.
  WindowStores(Window* window, Options options, StoreErrors& errors,
               HistoryThread* history_thread = nullptr)
      : window_(window),
        options_(std::move(options)),
        errors_(errors),
        history_thread_(history_thread) {}

  // Only the space depends on it: a later commit forgets the rest.
  void NotifyCommitted(const Progress& progress);

  // See SourceEvents::Prepare().
  std::optional<Status> Prepare(PartitionId partition, const PartitionName& name,
                                Assignment& assignment, BootTime now);
  // An answer of the history thread.
  void Opened(HistoryThread::Open& job, BootTime now) {
    opened_[job.partition] = {std::move(job.known), job.name.partition, now};
  }
  // Its store is ready. If Assigned() does not follow, it is closed at `until`, for the next owner.
  void AwaitAssigned(PartitionId partition, BootTime until) { unbegun_[partition] = until; }
  void Assigned(PartitionId partition) { unbegun_.erase(partition); }
  // What lies below `from` will not be known.
  void RaiseFrom(PartitionId partition, int64_t from);

  // nullptr: it is not open.
  OpenStore* Find(PartitionId partition) {
    const auto found = stores_.find(partition);
    return found == stores_.end() ? nullptr : &found->second;
  }
  // True: under way, and the history thread answers.
  bool Close(PartitionId partition);
  void CloseLater(PartitionId partition, BootTime at) { closing_[partition] = at; }
  // Closes those without use, or after their time.
  void CloseDue(BootTime now, const std::function<bool(PartitionId)>& in_use);
  void CloseAll();

 private:
  struct StoreAnswer {
    std::optional<Result<StoreKnowledge>> known;
    int32_t number = 0;  // of the partition
    BootTime at{};
  };
  static constexpr milliseconds kGoodFor{2'000};
  Status Fit(PartitionId partition, const PartitionName& name, const Result<StoreKnowledge>& known,
             Assignment& assignment);
  void CloseStore(const HistoryThread::Close& store);
  void CloseUnused(BootTime now);

  Window* const window_;
  const Options options_;
  StoreErrors& errors_;
  HistoryThread* const history_thread_;
  // with the history thread; the answered wait for Prepare()
  std::map<PartitionId, StoreAnswer> opened_;
  std::map<PartitionId, OpenStore> stores_;
  std::map<PartitionId, BootTime> closing_;
  std::map<PartitionId, BootTime> unbegun_;
};

}  // namespace oncemq
