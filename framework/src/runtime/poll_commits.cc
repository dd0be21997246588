// SPDX-License-Identifier: Apache-2.0
// The way of a commit through the poll loop: the core asks for it, the store is told what it will
// be, it is sent, and answered (rule 27).
#include <utility>

#include "poll_loop.h"

namespace oncemq {

void PollLoop::Do(CommitAction& action) {
  // An assignment that was lost after the core asked must not be committed any more.
  if (Owns(action.partition) && core_.Status(action.partition).epoch == action.epoch) {
    commits_.push_back(std::move(action));
  }
}

void PollLoop::SendCommits() {
  if (stores_) {
    std::vector<CommitAction> unannounced;
    for (CommitAction& commit : commits_) {
      const int64_t known_to =
          catch_up_ ? catch_up_->KnownTo(commit.partition, commit.offset) : commit.offset;
      auto announcement = stores_->Plan(commit, known_to);
      if (announcement) {
        announcement->own = core_.Status(commit.partition).own;
        const std::optional<Lack>& lack = owned_[commit.partition].lack;
        announcement->whole = !lack || lack->until;
        owned_[commit.partition].waits_for_disk = true;
        owned_[commit.partition].disk_since = now_;
        owned_[commit.partition].announcing++;
        desk_->Add(WindowDesk::Announce{std::move(commit), *announcement, {}});
      } else {
        unannounced.push_back(std::move(commit));
      }
    }
    commits_.swap(unannounced);
  }
  if (!commits_.empty()) {
    source_->Commit(commits_);
  }
}

bool PollLoop::TakeAnswers() {
  answers_.clear();
  if (!desk_ || !desk_->Take(answers_)) {
    return false;
  }
  commits_.clear();
  for (WindowDesk::Job& job : answers_) {
    std::visit([this](auto& one) { Answer(one); }, job);
  }
  if (!commits_.empty()) {
    source_->Commit(commits_);
  }
  return true;
}

// An announced commit is sent; another one is tried again later, as if the broker were silent, or
// under a new ownership.
void PollLoop::Answer(WindowDesk::Announce& job) {
  const CommitAction& commit = job.commit;
  owned_[commit.partition].announcing--;
  // Announced or not, it must not be sent for an assignment that has ended meanwhile.
  if (!Owns(commit.partition) || core_.Status(commit.partition).epoch != commit.epoch) {
    return;
  }
  owned_[commit.partition].waits_for_disk = false;
  if (job.made) {
    Answered(commit.partition, std::nullopt);
    commits_.push_back(std::move(job.commit));
  } else {
    Answered(commit.partition, job.made.error());
    const bool fenced = job.made.error().code == Code::kFenced;
    core_.CommitAnswered(commit.partition, commit.number,
                         fenced ? CommitReply::kFenced : CommitReply::kNotSent, now_);
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
  if (stores_ && reply == CommitReply::kAcknowledged) {
    const auto progress = stores_->Acknowledged(partition, number, core_.Status(partition).own);
    if (progress) {
      stores_->Tell(*progress);
    }
  }
  if (Owns(partition)) {
    owned_[partition].unknown = reply == CommitReply::kUnknown;
  }
  core_.CommitAnswered(partition, number, reply, now_);
}

}  // namespace oncemq
