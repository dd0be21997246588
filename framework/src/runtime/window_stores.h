// SPDX-License-Identifier: Apache-2.0
// WindowStores: the poll loop's side of a window that remembers beyond an assignment: opens a
// partition's store before the assignment, says what is to be announced to it before each commit,
// tells it which ones were acknowledged, and closes it when the partition goes.
//
// Promise: a store whose partition was lost stays open for work that is still under way, as long as
// CloseLater() says at most: its markers are owed (rule 15).
//
// Thread safety: none; belongs to the poll thread. Blocks: for the disk.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/framework/store_fit.h"
#include "source.h"
#include "store_errors.h"

namespace oncemq {

class WindowStores {
 public:
  struct Options {
    std::string owner;  // group, scope and recipe, as text
    StoreRules rules;
  };
  WindowStores(Window* window, Options options, StoreErrors& errors)
      : window_(window), options_(std::move(options)), errors_(errors) {}

  // Tells it now.
  void Tell(const Progress& progress);

  // See SourceEvents::Prepare(). The calls of the window are made here and now.
  Status Prepare(PartitionId partition, const PartitionName& name, Assignment& assignment);
  // The same in two steps, with Window::Open() between them.
  std::string OwnerText(const Assignment& assignment) const;
  Status Fit(PartitionId partition, const PartitionName& name, const Result<Known>& known,
             Assignment& assignment);
  // Its store is ready. If Assigned() does not follow, it is closed at `until`, for the next owner.
  void AwaitAssigned(PartitionId partition, BootTime until) { unbegun_[partition] = until; }
  void Assigned(PartitionId partition) { unbegun_.erase(partition); }
  // What has to be announced before the commit is sent; nothing: it may be sent. `known_to`: up to
  // where the window knows the partition by now.
  std::optional<Announcement> Plan(const CommitAction& commit, int64_t known_to);
  // The broker has it: the progress to tell the window, so that it may forget. Nothing: a later
  // commit was announced.
  std::optional<Progress> Acknowledged(PartitionId partition, uint64_t number, Own own);

  // What lies below `from` will not be known.
  void RaiseFrom(PartitionId partition, int64_t from);

  bool IsOpen(PartitionId partition) const { return stores_.contains(partition); }
  void Close(PartitionId partition);
  void CloseLater(PartitionId partition, BootTime at) { closing_[partition] = at; }
  // Closes those that nobody uses any more, or whose time is over.
  void CloseDue(BootTime now, const std::function<bool(PartitionId)>& in_use);
  void CloseAll();

 private:
  struct Store {
    uint32_t source = 0;
    int32_t partition = 0;
    int64_t known_from = 0;
    uint64_t incarnation = 0;
    uint64_t number = 0;  // of the commit that was announced last
    Progress progress;    // that it makes
  };

  Window* const window_;
  const Options options_;
  StoreErrors& errors_;
  std::map<PartitionId, Store> stores_;
  std::map<PartitionId, BootTime> closing_;
  std::map<PartitionId, BootTime> unbegun_;
};

}  // namespace oncemq
