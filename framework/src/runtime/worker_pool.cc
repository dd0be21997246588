// SPDX-License-Identifier: Apache-2.0
#include "worker_pool.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "crew.h"
#include "keeper.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr uint32_t kBatchHere = 128;       // fits a cache; no hand-off has to be paid for
constexpr uint32_t kBatchesPerWorker = 2;  // one at work, one waiting
constexpr double kBatchMicros = 5'000;     // the most for a batch of slow handlers
constexpr double kLeastBatchMicros = 100;  // less is not worth the way to another thread
constexpr microseconds kDemotionMemory{
    60'000'000};  // one demotion a minute may be the machine's fault

int64_t LowestOf(const std::vector<BatchItem>& items) {
  int64_t lowest = -1;
  for (const BatchItem& item : items) {
    const bool lower = lowest < 0 || item.at.offset < lowest;
    lowest = lower && !item.redriven ? item.at.offset : lowest;
  }
  return lowest;
}

}  // namespace

// Without any thread for them, handlers stay on the poll thread.
void WorkerPool::Employ(uint32_t workers) {
  workers_ = poll_.parts.crew->StartWorkers(workers);
  if (workers_ < workers) {
    Log(LogLevel::kError, "runtime", "there are fewer workers than were asked for",
        {{"workers", workers_}, {"asked", workers}});
  }
}

void WorkerPool::TakeOver() {
  if (here_ == nullptr) {
    return;
  }
  const bool another_hangs = !out_.empty();
  out_.push_back(std::move(here_));
  here_ = nullptr;
  const BootTime before = demoted_at_.value_or(BootTime::min());
  demoted_at_ = poll_.Now();
  // Each hang costs the polling thread, and no more are added for each of them.
  const bool again =
      another_hangs || (before != BootTime::min() && poll_.now < before + kDemotionMemory);
  if (again) {
    Employ(std::max(1u, poll_.options.workers_when_blocking));
  }
  Log(LogLevel::kWarn, "runtime",
      again ? "handlers block: from now on they run on workers"
            : "handlers kept the poll thread beyond its budget; another thread polls",
      {{"budget_ms", poll_.options.poll_budget.count()}, {"workers", workers_}});
}

std::optional<JobPtr> WorkerPool::RunHere() {
  JobPtr job = Take(kBatchHere, /*here=*/true);
  if (job == nullptr) {
    return nullptr;
  }
  here_ = job;
  Crew& crew = *poll_.parts.crew;
  if (crew.Drive(*job) == Driven::kAbandoned) {
    return std::nullopt;
  }
  if (job->watch.demoted()) {
    crew.PutBack(std::move(job));
    return std::nullopt;
  }
  here_ = nullptr;
  return job;
}

bool WorkerPool::HandOver() {
  bool any = false;
  while (with_workers_ < uint64_t{workers_} * kBatchesPerWorker) {
    JobPtr job = Take(FittingBatch(), /*here=*/false);
    if (job == nullptr) {
      break;
    }
    job->facts.size = static_cast<uint32_t>(job->batch.items.size());
    with_workers_++;
    out_.push_back(job);
    poll_.parts.crew->HandOver(std::move(job));
    any = true;
  }
  return any;
}

// nullptr if the core has no batch.
JobPtr WorkerPool::Take(uint32_t most, bool here) {
  if (idle_.empty()) {
    // Machines share the process half of their tokens. The number of the job tells attempts apart.
    const TokenSource tokens(poll_.parts.process, (uint64_t{jobs_.size()} << 40) + 1);
    idle_.push_back(std::make_shared<Job>(poll_.options.policy, tokens, poll_.source->NewView()));
    jobs_.push_back(idle_.back());
    poll_.parts.keeper->Watch(idle_.back());
  }
  JobPtr& next = idle_.back();
  if (!poll_.core.TakeBatch(next->batch, poll_.Now(), most)) {
    return nullptr;
  }
  JobPtr job = std::move(next);
  idle_.pop_back();
  for (const microseconds late : job->batch.late) {
    poll_.times.retry_lateness.Observe(late);
  }
  job->partition = job->batch.items.front().partition;
  job->assignment = partitions_[job->partition].assignments;
  job->facts.lowest = LowestOf(job->batch.items);
  job->facts.called.store(-1, std::memory_order_relaxed);
  job->facts.at.store(Holder::kTurn, std::memory_order_relaxed);
  job->watch.Reset(/*on_poll_thread=*/here, job->batch.safe_until);
  job->drain_by = BootTime::max();
  job->on_worker = !here;
  poll_.parts.keeper->Nudge();
  return job;
}

