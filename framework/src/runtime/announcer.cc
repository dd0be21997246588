// SPDX-License-Identifier: Apache-2.0
#include "announcer.h"

#include <utility>

#include "oncemq/base/mutant.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {

Announcer::Announcer(Window* window, StoreErrors& errors, Wake& wake)
    : window_(window),
      errors_(errors),
      wake_(wake),
      thread_(StartThread("oncemq-announce", [this] { Work(); })) {}

Announcer::~Announcer() {
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

void Announcer::Add(CommitAction commit, Announcement announcement) {
  Job job{std::move(commit), announcement};
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

bool Announcer::Take(std::vector<Job>& done) {
  MutexLock lock(mutex_);
  for (Job& job : done_) {
    done.push_back(std::move(job));
  }
  done_.clear();
  return !done.empty();
}

void Announcer::Make(Job& job) {
  job.announcement.metadata = job.commit.metadata;  // where it lies now
  if (!ONCEMQ_MUTANT("commit-not-announced")) {
    job.made = errors_.Window("announce", 1, window_->Announce({&job.announcement, 1}));
  }
}

void Announcer::Work() {
  for (;;) {
    Job job;
    {
      MutexLock lock(mutex_);
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return ending_ || !waiting_.empty(); });
      if (ending_) {
        return;
      }
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Make(job);
    MutexLock lock(mutex_);
    done_.push_back(std::move(job));
    wake_.Notify();
  }
}

}  // namespace oncemq
