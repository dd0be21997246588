// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "oncemq/base/outage.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {

Keeper::Keeper(const Options& options, Window* window, const Clock& clock, StoreErrors& errors,
               StopCaller& stops, std::function<bool()> take_over)
    : options_(options),
      window_(window),
      clock_(clock),
      errors_(errors),
      stops_(stops),
      take_over_(std::move(take_over)) {}

bool Keeper::Start() {
  if (options_.remote && window_ != nullptr) {
    renewer_ = StartThread("oncemq-renewer", [this] { RunRenewals(); });
  }
  thread_ = StartThread("oncemq-keeper", [this] { Run(); });
  return thread_.has_value();
}

Keeper::~Keeper() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    renewal_due_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
  if (renewer_) {
    renewer_->join();
  }
}

void Keeper::Watch(JobPtr job) {
  MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
}

void Keeper::Nudge() {
  // Sequentially consistent on both sides: either the keeper sees the nudge, or we see that it
  // sleeps.
  nudges_.fetch_add(1);
  if (asleep_.load()) {
    MutexLock lock(mutex_);
    changed_.notify_all();
  }
}

void Keeper::Run() {
  const microseconds tick =
      std::clamp<microseconds>(options_.poll_budget / 4, milliseconds(2), milliseconds(50));
  uint64_t seen = 0;
  std::vector<JobPtr> jobs;
  for (;;) {
    {
      MutexLock lock(mutex_);
      jobs = jobs_;
    }
    bool under_way = false;
    for (const JobPtr& job : jobs) {
      under_way |= Check(job);
    }
    QueueRenewals();
    MutexLock lock(mutex_);
    if (ending_) {
      return;
    }
    if (under_way || nudges_.load() != seen) {
      seen = nudges_.load();
      changed_.wait_for(mutex_, tick);
      continue;
    }
    asleep_.store(true);
    while (!ending_ && nudges_.load() == seen) {
      changed_.wait(mutex_);
    }
    asleep_.store(false);
  }
}

bool Keeper::Check(const JobPtr& job) {
  const BootTime now = clock_.Boot();
  const uint64_t round = job->claims_end.round();  // before the look: of no later batch
  BatchWatch::Due due = job->watch.Tick(now, options_.renew_every);
  if (due.stop_due) {
    NotifyStop(*job, due.stop);
  }
  if (!due.renew.empty() && window_ != nullptr) {
    due_.push_back({job, std::move(due.renew), std::move(due.stop), round});
  }
  // Nobody polls until somebody takes over, so a system without threads is asked again.
  take_over_due_ |= job->watch.Demote(now, options_.poll_budget);
  if (take_over_due_ && take_over_()) {
    take_over_due_ = false;
  }
  return due.under_way || take_over_due_;
}

// Not here: the user's callbacks may block, and all other batches need the keeper.
void Keeper::NotifyStop(Job& job, const std::stop_source& stop) {
  if (job.watch.NotifyStop(stop) && !stops_.Request(stop)) {
    job.watch.StopFailed(stop);
  }
}

// A slow server delays no stop and no take-over. On disk each batch is renewed by itself: a store
// of one partition that fails says nothing about the others.
void Keeper::QueueRenewals() {
  if (due_.empty()) {
    return;
  }
  if (renewer_) {
    MutexLock lock(mutex_);
    std::move(due_.begin(), due_.end(), std::back_inserter(renewals_));
    renewal_due_.notify_one();
  } else {
    for (const Renewal& renewal : due_) {
      Renew({&renewal, 1});
    }
  }
  due_.clear();
}

void Keeper::RenewOwed(std::vector<HeldClaim> claims) {
  if (claims.empty() || !renewer_) {
    return;
  }
  // One for each partition, since the loss of one says nothing about the others.
  std::map<std::pair<uint32_t, int32_t>, std::vector<HeldClaim>> by_partition;
  for (HeldClaim& claim : claims) {
    by_partition[{claim.at.source, claim.at.partition}].push_back(std::move(claim));
  }
  MutexLock lock(mutex_);
  for (auto& [partition, its] : by_partition) {
    renewals_.push_back({nullptr, std::move(its)});
  }
  renewal_due_.notify_one();
}

