// SPDX-License-Identifier: Apache-2.0
#include "commit_flight.h"

#include <algorithm>
#include <utility>

#include "assigned_partitions.h"

namespace oncemq {

void CommitFlight::Announced(bool of_this_assignment) {
  announcing_--;
  if (of_this_assignment) {
    with_store_since_.reset();
  }
}

// While its commit may still land, nobody else may have it: it goes when we leave the group. One
// that waits for the disk, or was asked for a moment ago, is never sent; one before it may have
// been, and have got no answer.
bool CommitFlight::End(bool leave_group, bool dropped) {
  const bool unsent = dropped || with_store_since_;
  in_doubt_ = leave_group && (!unsent || unknown_);
  return in_doubt_;
}

void CommitFlights::Ask(CommitAction commit) {
  // An assignment that was lost after the core asked must not be committed any more.
  if (partitions_.Runs(commit.partition, commit.epoch)) {
    asked_.push_back(std::move(commit));
  }
}

void CommitFlights::Send() {
  for (CommitAction& commit : asked_) {
    if (!Announce(commit)) {
      ready_.push_back(std::move(commit));
    }
  }
  asked_.clear();
  if (!ready_.empty()) {
    poll_.source->Commit(ready_);
    ready_.clear();
  }
}

// False: there is nothing to announce.
bool CommitFlights::Announce(CommitAction& commit) {
  const PartitionId id = commit.partition;
  const int64_t known_to =
      poll_.catch_up ? poll_.catch_up->KnownTo(id, commit.offset) : commit.offset;
  auto announcement = poll_.stores ? Plan(*poll_.stores, commit, known_to) : std::nullopt;
  if (!announcement) {
    return false;
  }
  announcement->own = poll_.core.Status(id).own;
  const std::optional<WindowLack>& lack = partitions_[id].lack;
  announcement->whole = !lack || lack->until;
  partitions_[id].flight.Announce(poll_.now);
  poll_.desk->Add(WindowDesk::Announce{std::move(commit), *announcement, {}});
  return true;
}

std::optional<Announcement> CommitFlights::Plan(WindowStores& stores, const CommitAction& commit,
                                                int64_t known_to) {
  OpenStore* const found = stores.Find(commit.partition);
  if (found == nullptr) {
    return std::nullopt;
  }
  OpenStore& store = *found;
  store.number = commit.number;
  store.progress = {.source = store.source,
                    .partition = store.partition,
                    .frontier = commit.offset,
                    .watermark = commit.watermark,
                    .incarnation = store.incarnation};
  // While what can be read is not read yet, less is known than will be: or a reading that breaks
  // off would count as one that has ended.
  return Announcement{.source = store.source,
                      .partition = store.partition,
                      .from = std::min(store.known_from, known_to),
                      .to = known_to,
                      .offset = commit.offset,
                      .metadata = commit.metadata};
}

// An announced commit is sent; another one is tried again later, as if the broker were silent, or
// under a new ownership.
void CommitFlights::Announced(WindowDesk::Announce& job) {
  const PartitionId id = job.commit.partition;
  // Announced or not, it must not be sent for an assignment that has ended meanwhile.
  const bool ours = partitions_.Runs(id, job.commit.epoch);
  partitions_[id].flight.Announced(ours);
  if (!ours) {
    return;
  }
  if (job.made) {
    partitions_.Answered(id, std::nullopt);
    ready_.push_back(std::move(job.commit));
  } else {
    partitions_.Answered(id, job.made.error());
    const bool fenced = job.made.error().code == Code::kFenced;
    poll_.core.CommitAnswered(id, job.commit.number,
                              fenced ? CommitReply::kFenced : CommitReply::kNotSent, poll_.now);
  }
}

// A commit from the same batch of actions as the give-back: its store is closed, so that it could
// not be announced any more.
bool CommitFlights::End(const GiveBackAction& action) {
  const auto dropped = std::erase_if(
      asked_, [&](const CommitAction& commit) { return commit.partition == action.partition; });
  return partitions_[action.partition].flight.End(action.leave_group, dropped > 0);
}

void CommitFlights::Answered(PartitionId partition, uint64_t number, CommitReply reply) {
  if (poll_.stores && reply == CommitReply::kAcknowledged) {
    Acknowledged(*poll_.stores, partition, number, poll_.core.Status(partition).own);
  }
  if (partitions_.Owns(partition)) {
    partitions_[partition].flight.Answered(reply);
  }
  poll_.core.CommitAnswered(partition, number, reply, poll_.now);
}

void CommitFlights::Acknowledged(WindowStores& stores, PartitionId partition, uint64_t number,
                                 Own own) {
  OpenStore* const store = stores.Find(partition);
  if (store != nullptr && store->number == number) {
    Progress progress = store->progress;
    progress.own = own;
    stores.Tell(progress);
  }
}

}  // namespace oncemq
