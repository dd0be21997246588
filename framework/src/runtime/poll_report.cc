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
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    if (partitions_[id].held && partitions_[id].partition == partition.partition &&
        poll_.source->Name(id).topic == partition.topic) {
      partitions_[id].stopped = why.substr(0, kLongestReason);
    }
  }
}

std::string PollLoop::WaitsFor(PartitionId partition, const PartitionStatus& status) const {
  switch (status.phase) {
    case PartitionPhase::kRaising: {
      const std::string& why = partitions_[partition].unowned;
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
  const AssignedPartition& owned = partitions_[partition];
  if (!owned.failed.empty()) {
    return owned.failed.substr(0, kLongestReason);
  }
  if (owned.waits_for_disk && poll_.now - owned.disk_since >= kSlowDisk) {
    return poll_.remote && poll_.parts.window->capabilities().remote
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
  const auto left = poll_.catch_up ? poll_.catch_up->LeftOf(partition) : std::nullopt;
  return !left
             ? ""
             : "its window is completed from the log: at offset " + std::to_string(left->at) +
                   " of [" + std::to_string(left->from) + ", " + std::to_string(left->start) + ")";
}

void PollLoop::TellPartitions(RunReport& report, std::vector<PartitionId>& told) const {
  const std::map<PartitionId, NotBegun>& not_begun = poll_.source->not_begun();
  told.clear();
  const auto tell = [&report](PartitionReport one, const NotBegun& waits) {
    (waits.stopped ? one.stopped : one.waiting) = waits.why.substr(0, kLongestReason);
    report.partitions.push_back(std::move(one));
  };
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    const AssignedPartition& owned = partitions_[id];
    if (!owned.seen) {
      continue;
    }
    told.push_back(id);
    PartitionName name = poll_.source->Name(id);
    PartitionReport one{std::move(name.topic), name.partition, poll_.core.Status(id), owned.source};
    if (const auto& lack = owned.lack) {
      one.unprotected = UnprotectedTime{poll_.WallAt(lack->since), std::nullopt};
      if (lack->until) {
        one.unprotected->until = poll_.WallAt(*lack->until);
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
    if (id >= partitions_.size() || !partitions_[id].seen) {
      told.push_back(id);
      PartitionReport one{waits.name.topic, waits.name.partition};
      one.begun = false;
      tell(std::move(one), waits);
    }
  }
}

void PollLoop::NoteHoldups(RunReport& report) {
  const bool logs_due = holdups_.LogsDue(poll_.now);
  for (size_t i = 0; i < told_.size(); i++) {
    const PartitionId id = told_[i];
    if (logs_due) {
      holdups_.SeeLog(id, partitions_.Owns(id) ? poll_.source->LogOf(id) : LogSight{});
    }
    const auto left = poll_.catch_up ? poll_.catch_up->LeftOf(id) : std::nullopt;
    holdups_.Note(id, left ? std::optional(left->at) : std::nullopt, report.partitions[i],
                  poll_.now);
  }
  std::vector<OpenMessage> stuck = holdups_.ToLookUp(poll_.now);
  if (!stuck.empty()) {
    poll_.core.FindOldest(stuck);
    holdups_.Keep(std::move(stuck));
  }
  for (size_t i = 0; i < told_.size(); i++) {
    holdups_.Describe(told_[i], report.partitions[i], poll_.now);
  }
  holdups_.Tell(report, poll_.now);
}

}  // namespace oncemq