void Keeper::RunRenewals() {
  std::vector<Renewal> renewals;
  for (;;) {
    renewals.clear();
    {
      MutexLock lock(mutex_);
      renewal_due_.wait(mutex_,
                        [this]() REQUIRES(mutex_) { return ending_ || !renewals_.empty(); });
      if (ending_) {
        return;
      }
      renewals.swap(renewals_);
    }
    Renew(renewals);
  }
}

void Keeper::Renew(std::span<const Renewal> renewals) {
  if (const Status renewed = SendRenewals(renewals); !renewed) {
    Split(renewals, renewed.error());
  }
}

// The failure may be of one renewal. A loss in a partition is found by a call for each. A row that
// somebody has locked looks like an outage, where each call may take seconds. So halves are asked,
// and a half that fails is split again if the other one did not: an outage costs two calls more,
// one such row among 16 batches eight. Locked rows in both halves pass for an outage.
void Keeper::Split(std::span<const Renewal> renewals, const Error& why) {
  if (renewals.size() <= 1) {
    return NotRenewed(renewals, why);
  }
  if (!IsTransient(why)) {
    for (const Renewal& renewal : renewals) {
      Renew({&renewal, 1});
    }
    return;
  }
  const size_t half = renewals.size() / 2;
  const std::array halves{renewals.first(half), renewals.subspan(half)};
  const std::array answers{SendRenewals(halves[0]), SendRenewals(halves[1])};
  const bool outage = std::all_of(answers.begin(), answers.end(), [](const Status& one) {
    return !one && IsTransient(one.error());
  });
  for (size_t i = 0; i < halves.size(); i++) {
    if (!answers[i]) {
      outage ? NotRenewed(halves[i], answers[i].error()) : Split(halves[i], answers[i].error());
    }
  }
}

// A batch is told to stop if one of its claims belongs to somebody else now.
Status Keeper::SendRenewals(std::span<const Renewal> renewals) {
  std::vector<RenewRequest> requests;
  for (const Renewal& renewal : renewals) {
    for (const HeldClaim& claim : renewal.claims) {
      requests.push_back({claim.id, claim.token, claim.at});
    }
  }
  std::vector<MarkerChange> changes(requests.size());
  const BootTime sent = clock_.Boot();
  const Status renewed = errors_.Window(StoreCall::kRenew, requests.size(),
                                        [&] { return window_->Renew(requests, changes); });
  const auto fenced_claims = std::ranges::count(changes, MarkerChange::kFenced);
  errors_.Fenced(FencePlace::kRenew, renewed ? static_cast<size_t>(fenced_claims) : 0);
  auto change = changes.begin();
  for (const Renewal& renewal : renewals) {
    const auto end = change + static_cast<ptrdiff_t>(renewal.claims.size());
    if (renewed && renewal.job) {
      const bool fenced = std::find(change, end, MarkerChange::kFenced) != end;
      fenced ? NotifyStop(*renewal.job, renewal.stop)
             : renewal.job->claims_end.Renewed(renewal.round, sent);
    }
    change = end;
  }
  return renewed;
}

// Also told to stop where the store has lost its claims, which may belong to somebody else soon.
void Keeper::NotRenewed(std::span<const Renewal> renewals, const Error& why) {
  const bool lost = why.code == Code::kLostWrites;
  for (const Renewal& renewal : renewals) {
    if (renewal.job && lost) {
      NotifyStop(*renewal.job, renewal.stop);
    } else if (renewal.job) {
      renewal.job->watch.NotRenewed(options_.renew_every * 9 / 10);
    }
  }
}

}  // namespace oncemq
