// SPDX-License-Identifier: Apache-2.0
#include "window_desk.h"

#include <utility>

#include "oncemq/base/mutant.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {

WindowDesk::WindowDesk(Window* window, StoreErrors& errors, Wake& wake)
    : window_(window),
      errors_(errors),
      wake_(wake),
      thread_(StartThread("oncemq-window", [this] { Work(); })) {}

WindowDesk::~WindowDesk() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
}

void WindowDesk::Add(Job job) {
  if (!thread_) {
    Make(job);
  }
  MutexLock lock(mutex_);
  if (thread_) {
    waiting_.push_back(std::move(job));
    changed_.notify_all();
  } else {
    done_.push_back(std::move(job));
    wake_.Notify();
  }
}

bool WindowDesk::Take(std::vector<Job>& done) {
  MutexLock lock(mutex_);
  for (Job& job : done_) {
    done.push_back(std::move(job));
  }
  done_.clear();
  return !done.empty();
}

void WindowDesk::Make(Job& job) {
  std::visit([this](auto& one) { Call(one); }, job);
}

void WindowDesk::Call(RaiseOwn& job) {
  job.own = window_->RaiseOwn(job.source, job.partition, job.action.floor);
  if (!job.own) {
    (void)errors_.Window("raise own", 1, job.own.error());
  }
}

void WindowDesk::Call(Open& job) {
  job.known = window_->Open({job.source, job.name.partition, job.name.topic, job.owner});
}

void WindowDesk::Call(Announce& job) {
  job.announcement.metadata = job.commit.metadata;  // where it lies now
  if (!ONCEMQ_MUTANT("commit-not-announced")) {
    job.made = errors_.Window("announce", 1, window_->Announce({&job.announcement, 1}));
  }
}

void WindowDesk::Call(Committed& job) {
  Change change;
  (void)errors_.Window("committed", 1, window_->Committed({&job.progress, 1}, {&change, 1}));
}

void WindowDesk::Call(Restore& job) {
  job.made =
      errors_.Window("restore", job.requests.size(), window_->Restore(job.requests, job.changes));
}

void WindowDesk::Work() {
  for (;;) {
    std::optional<Job> job;
    {
      MutexLock lock(mutex_);
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return ending_ || !waiting_.empty(); });
      if (ending_) {
        return;
      }
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Make(*job);
    MutexLock lock(mutex_);
    done_.push_back(*std::move(job));
    wake_.Notify();
  }
}

}  // namespace oncemq
