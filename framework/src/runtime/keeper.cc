// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <pthread.h>

#include <algorithm>

namespace oncemq {

Keeper::Keeper(const Options& options, Window* window, const Clock& clock, StoreErrors& errors,
               std::function<void()> take_over)
    : options_(options),
      window_(window),
      clock_(clock),
      errors_(errors),
      take_over_(std::move(take_over)) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "oncemq-keeper");
}

Keeper::~Keeper() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
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
    bool handling = false;
    for (const JobPtr& job : jobs) {
      handling |= Look(*job);
    }
    MutexLock lock(mutex_);
    if (ending_) {
      return;
    }
    if (handling || nudges_.load() != seen) {
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

bool Keeper::Look(Job& job) {
  const BootTime now = clock_.Boot();
  const RunWatch::Look look = job.watch.Tick(now, options_.renew_every);
  if (look.stop_due) {
    job.watch.RequestStop();
    job.watch.StopHandling();
  }
  if (!look.renew.empty() && window_ != nullptr) {
    Renew(job, look.renew);
  }
  if (job.watch.Demote(now, options_.poll_budget)) {
    take_over_();
  }
  return look.handling;
}

void Keeper::Renew(Job& job, const std::vector<std::pair<std::string, Token>>& claims) {
  std::vector<RenewRequest> requests;
  for (const auto& [id, token] : claims) {
    requests.push_back({id, token});
  }
  std::vector<Change> changes(requests.size());
  if (!errors_.Window("renew", requests.size(), window_->Renew(requests, changes))) {
    return;  // tried again in time, as long as the lease lasts
  }
  if (std::find(changes.begin(), changes.end(), Change::kFenced) != changes.end()) {
    job.watch.RequestStop();
    job.watch.StopHandling();
  }
}

}  // namespace oncemq
