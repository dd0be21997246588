// SPDX-License-Identifier: Apache-2.0
#include "group_events.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

// The next owner on this host asks again while a store is open here.
constexpr milliseconds kStoreClosesWithin{2'000};

// The process is slow for as long.
void LogCaution(const PollState& poll, PartitionId partition, const AssignFacts& facts) {
  const int64_t to = poll.core.Status(partition).cautious_to;
  if (to >= 0) {
    const PartitionName name = poll.source->Name(partition);
    Log(LogLevel::kWarn, "runtime",
        "processes have ended without progress here: each unfinished message in this range runs "
        "with nothing else in this process, to find one that kills it",
        {{"topic", name.topic}, {"partition", name.partition}, {"from", facts.start}, {"to", to}});
  }
}

}  // namespace

// Results of this assignment may be gone from the store, so nothing more of it is committed. The
// next assignment compares store and commit (FitStore) and reads the rest again. An announcement
// under way must end first. It would claim the lost results in the newly opened store.
void GroupEvents::AssignLostWritesAnew() {
  for (const PartitionId id : partitions_.TakeLostWrites()) {
    const bool goes = stopping_ || rejoining_ ||
                      poll_.core.Status(id).phase == PartitionPhase::kDraining;  // its commits fail
    if (!partitions_.Owns(id) || goes) {
      continue;
    }
    if (partitions_[id].flight.announcing > 0) {
      partitions_.KeepLostWrites(id);
      continue;
    }
    const PartitionName name = poll_.source->Name(id);
    // A server cannot always tell a restart from a loss, as a store on disk can.
    Log(poll_.remote ? LogLevel::kWarn : LogLevel::kError, "runtime",
        "the window's store may have lost changes that it had acknowledged; the partition is "
        "assigned anew, and its work in hand becomes uncertain or runs again",
        {{"topic", name.topic}, {"partition", name.partition}, {"error", partitions_[id].failed}});
    LetGo(id);
    poll_.source->AssignAnew(id);
  }
}

void GroupEvents::GiveBack(const GiveBackAction& action) {
  if (!partitions_.Owns(action.partition)) {
    return;
  }
  const bool runs_on = pool_.InUse(action.partition);
  if (runs_on) {
    pool_.StopBatchesOf(action.partition, poll_.now);  // another member may own it at once
  }
  disorder_ |= stopping_ && (runs_on || action.leave_group);
  partitions_.End(action.partition);
  const bool in_doubt = flight_.End(action);
  // Before the group hears of it, as the next owner opens the store. At the opaque level it would
  // take the claim of a running handler for a dead one's. So it waits as long as that handler may
  // act (rule 13).
  bool closes = false;
  if (poll_.stores && runs_on && poll_.parts.window->capabilities().level == Level::kOpaque) {
    const milliseconds longest = poll_.parts.window->capabilities().times.handler_timeout;
    poll_.stores->CloseLater(action.partition, poll_.now + longest);
  } else if (poll_.stores) {
    closes = poll_.stores->Close(action.partition);
  }
  if (!in_doubt && closes) {
    closing_[action.partition] = poll_.now + kStoreClosesWithin;
  } else if (!in_doubt) {
    poll_.source->GiveBack(action.partition);
  } else if (!rejoining_) {
    const PartitionName name = poll_.source->Name(action.partition);
    Log(LogLevel::kWarn, "runtime",
        "the outcome of the last commit is not known; leaving the group makes it harmless",
        {{"topic", name.topic}, {"partition", name.partition}});
    rejoining_ = true;
    DrainAll();
  }
}

void GroupEvents::StoreClosed(PartitionId partition) {
  if (closing_.erase(partition) > 0) {
    poll_.source->GiveBack(partition);
  }
}

void GroupEvents::Assigned(PartitionId partition, const AssignFacts& facts) {
  partitions_.Begin(partition, facts);
  if (poll_.stores) {
    poll_.stores->Assigned(partition);
  }
  LogSuspects(partition, facts);
  if (poll_.catch_up) {
    poll_.catch_up->Begin(partition, facts);
  }
  poll_.core.Assign(partition, facts, poll_.now);
  LogCaution(poll_, partition, facts);
}

// Before the first of them is handled, the highest possible count of uncertain ones.
void GroupEvents::LogSuspects(PartitionId partition, const AssignFacts& facts) const {
  int64_t offsets = 0;
  int64_t to = facts.start;
  for (const OffsetMap::Range& range : facts.suspects.ranges()) {
    const int64_t reported = std::min(range.to, facts.reported_below) - range.from;
    offsets += std::max<int64_t>(reported, 0);
    to = reported > 0 ? range.from + reported : to;
  }
  if (offsets > 0) {
    const PartitionName name = poll_.source->Name(partition);
    Log(LogLevel::kWarn, "runtime",
        "a former owner may have begun these offsets, and no commit calls them finished: they run "
        "as uncertain, an upper bound",
        {{"topic", name.topic},
         {"partition", name.partition},
         {"from", facts.suspects.ranges().front().from},
         {"to", to},
         {"offsets", offsets}});
  }
}

