// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <pthread.h>

#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {

Crew::Crew(std::shared_ptr<const Handler> handler, const DriveTools& tools, Wake& wake)
    : shared_(std::make_shared<Shared>()) {
  shared_->handler = std::move(handler);
  shared_->tools = tools;
  shared_->wake = &wake;
}

Crew::~Crew() {
  MutexLock lock(members_mutex_);
  ONCEMQ_CHECK(members_.empty(), "End() has seen every thread off");
}

void Crew::StartWorkers(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    Spawn("oncemq-worker", [shared = shared_] { Work(*shared); });
  }
}

void Crew::Spawn(const char* name, std::function<void()> body) {
  {
    MutexLock lock(shared_->mutex);
    shared_->alive++;
  }
  auto ended = std::make_shared<std::atomic<bool>>(false);
  std::thread thread([shared = shared_, ended, body = std::move(body)]() mutable {
    body();
    body = nullptr;  // what it owns goes before we are counted out
    *ended = true;
    MutexLock lock(shared->mutex);
    shared->alive--;
    shared->changed.notify_all();
  });
  pthread_setname_np(thread.native_handle(), name);
  MutexLock lock(members_mutex_);
  members_.push_back({std::move(thread), std::move(ended)});
}

Driven Crew::Drive(Job& job) const {
  // A copy: an abandoned thread outlives this object, not what it shares.
  const std::shared_ptr<Shared> shared = shared_;
  const Driven driven = DriveRun(job, *shared->handler, shared->tools);
  if (driven == Driven::kAbandoned) {
    Left(*shared);
  }
  return driven;
}

void Crew::Work(Shared& shared) {
  for (;;) {
    JobPtr job;
    {
      MutexLock lock(shared.mutex);
      while (shared.waiting.empty() && !shared.ending) {
        shared.changed.wait(shared.mutex);
      }
      if (shared.waiting.empty()) {
        return;
      }
      job = std::move(shared.waiting.front());
      shared.waiting.pop_front();
    }
    const BootTime begin = shared.tools.clock->Boot();
    if (DriveRun(*job, *shared.handler, shared.tools) == Driven::kAbandoned) {
      return Left(shared);
    }
    job->took = shared.tools.clock->Boot() - begin;
    {
      MutexLock lock(shared.mutex);
      shared.back.push_back(std::move(job));
    }
    shared.wake->Notify();
  }
}

void Crew::Left(Shared& shared) {
  MutexLock lock(shared.mutex);
  shared.abandoned--;
}

void Crew::HandOver(JobPtr job) {
  MutexLock lock(shared_->mutex);
  shared_->waiting.push_back(std::move(job));
  shared_->changed.notify_one();
}

void Crew::PutBack(JobPtr job) {
  {
    MutexLock lock(shared_->mutex);
    shared_->back.push_back(std::move(job));
  }
  shared_->wake->Notify();
}

bool Crew::TakeBack(std::vector<JobPtr>& jobs) {
  MutexLock lock(shared_->mutex);
  if (shared_->back.empty()) {
    return false;
  }
  jobs.insert(jobs.end(), std::make_move_iterator(shared_->back.begin()),
              std::make_move_iterator(shared_->back.end()));
  shared_->back.clear();
  return true;
}

bool Crew::End(std::span<const JobPtr> jobs) {
  bool clean = true;
  {
    MutexLock lock(shared_->mutex);
    shared_->ending = true;
    shared_->waiting.clear();
    for (const JobPtr& job : jobs) {
      if (job->watch.Abandon()) {
        shared_->abandoned++;
        clean = false;
      }
    }
    shared_->changed.notify_all();
    // Everybody else is in a window or journal call, which is bounded, or on the way out.
    while (shared_->alive > shared_->abandoned) {
      shared_->changed.wait(shared_->mutex);
    }
  }
  MutexLock lock(members_mutex_);
  for (Member& member : members_) {
    *member.ended ? member.thread.join() : member.thread.detach();
  }
  members_.clear();
  return clean;
}

}  // namespace oncemq
