// SPDX-License-Identifier: Apache-2.0
// The way of a commit through the poll loop: the core asks for it, the store is told what it will
// be, it is sent, and answered (rule 27).
#include <utility>

#include "poll_loop.h"

namespace oncemq {

void PollLoop::Do(CommitAction& action) {
  // An assignment that was lost after the core asked must not be committed any more.
  if (partitions_.Owns(action.partition) &&
      poll_.core.Status(action.partition).epoch == action.epoch) {
    commits_.push_back(std::move(action));
  }
}

void PollLoop::SendCommits() {
  if (poll_.stores) {
    std::vector<CommitAction> unannounced;
    for (CommitAction& commit : commits_) {
      const int64_t known_to =
          poll_.catch_up ? poll_.catch_up->KnownTo(commit.partition, commit.offset) : commit.offset;
      auto announcement = poll_.stores->Plan(commit, known_to);
      if (announcement) {
        announcement->own = poll_.core.Status(commit.partition).own;
        const std::optional<WindowLack>& lack = partitions_[commit.partition].lack;
        announcement->whole = !lack || lack->until;
        partitions_[commit.partition].waits_for_disk = true;
        partitions_[commit.partition].disk_since = poll_.now;
        partitions_[commit.partition].announcing++;
        poll_.desk->Add(WindowDesk::Announce{std::move(commit), *announcement, {}});
      } else {
        unannounced.push_back(std::move(commit));
      }
    }
    commits_.swap(unannounced);
  }
  if (!commits_.empty()) {
    poll_.source->Commit(commits_);
  }
}

bool PollLoop::TakeAnswers() {
  answers_.clear();
  if (!poll_.desk || !poll_.desk->Take(answers_)) {
    return false;
  }
  commits_.clear();
  for (WindowDesk::Job& job : answers_) {
    std::visit([this](auto& one) { Answer(one); }, job);
  }
  if (!commits_.empty()) {
    poll_.source->Commit(commits_);
  }
  return true;
}

// An announced commit is sent; another one is tried again later, as if the broker were silent, or
// under a new ownership.
void PollLoop::Answer(WindowDesk::Announce& job) {
  const CommitAction& commit = job.commit;
  partitions_[commit.partition].announcing--;
  // Announced or not, it must not be sent for an assignment that has ended meanwhile.
  if (!partitions_.Owns(commit.partition) ||
      poll_.core.Status(commit.partition).epoch != commit.epoch) {
    return;
  }
  partitions_[commit.partition].waits_for_disk = false;
  if (job.made) {
    partitions_.Answered(commit.partition, std::nullopt);
    commits_.push_back(std::move(job.commit));
  } else {
    partitions_.Answered(commit.partition, job.made.error());
    const bool fenced = job.made.error().code == Code::kFenced;
    poll_.core.CommitAnswered(commit.partition, commit.number,
                              fenced ? CommitReply::kFenced : CommitReply::kNotSent, poll_.now);
  }
}

// A commit from the same batch of actions as the give-back: its store is closed, so that it could
// not be announced any more. True: there was one.
bool PollLoop::Unsend(PartitionId partition) {
  return std::erase_if(commits_, [partition](const CommitAction& commit) {
           return commit.partition == partition;
         }) > 0;
}

void PollLoop::CommitAnswered(PartitionId partition, uint64_t number, CommitReply reply) {
  if (poll_.stores && reply == CommitReply::kAcknowledged) {
    const auto progress =
        poll_.stores->Acknowledged(partition, number, poll_.core.Status(partition).own);
    if (progress) {
      poll_.stores->Tell(*progress);
    }
  }
  if (partitions_.Owns(partition)) {
    partitions_[partition].unknown = reply == CommitReply::kUnknown;
  }
  poll_.core.CommitAnswered(partition, number, reply, poll_.now);
}

}  // namespace oncemq
