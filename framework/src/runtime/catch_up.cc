// SPDX-License-Identifier: Apache-2.0
#include "catch_up.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kRetryPause{100'000};

}  // namespace

Status CatchUp::Prepare(int64_t known, int64_t most, bool stop, Assignment& assignment,
                        bool reads_park) {
  AssignFacts& facts = assignment.facts;
  const CatchUpPlan plan = PlanCatchUp(facts, assignment.log, most, reads_park);
  facts.read_from = std::min(facts.start, std::max(plan.from, known));
  if (plan.gap.empty() || known >= facts.start) {
    return {};
  }
  const std::string gap = "the window stays incomplete below offset " +
                          std::to_string(facts.read_from) + ": " + plan.gap;
  if (stop) {
    return Error{Code::kInvalid, Effect::kNone, gap};
  }
  assignment.AddNotice(gap);
  return {};
}

void CatchUp::Begin(PartitionId partition, const AssignFacts& facts) {
  if (partition >= partitions_.size()) {
    partitions_.resize(partition + 1);
  }
  Progress& progress = partitions_[partition];
  progress = Progress{};
  progress.start = facts.start;
  progress.from = progress.to = facts.read_from;
  progress.source = facts.source;
  progress.partition = facts.partition;
  not_done_[partition] = {.skipped = facts.metadata.skipped};
  progress.busy = facts.read_from < facts.start;
  progress.complete = !progress.busy;
  if (progress.busy) {
    Log(LogLevel::kInfo, "runtime", "completing the window from the log",
        {{"partition", facts.partition}, {"from", facts.read_from}, {"to", facts.start}});
  }
}

void CatchUp::End(PartitionId partition, std::vector<void*>& released) {
  if (partition < partitions_.size()) {
    Progress& progress = partitions_[partition];
    for (std::vector<Arrival>* held : {&progress.pending, &progress.behind}) {
      for (const Arrival& arrival : *held) {
        released.push_back(arrival.message);
      }
      held->clear();
    }
    progress.busy = false;
    progress.requested = 0;
    not_done_.erase(partition);
  }
}

std::optional<CatchUp::Left> CatchUp::LeftOf(PartitionId partition) const {
  if (!Busy(partition)) {
    return std::nullopt;
  }
  const Progress& progress = partitions_[partition];
  return Left{progress.from, std::max(progress.from, progress.taken), progress.start};
}

std::optional<Error> CatchUp::FailureOf(PartitionId partition) const {
  return partition < partitions_.size() ? partitions_[partition].failure : std::nullopt;
}

bool CatchUp::Waits(PartitionId partition, OwnerEpoch owner_epoch, BootTime now,
                    std::vector<void*>& released) {
  if (partition >= partitions_.size()) {
    return false;
  }
  Progress& progress = partitions_[partition];
  NoteBegin(progress, now);
  if (progress.pending.empty()) {
    return progress.halted;
  }
  if (now >= progress.retry_at && progress.requested == 0) {
    Put(partition, owner_epoch, now, released);
  }
  return !progress.pending.empty();
}

void CatchUp::GiveBehind(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals) {
  std::vector<Arrival>& behind = partitions_[partition].behind;
  const auto end =
      behind.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(most, behind.size()));
  arrivals.insert(arrivals.end(), behind.begin(), end);
  behind.erase(behind.begin(), end);
}

void CatchUp::Take(PartitionId partition, OwnerEpoch owner_epoch, std::vector<Arrival>& arrivals,
                   BootTime now, std::vector<void*>& released) {
  if (partition >= partitions_.size() || !partitions_[partition].busy) {
    return;
  }
  Progress& progress = partitions_[partition];
  NoteBegin(progress, now);
  const auto end = std::find_if(arrivals.begin(), arrivals.end(), [&](const Arrival& arrival) {
    return arrival.offset >= progress.start;
  });
  const bool last =
      end != arrivals.end() || (!arrivals.empty() && arrivals.back().offset + 1 >= progress.start);
  const NotDone& not_done = not_done_[partition];
  for (auto arrival = arrivals.begin(); arrival != end; ++arrival) {
    if (progress.passes || not_done.Has(arrival->offset)) {
      released.push_back(arrival->message);
    } else {
      progress.pending.push_back(*arrival);
    }
  }
  progress.taken = last               ? progress.start
                   : arrivals.empty() ? progress.taken
                                      : arrivals.back().offset + 1;
  arrivals.erase(arrivals.begin(), end);
  progress.busy = !last;
  if (!progress.pending.empty()) {
    Put(partition, owner_epoch, now, released);
  } else if (last) {
    Finish(progress, now);
  }
  if (!progress.pending.empty()) {
    progress.behind.swap(arrivals);
    arrivals.clear();
  }
}

