// SPDX-License-Identifier: Apache-2.0
#include "assigned_partitions.h"

#include <algorithm>

#include "oncemq/base/log.h"
#include "outcome_log.h"

namespace oncemq {

AssignedPartition& AssignedPartitions::At(PartitionId id) {
  if (id >= partitions_.size()) {
    partitions_.resize(id + 1);
  }
  return partitions_[id];
}

void AssignedPartitions::Begin(PartitionId id, const AssignFacts& facts) {
  AssignedPartition& owned = At(id);
  owned.held = owned.seen = true;
  owned.lost_writes = false;
  owned.flight = {.announcing = owned.flight.announcing};
  owned.assignments++;
  std::erase(lost_writes_, id);
  owned.unowned.clear();
  owned.failed.clear();
  owned.stopped.clear();
  owned.lags.Begin(poll_.now);
  owned.source = facts.source;
  owned.partition = facts.partition;
  if (poll_.parts.journal != nullptr) {
    poll_.parts.journal->Name(facts.source, poll_.source->Name(id).topic);
  }
  held_++;
}

void AssignedPartitions::End(PartitionId id) {
  if (poll_.catch_up) {
    poll_.catch_up->End(id, poll_.released);
  }
  if (poll_.history_thread) {
    poll_.history_thread->ForgetRaise(id);  // made later, it would refuse the next owner
  }
  if (ParkedSource* const parked = poll_.source->parked()) {
    parked->End(id);
  }
  partitions_[id].held = false;
  held_--;
}

void AssignedPartitions::Raise(const RaiseOwnerEpochAction& action) {
  const PartitionId id = action.partition;
  if (!Owns(id)) {
    return;
  }
  AssignedPartition& owned = partitions_[id];
  HistoryThread::RaiseOwnerEpoch job{
      .action = action, .source = owned.source, .partition = owned.partition};
  if (poll_.history_thread) {
    // A second one would refuse the ownership issued by the first.
    if (owned.raising != action.epoch) {
      owned.raising = action.epoch;
      poll_.history_thread->Add(std::move(job));
    }
    return;
  }
  if (poll_.parts.window != nullptr) {
    job.owner_epoch = poll_.errors.Window(StoreCall::kRaiseOwnerEpoch, 1, [&] {
      return poll_.parts.window->RaiseOwnerEpoch(owned.source, owned.partition, action.floor);
    });
  } else {
    const auto now = static_cast<OwnerEpoch>(poll_.parts.clock->Wall().micros);
    job.owner_epoch = owned.local_owner_epoch =
        std::max({owned.local_owner_epoch + 1, action.floor, now});
  }
  Raised(job);
}

void AssignedPartitions::Raised(const HistoryThread::RaiseOwnerEpoch& job) {
  const PartitionId id = job.action.partition;
  const Result<OwnerEpoch>& owner_epoch = job.owner_epoch;
  AssignedPartition& owned = partitions_[id];
  owned.raising = owned.raising == job.action.epoch ? 0 : owned.raising;
  const bool fenced = !owner_epoch && owner_epoch.error().code == Code::kFenced;
  poll_.errors.Fenced(FencePlace::kOwnerEpoch, fenced ? 1 : 0);
  if (Runs(id, job.action.epoch)) {
    owned.unowned = owner_epoch ? "" : owner_epoch.error().message;
    Answered(id, owner_epoch ? std::nullopt : std::optional<Error>(owner_epoch.error()));
    poll_.core.OwnerEpochRaised(id, job.action.epoch, owner_epoch, poll_.Now());
  }
}

// The last answer of window or journal for the partition. All failures pass but two. Damage stays,
// without a word. A store with lost writes answers nothing more to this assignment.
void AssignedPartitions::Answered(PartitionId id, const std::optional<Error>& failure) {
  partitions_[id].failed = failure ? failure->message : "";
  if (failure && failure->code == Code::kCorrupt && Owns(id)) {
    poll_.core.Halt(id, failure->message);
  }
  if (failure && failure->code == Code::kLostWrites) {
    partitions_[id].lost_writes = true;
    if (Owns(id)) {
      lost_writes_.push_back(id);
    }
  }
}

void AssignedPartitions::BeginUnprotected(PartitionId id, const PartitionName& name,
                                          const Assignment& assignment) {
  const WindowCapabilities& can = poll_.parts.window->capabilities();
  std::optional<MissingIds>& missing_ids = partitions_[id].missing_ids;
  if (!assignment.missing_ids || !assignment.lost_since || poll_.options.ids_partition_owned ||
      can.level != Level::kOpaque) {
    if (missing_ids && !missing_ids->until) {
      missing_ids.reset();  // another member has ended it
    }
    return;
  }
  const AssignFacts& facts = assignment.facts;
  const OffsetMap& map = facts.metadata.map;
  int64_t to = facts.start;
  to = facts.suspects.empty() ? to : std::max(to, facts.suspects.ranges().back().to);
  to = map.empty() ? to : std::max(to, map.ranges().back().to);
  const bool goes_on = missing_ids && !missing_ids->until;
  missing_ids = {.since = goes_on ? std::min(missing_ids->since, *assignment.lost_since)
                                  : *assignment.lost_since,
                 .to = to,
                 .gap_from = facts.metadata.since,
                 .gap_to = std::max(facts.metadata.since, facts.known_from)};
  Log(LogLevel::kWarn, "runtime",
      "the window has lost ids of the partition: until it knows them again, their copies in other "
      "partitions may run once more, and are not told as uncertain",
      {{"topic", name.topic},
       {"partition", name.partition},
       {"since_ms", poll_.WallAt(missing_ids->since).micros / 1'000},
       {"below_offset", to}});
}

// Finished ids are in the window before the frontier passes them.
void AssignedPartitions::EndUnprotected() {
  for (PartitionId id = 0; id < partitions_.size(); id++) {
    std::optional<MissingIds>& missing_ids = partitions_[id].missing_ids;
    if (!missing_ids || missing_ids->until || !Owns(id) ||
        (poll_.catch_up && poll_.catch_up->Busy(id))) {
      continue;
    }
    const PartitionStatus status = poll_.core.Status(id);
    if (status.phase != PartitionPhase::kActive || status.frontier < missing_ids->to) {
      continue;
    }
    missing_ids->until = poll_.now;
    const PartitionName name = poll_.source->Name(id);
    const int64_t since_ms = poll_.WallAt(missing_ids->since).micros / 1'000;
    const int64_t until_ms = poll_.WallAt(poll_.now).micros / 1'000;
    if (missing_ids->gap_from == missing_ids->gap_to) {
      Log(LogLevel::kWarn, "runtime", "the window knows all ids of the partition again",
          {{"topic", name.topic},
           {"partition", name.partition},
           {"unprotected_since_ms", since_ms},
           {"unprotected_until_ms", until_ms}});
    } else {
      Log(LogLevel::kWarn, "runtime",
          "the window knows the ids of the partition again, except in a gap that was accepted: "
          "copies of the gap's ids may still run once more, and are not told as uncertain",
          {{"topic", name.topic},
           {"partition", name.partition},
           {"unprotected_since_ms", since_ms},
           {"unprotected_until_ms", until_ms},
           {"gap_from", missing_ids->gap_from},
           {"gap_to", missing_ids->gap_to}});
    }
  }
}

void AssignedPartitions::NoteGap(PartitionId id, int64_t from, int64_t to) {
  if (poll_.stores) {
    poll_.stores->RaiseFrom(id, to);
  }
  std::optional<MissingIds>& missing_ids = At(id).missing_ids;
  if (!missing_ids || missing_ids->until || from >= to) {
    return;
  }
  const bool first = missing_ids->gap_from == missing_ids->gap_to;
  missing_ids->gap_from = first ? from : std::min(missing_ids->gap_from, from);
  missing_ids->gap_to = first ? to : std::max(missing_ids->gap_to, to);
}

}  // namespace oncemq
