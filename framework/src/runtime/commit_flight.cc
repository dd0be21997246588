// SPDX-License-Identifier: Apache-2.0
#include "commit_flight.h"

#include <algorithm>
#include <utility>

#include "assigned_partitions.h"

namespace oncemq {

void CommitFlight::Request(CommitAction commit) {
  // Nothing is committed for an assignment lost after the core asked.
  if (partitions_.Runs(commit.partition, commit.epoch)) {
    State& flight = partitions_[commit.partition].flight;
    flight.requested = commit.number;
    flight.requested_at = poll_.now;
    requested_.push_back(std::move(commit));
  }
}

void CommitFlight::Send() {
  for (CommitAction& commit : requested_) {
    if (!Announce(commit)) {
      ready_.push_back(std::move(commit));
    }
  }
  requested_.clear();
  if (!ready_.empty()) {
    poll_.source->Commit(ready_);
    ready_.clear();
  }
}

// False: there is nothing to announce.
bool CommitFlight::Announce(CommitAction& commit) {
  const PartitionId id = commit.partition;
  const int64_t known_to =
      poll_.catch_up ? poll_.catch_up->KnownTo(id, commit.offset) : commit.offset;
  auto announcement = poll_.stores ? Plan(*poll_.stores, commit, known_to) : std::nullopt;
  if (!announcement) {
    return false;
  }
  announcement->owner_epoch = poll_.core.Status(id).owner_epoch;
  const std::optional<MissingIds>& missing_ids = partitions_[id].missing_ids;
  announcement->complete = !missing_ids || missing_ids->until;
  partitions_[id].flight.announcing++;
  partitions_[id].flight.with_store_since = poll_.now;
  poll_.history_thread->Add(HistoryThread::Announce{std::move(commit), *announcement, {}});
  return true;
}

std::optional<Announcement> CommitFlight::Plan(WindowStores& stores, const CommitAction& commit,
                                               int64_t known_to) {
  OpenStore* const found = stores.Find(commit.partition);
  if (found == nullptr) {
    return std::nullopt;
  }
  OpenStore& store = *found;
  store.number = commit.number;
  store.progress.frontier = commit.offset;
  store.progress.watermark = commit.watermark;
  // While a catch-up reads, less is known than will be. A reading may break off, and must not count
  // as whole.
  return Announcement{.source = store.progress.source,
                      .partition = store.progress.partition,
                      .from = std::min(store.known_from, known_to),
                      .to = known_to,
                      .offset = commit.offset,
                      .metadata = commit.metadata};
}

// Without an announcement the core tries again later, as after a silent broker, or under a new
// ownership.
void CommitFlight::Announced(HistoryThread::Announce& job) {
  const PartitionId id = job.commit.partition;
  State& flight = partitions_[id].flight;
  flight.announcing--;
  // Announced or not, it is not sent for an assignment of the past.
  if (!partitions_.Runs(id, job.commit.epoch)) {
    return;
  }
  flight.with_store_since.reset();
  if (job.made) {
    partitions_.Answered(id, std::nullopt);
    ready_.push_back(std::move(job.commit));
  } else {
    partitions_.Answered(id, job.made.error());
    const bool fenced = job.made.error().code == Code::kFenced;
    poll_.errors.Fenced(FencePlace::kCommit, fenced ? 1 : 0);
    poll_.core.CommitAnswered(id, job.commit.number,
                              fenced ? CommitReply::kFenced : CommitReply::kNotSent, poll_.now);
  }
}

// While a commit may still land, no other member may have the partition: it goes when we leave the
// group. Nothing is sent after the give-back, neither from the same batch of actions nor from the
// disk. An earlier commit may have been sent, and have got no answer.
bool CommitFlight::End(const GiveBackAction& action) {
  State& flight = partitions_[action.partition].flight;
  const auto dropped = std::erase_if(
      requested_, [&](const CommitAction& commit) { return commit.partition == action.partition; });
  const bool unsent = dropped > 0 || flight.with_store_since;
  flight.in_doubt = action.leave_group && (!unsent || flight.unknown);
  return flight.in_doubt;
}

void CommitFlight::Answered(PartitionId partition, uint64_t number, CommitReply reply) {
  if (poll_.stores && reply == CommitReply::kAcknowledged) {
    Acknowledged(*poll_.stores, partition, number, poll_.core.Status(partition).owner_epoch);
  }
  poll_.errors.Fenced(FencePlace::kCommit, reply == CommitReply::kRefused ? 1 : 0);
  if (partitions_.Owns(partition)) {
    State& flight = partitions_[partition].flight;
    flight.unknown = reply == CommitReply::kUnknown;
    if (reply == CommitReply::kAcknowledged && flight.requested == number) {
      poll_.times.commit.Observe(poll_.now - flight.requested_at);
    }
  }
  poll_.core.CommitAnswered(partition, number, reply, poll_.now);
}

void CommitFlight::Acknowledged(WindowStores& stores, PartitionId partition, uint64_t number,
                                OwnerEpoch owner_epoch) {
  OpenStore* const store = stores.Find(partition);
  if (store != nullptr && store->number == number) {
    Progress progress = store->progress;
    progress.owner_epoch = owner_epoch;
    stores.NotifyCommitted(progress);
  }
}

}  // namespace oncemq
