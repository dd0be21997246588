// SPDX-License-Identifier: Apache-2.0
// The report of the poll loop on each partition: how far it is, why it waits, which message holds
// it up, why it is stopped.
#include <utility>

#include "longest_reason.h"
#include "poll_loop.h"

namespace oncemq {
namespace {

// Each commit waits for the disk, mostly some milliseconds: no reason to alarm anybody.
constexpr milliseconds kSlowDisk{1'000};

}  // namespace

// An incident names the partition as the log does.
void PollLoop::MarkStopped(const PartitionName& partition, const std::string& why) {
  for (PartitionId id = 0; id < owned_.size(); id++) {
    if (owned_[id].held && owned_[id].partition == partition.partition &&
        source_->Name(id).topic == partition.topic) {
      owned_[id].stopped = why.substr(0, kLongestReason);
    }
  }
}

std::string PollLoop::WaitsFor(PartitionId partition, const PartitionStatus& status) const {
  switch (status.phase) {
    case PartitionPhase::kRaising: {
      const std::string& why = owned_[partition].unowned;
      return why.empty() ? "the window has not answered yet" : why.substr(0, kLongestReason);
    }
    case PartitionPhase::kConfirming:
      return "the commit that confirms the ownership is not acknowledged yet";
    case PartitionPhase::kStopped:
      return "its commit was refused: the group gives it to another member";
    case PartitionPhase::kActive:
      return WhatHinders(partition, status);
    case PartitionPhase::kNone:
    case PartitionPhase::kDraining:
      break;
  }
  return {};
}

// A partition that has begun, and would work.
std::string PollLoop::WhatHinders(PartitionId partition, const PartitionStatus& status) const {
  const Owned& owned = owned_[partition];
  if (!owned.failed.empty()) {
    return owned.failed.substr(0, kLongestReason);
  }
  if (owned.waits_for_disk && now_ - owned.disk_since >= kSlowDisk) {
    return by_desk_ && parts_.window->capabilities().remote
               ? "its commit waits for the store of the window"
               : "its commit waits for the disk";
  }
  if (owned.unknown) {
    return "the broker has not answered its last commit";
  }
  if (status.map_full) {
    return "its commit has no room for more that is finished above offset " +
           std::to_string(status.frontier) + ", which is not";
  }
  const auto left = catch_up_ ? catch_up_->LeftOf(partition) : std::nullopt;
  return !left
             ? ""
             : "its window is completed from the log: at offset " + std::to_string(left->at) +
                   " of [" + std::to_string(left->from) + ", " + std::to_string(left->start) + ")";
}

void PollLoop::TellPartitions(RunReport& report, std::vector<PartitionId>& told) const {
  const std::map<PartitionId, NotBegun>& not_begun = source_->not_begun();
  told.clear();
  const auto tell = [&report](PartitionReport one, const NotBegun& waits) {
    (waits.stopped ? one.stopped : one.waiting) = waits.why.substr(0, kLongestReason);
    report.partitions.push_back(std::move(one));
  };
  for (PartitionId id = 0; id < owned_.size(); id++) {
    const Owned& owned = owned_[id];
    if (!owned.seen) {
      continue;
    }
    told.push_back(id);
    PartitionName name = source_->Name(id);
    PartitionReport one{std::move(name.topic), name.partition, core_.Status(id), owned.source};
    if (const auto& lack = owned.lack) {
      one.unprotected = UnprotectedTime{WallAt(lack->since), std::nullopt};
      if (lack->until) {
        one.unprotected->until = WallAt(*lack->until);
      }
    }
    if (const auto waits = not_begun.find(id); waits != not_begun.end() && !owned.held) {
      tell(std::move(one), waits->second);
      continue;
    }
    if (owned.held) {
      one.stopped = owned.stopped;
      one.waiting = one.stopped.empty() ? WaitsFor(id, one.status) : "";
    }
    report.partitions.push_back(std::move(one));
  }
  for (const auto& [id, waits] : not_begun) {
    if (id >= owned_.size() || !owned_[id].seen) {
      told.push_back(id);
      PartitionReport one{waits.name.topic, waits.name.partition};
      one.begun = false;
      tell(std::move(one), waits);
    }
  }
}

void PollLoop::NoteHoldups(RunReport& report) {
  const bool logs_due = holdups_.LogsDue(now_);
  for (size_t i = 0; i < told_.size(); i++) {
    const PartitionId id = told_[i];
    if (logs_due) {
      holdups_.SeeLog(id, Owns(id) ? source_->LogOf(id) : LogSight{});
    }
    const auto left = catch_up_ ? catch_up_->LeftOf(id) : std::nullopt;
    holdups_.Note(id, left ? std::optional(left->at) : std::nullopt, report.partitions[i], now_);
  }
  std::vector<OpenMessage> stuck = holdups_.ToLookUp(now_);
  if (!stuck.empty()) {
    core_.FindOldest(stuck);
    holdups_.Keep(std::move(stuck));
  }
  for (size_t i = 0; i < told_.size(); i++) {
    holdups_.Describe(told_[i], report.partitions[i], now_);
  }
  holdups_.Tell(report, now_);
}

}  // namespace oncemq