void CatchUp::Put(PartitionId partition, OwnerEpoch owner_epoch, BootTime now,
                  std::vector<void*>& released) {
  Progress& progress = partitions_[partition];
  requests_.clear();
  for (const Arrival& arrival : progress.pending) {
    if (!arrival.id.empty()) {
      // Refused messages are passed over. So the first copy of an id is the one that ran, and the
      // window takes the first.
      const Coordinates at{progress.source, progress.partition, arrival.offset};
      requests_.push_back({arrival.id, at, owner_epoch, arrival.time, arrival.fingerprint});
    }
  }
  changes_.assign(requests_.size(), MarkerChange::kMade);
  if (history_thread_ != nullptr) {
    HistoryThread::Restore job{.partition = partition,
                               .number = progress.requested = ++last_request_,
                               .requests = requests_,
                               .changes = changes_};
    job.ids.reserve(requests_.size());
    for (RestoreRequest& request : job.requests) {  // the messages may go before the answer comes
      request.id = job.ids.emplace_back(request.id);
    }
    history_thread_->Add(std::move(job));
    return;
  }
  const Status restored = errors_.Window(StoreCall::kRestore, requests_.size(),
                                         [this] { return window_->Restore(requests_, changes_); });
  Take(progress, restored, now, released);
}

void CatchUp::Restored(const HistoryThread::Restore& answer, BootTime now,
                       std::vector<void*>& released) {
  Progress& progress = partitions_[answer.partition];
  if (progress.requested != answer.number) {
    return;  // of an assignment that is over
  }
  progress.requested = 0;
  requests_ = answer.requests;
  changes_ = answer.changes;
  Take(progress, answer.made, now, released);
}

// The answers to requests_ are in changes_.
void CatchUp::Take(Progress& progress, const Status& restored, BootTime now,
                   std::vector<void*>& released) {
  progress.failure.reset();
  if (!restored) {
    progress.failure = restored.error();
    progress.retry_at = now + kRetryPause;
    return;
  }
  const size_t refused = KeepRefused(progress, released);
  progress.to = progress.pending.empty() ? progress.taken : progress.to;
  const auto count = static_cast<int64_t>(requests_.size() - refused);
  progress.count += count;
  restored_ += count;
  if (refused > 0) {
    progress.retry_at = now + kRetryPause;
    if (!std::exchange(progress.logged, true)) {
      Log(LogLevel::kWarn, "runtime",
          "ids below the start may still be running; the partition waits for them",
          {{"partition", progress.partition}, {"ids", refused}});
    }
  } else if (!progress.busy) {
    Finish(progress, now);
  }
}

// Of what was just sent, keeps what the window left alone; how many.
size_t CatchUp::KeepRefused(Progress& progress, std::vector<void*>& released) {
  size_t kept = 0;
  size_t request = 0;
  for (const Arrival& arrival : progress.pending) {
    const bool sent = !arrival.id.empty();
    if (sent && changes_[request++] != MarkerChange::kMade) {
      progress.pending[kept++] = arrival;
    } else {
      released.push_back(arrival.message);
    }
  }
  progress.pending.resize(kept);
  return kept;
}

// Before a start right after a hole, no message tells by its offset that it is the last one.
void CatchUp::ReadTo(PartitionId partition, int64_t end, BootTime now) {
  if (partition >= partitions_.size()) {
    return;
  }
  Progress& progress = partitions_[partition];
  if (!progress.busy || end < progress.start) {
    return;
  }
  progress.busy = false;
  progress.taken = progress.start;
  if (progress.pending.empty()) {
    Finish(progress, now);
  }
}

// The log moves on under the reading: retention does not wait for it.
void CatchUp::Gap(PartitionId partition, int64_t from, int64_t to, BootTime now) {
  if (partition >= partitions_.size() || !partitions_[partition].busy) {
    return;
  }
  Progress& progress = partitions_[partition];
  Log(LogLevel::kWarn, "runtime",
      "records below the start went from the log while they were read: the window stays incomplete "
      "there, copies of their ids will run again",
      {{"partition", progress.partition}, {"from", from}, {"to", to}});
  progress.gap = true;
  progress.busy = to < progress.start;
  if (!progress.busy && progress.pending.empty()) {
    Finish(progress, now);
  }
}

// Of the reading: what comes before it, the ownership above all, is no part of its time.
void CatchUp::NoteBegin(Progress& progress, BootTime now) {
  if (progress.began == BootTime{}) {
    progress.began = now;
  }
}

bool CatchUp::Overdue(PartitionId partition, BootTime now, milliseconds most) const {
  if (most == milliseconds(0) || partition >= partitions_.size()) {
    return false;
  }
  const Progress& progress = partitions_[partition];
  return progress.busy && progress.began != BootTime{} && !progress.passes && !progress.halted &&
         now - progress.began > most;
}

std::pair<int64_t, int64_t> CatchUp::PassOver(PartitionId partition) {
  Progress& progress = partitions_[partition];
  progress.passes = progress.gap = true;
  return {std::max(progress.to, progress.taken), progress.start};
}

void CatchUp::Finish(Progress& progress, BootTime now) {
  progress.complete = !progress.gap;
  const auto took = std::chrono::duration_cast<milliseconds>(now - progress.began);
  Log(LogLevel::kInfo, "runtime",
      progress.complete ? "the window knows all that the commit calls finished"
                        : "the window is as complete as log and time allow",
      {{"partition", progress.partition}, {"ids", progress.count}, {"ms", took.count()}});
}

int64_t CatchUp::KnownTo(PartitionId partition, int64_t offset) const {
  return Busy(partition) ? std::min(partitions_[partition].to, offset) : offset;
}

int64_t CatchUp::KnownUpTo(PartitionId partition, int64_t frontier) const {
  return partition < partitions_.size() && partitions_[partition].complete ? frontier : 0;
}

}  // namespace oncemq