void GroupEvents::Revoked(PartitionId partition) {
  if (partitions_.Owns(partition)) {
    Drain(partition);
  } else if (!partitions_.At(partition).flight.in_doubt && !closing_.contains(partition)) {
    poll_.source->GiveBack(partition);
  }
}

void GroupEvents::Drain(PartitionId partition) {
  const BootTime deadline = poll_.now + poll_.options.drain_deadline;
  pool_.StopBatchesOf(partition, deadline - poll_.options.drain_deadline / 4);
  poll_.core.Revoke(partition, deadline, poll_.now);
}

void GroupEvents::DrainAll() {
  poll_.source->Refuse();
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    if (partitions_[id].held) {
      Drain(id);
    }
  }
}

void GroupEvents::Lost(PartitionId partition) {
  closing_.erase(partition);
  if (!partitions_.Owns(partition)) {
    return;
  }
  const PartitionName name = poll_.source->Name(partition);
  Log(LogLevel::kWarn, "runtime", "the partition was lost to the group",
      {{"topic", name.topic}, {"partition", name.partition}});
  disorder_ |= stopping_;
  LetGo(partition);
}

// At once and without a commit. Runs that are under way end by their tokens.
void GroupEvents::LetGo(PartitionId partition) {
  partitions_.End(partition);
  pool_.StopBatchesOf(partition, poll_.now);
  if (poll_.stores) {
    poll_.stores->CloseLater(partition, HandlersMayActUntil());
  }
  poll_.core.Lost(partition);
}

BootTime GroupEvents::HandlersMayActUntil() const {
  const WindowCapabilities& can = poll_.parts.window->capabilities();
  const milliseconds longer =
      can.level == Level::kOpaque ? can.times.handler_timeout : milliseconds(0);
  return poll_.now + std::max(poll_.options.drain_deadline, longer);
}

std::optional<Status> GroupEvents::Prepare(PartitionId partition, const PartitionName& name,
                                           Assignment& assignment) {
  closing_.erase(partition);  // the group has taken it, and given it anew
  if (poll_.stores) {
    AssignedPartition& owned = partitions_.At(partition);
    assignment.store_lost_writes = owned.lost_writes;
    const auto ready = poll_.stores->Prepare(partition, name, assignment, poll_.now);
    owned.lost_writes = assignment.store_lost_writes;  // the store says so once
    if (ready && *ready) {
      partitions_.BeginUnprotected(partition, name, assignment);
      poll_.stores->AwaitAssigned(partition, HandlersMayActUntil());
    }
    return ready;
  }
  BeginInLog(assignment);
  if (poll_.core.Made(partition, assignment.facts.metadata)) {
    WindowKnowsSuspects(assignment.facts);
  }
  if (!poll_.catch_up) {
    return Status();
  }
  const int64_t frontier = partition < partitions_.size() && partitions_[partition].seen
                               ? poll_.core.Status(partition).frontier
                               : 0;
  return poll_.catch_up->Prepare(poll_.catch_up->KnownUpTo(partition, frontier),
                                 poll_.options.catch_up,
                                 poll_.options.incomplete == IncompletePolicy::kStop, assignment,
                                 poll_.options.core.refusals.parks);
}

bool GroupEvents::CatchUpGap(PartitionId partition, int64_t from, int64_t to) {
  if (poll_.catch_up) {
    poll_.catch_up->Gap(partition, from, to, poll_.now);
  }
  partitions_.NoteGap(partition, from, to);
  return poll_.options.incomplete == IncompletePolicy::kRun;
}

// Deliveries handed back by a refusal are not finished, and stay above the frontier. After a
// refused commit all may be finished, but the group does not know: another assignment would begin
// below it.
bool GroupEvents::Finished(PartitionId partition) const {
  if (!partitions_.Owns(partition)) {
    return true;
  }
  const PartitionStatus status = poll_.core.Status(partition);
  if (status.phase == PartitionPhase::kStopped) {
    return false;
  }
  return status.frontier >= status.next_offset &&
         !(poll_.catch_up && poll_.catch_up->Busy(partition));
}

void GroupEvents::Failed(const std::string& why) {
  reporter_.NoteFailure(why);
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    Lost(id);
  }
  poll_.stop_requested.store(true);
}

void GroupEvents::CloseStores() {
  if (poll_.stores) {
    // Open deliveries of a lost partition run, or are finished and owe their markers.
    poll_.stores->CloseDue(poll_.now, [this](PartitionId partition) {
      return pool_.InUse(partition) || poll_.core.Status(partition).counts.open > 0;
    });
  }
  while (true) {
    const auto due = std::find_if(closing_.begin(), closing_.end(),
                                  [&](const auto& one) { return poll_.now >= one.second; });
    if (due == closing_.end()) {
      return;
    }
    StoreClosed(due->first);
  }
}

void GroupEvents::RejoinWhenDrained() {
  if (rejoining_ && partitions_.held() == 0 && closing_.empty() && !stopping_) {
    rejoining_ = false;
    poll_.joined = false;
    poll_.source->Rejoin();
  }
}

}  // namespace oncemq