// How many messages to hand over at once. Many are worth the hand-off, and few share the work of
// slow handlers among all workers.
uint32_t WorkerPool::FittingBatch() const {
  const double cost = std::max(cost_, 0.01);
  const uint32_t idle = with_workers_ < workers_ ? workers_ - with_workers_ : 1;
  const double ready = poll_.core.load().unfinished - poll_.core.load().running;
  const double share = std::ceil(ready / static_cast<double>(idle));
  return static_cast<uint32_t>(std::clamp(share, std::max(1.0, kLeastBatchMicros / cost),
                                          std::max(1.0, kBatchMicros / cost)));
}

std::vector<JobPtr>& WorkerPool::TakeBack() {
  returned_.clear();
  poll_.parts.crew->TakeBack(returned_);
  for (const JobPtr& job : returned_) {
    std::erase(out_, job);
    with_workers_ -= job->on_worker && !job->stood_in ? 1 : 0;
    job->stood_in = job->no_spare_logged = false;
    if (job->facts.size > 0) {
      cost_ =
          0.75 * cost_ + 0.25 * static_cast<double>(job->calls.total().count()) / job->facts.size;
      job->facts.size = 0;
    }
  }
  return returned_;
}

bool WorkerPool::InUse(PartitionId partition) const {
  return std::any_of(out_.begin(), out_.end(),
                     [&](const JobPtr& job) { return job->partition == partition; });
}

Holder WorkerPool::WhereIs(PartitionId partition, int64_t offset) const {
  const auto found = std::ranges::find_if(out_, [&](const JobPtr& job) {
    // The others of a batch are settled while one call lasts.
    const bool its =
        job->facts.lowest == offset || job->facts.called.load(std::memory_order_relaxed) == offset;
    return job->partition == partition && its;
  });
  if (found == out_.end()) {
    return Holder::kNone;
  }
  const Job& job = **found;
  return job.locks.waits() ? Holder::kLock : job.facts.at.load(std::memory_order_relaxed);
}

// In batches of the partition no further handler starts. The present one has to stop at `stop_at`.
void WorkerPool::StopBatchesOf(PartitionId partition, BootTime stop_at) {
  for (const JobPtr& job : out_) {
    if (job->partition == partition) {
      job->drain_by = std::min(job->drain_by, stop_at);
      job->watch.SetStopAt(job->drain_by);
      job->watch.StopHandling();
    }
  }
}

// A long handler may run while commits keep the partition ours. The other messages of its batch do
// not wait for it.
void WorkerPool::CheckSlowBatches() {
  std::vector<Settlement> settled;
  for (const JobPtr& job : out_) {
    if (job->watch.SettleOthers(poll_.now, poll_.options.poll_budget, settled)) {
      job->facts.size = 1;
    }
    StandIn(job);
    // Before it is confirmed a partition runs nothing. Its jobs are of an ended assignment, and
    // drain_by is their limit.
    const BootTime safe = poll_.core.SafeUntil(job->partition);
    const bool ours = partitions_.Owns(job->partition) && safe != BootTime{};
    job->watch.SetStopAt(ours ? std::min(job->drain_by, safe) : job->drain_by);
  }
  poll_.core.Settle(settled, poll_.now);
}

// A hanging handler takes its worker away from the other keys.
void WorkerPool::StandIn(const JobPtr& job) {
  if (!job->on_worker || !job->watch.Hangs(poll_.now, poll_.options.hang_after)) {
    return;
  }
  switch (poll_.parts.crew->StandInFor(job)) {
    case Crew::Stand::kIn:
      with_workers_--;
      stood_in_++;
      Log(LogLevel::kWarn, "runtime", "a handler hangs; another worker stands in for its thread",
          {{"hang_after_ms", poll_.options.hang_after.count()}, {"in_total", stood_in_}});
      break;
    case Crew::Stand::kNotNeeded:
      break;
    case Crew::Stand::kNobodyLeft:
      if (!std::exchange(job->no_spare_logged, true)) {
        Log(LogLevel::kError, "runtime", "a handler hangs, and no worker is left to stand in",
            {{"hang_after_ms", poll_.options.hang_after.count()},
             {"spare_workers", poll_.options.spare_workers}});
      }
      break;
  }
}

}  // namespace oncemq
