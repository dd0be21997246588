// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {

Crew::Crew(std::shared_ptr<const Handler> handler, const DriveTools& tools, Wake& wake,
           uint32_t spare_workers)
    : shared_(std::make_shared<Shared>()), spare_workers_(spare_workers) {
  shared_->handler = std::move(handler);
  shared_->tools = tools;
  shared_->wake = &wake;
}

Crew::~Crew() {
  MutexLock lock(shared_->mutex);
  ONCEMQ_CHECK(members_.empty(), "End() has seen every thread off");
}

uint32_t Crew::StartWorkers(uint32_t count) {
  MutexLock lock(shared_->mutex);
  uint32_t started = 0;
  while (started < count && StartWorker()) {
    started++;
  }
  return started;
}

bool Crew::StartWorker() {
  return Start("oncemq-worker", [shared = shared_] { Work(*shared); });
}

bool Crew::Spawn(const char* name, std::function<void()> body) {
  MutexLock lock(shared_->mutex);
  return Start(name, std::move(body));
}

bool Crew::Start(const char* name, std::function<void()> body) {
  // Who has ended needs only be joined; a crew that replaces and demotes for months stays small.
  std::erase_if(members_,
                [](Member& member) { return *member.ended && (member.thread.join(), true); });
  members_.reserve(members_.size() + 1);
  auto ended = std::make_shared<bool>(false);
  auto thread = StartThread(name, [shared = shared_, ended, body = std::move(body)]() mutable {
    body();
    body = nullptr;  // what it owns goes before we are counted out
    MutexLock lock(shared->mutex);
    shared->alive--;
    *ended = true;
    shared->changed.notify_all();
  });
  if (!thread) {
    return false;
  }
  shared_->alive++;
  members_.push_back({*std::move(thread), std::move(ended)});
  return true;
}

Crew::Stand Crew::StandInFor(const JobPtr& job) {
  MutexLock lock(shared_->mutex);
  if (job->stood_in ||
      std::find(shared_->back.begin(), shared_->back.end(), job) != shared_->back.end()) {
    return Stand::kNotNeeded;
  }
  if (shared_->stood_in >= spare_workers_ || !StartWorker()) {
    return Stand::kNobodyLeft;
  }
  job->stood_in = true;
  shared_->stood_in++;
  return Stand::kIn;
}

Driven Crew::Drive(Job& job) const {
  // A copy: an abandoned thread outlives this object, not what it shares.
  const std::shared_ptr<Shared> shared = shared_;
  const Driven driven = DriveBatch(job, *shared->handler, shared->tools);
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
    if (DriveBatch(*job, *shared.handler, shared.tools) == Driven::kAbandoned) {
      return Left(shared);
    }
    bool superfluous = false;
    {
      MutexLock lock(shared.mutex);
      superfluous = job->stood_in;
      shared.stood_in -= superfluous ? 1 : 0;
      shared.back.push_back(std::move(job));
    }
    shared.wake->Notify();
    if (superfluous) {
      return;
    }
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
  std::vector<Member> members;
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
    // Everybody else is in a window or journal call, which on disk waits for the disk and has no
    // other bound, or on the way out.
    while (shared_->alive > shared_->abandoned) {
      shared_->changed.wait(shared_->mutex);
    }
    std::erase_if(members_,
                  [](Member& member) { return !*member.ended && (member.thread.detach(), true); });
    members.swap(members_);
  }
  for (Member& member : members) {
    member.thread.join();
  }
  return clean;
}

}  // namespace oncemq
