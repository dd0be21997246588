// SPDX-License-Identifier: Apache-2.0
// Crew: the threads that run handlers, and the runs on their way to them and back.
//
// Promise: one lock and at most one wake for a run, not for a message. End() returns in bounded
// time, also when a handler never does: its thread is let go, and ends by itself if the handler
// ever returns. Thread safety: any thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "drive.h"
#include "job.h"
#include "oncemq/base/mutex.h"
#include "wake.h"

namespace oncemq {

class Crew {
 public:
  // `wake` is rung for every run that comes back. Tools and wake outlive End().
  Crew(std::shared_ptr<const Handler> handler, const DriveTools& tools, Wake& wake);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void StartWorkers(uint32_t count);
  // A thread for something else, joined by End() like a worker. `body` must own what it touches
  // after an abandoned run.
  // The name has at most 15 characters.
  void Spawn(const char* name, std::function<void()> body);

  Driven Drive(Job& job) const;
  void HandOver(JobPtr job);
  // A run that came back by another way: driven by a thread that is no worker.
  void PutBack(JobPtr job);
  // Appends; true if there was something.
  bool TakeBack(std::vector<JobPtr>& jobs);

  // Precondition: nothing is handed over any more. False: some of `jobs` hang in a handler and were
  // abandoned.
  bool End(std::span<const JobPtr> jobs);

 private:
  struct Shared {
    std::shared_ptr<const Handler> handler;
    DriveTools tools;
    Wake* wake;

    Mutex mutex;
    ConditionVariable changed;
    std::deque<JobPtr> waiting GUARDED_BY(mutex);
    std::vector<JobPtr> back GUARDED_BY(mutex);
    uint32_t alive GUARDED_BY(mutex) = 0;      // threads that have not ended
    uint32_t abandoned GUARDED_BY(mutex) = 0;  // of these, in a handler that nobody waits for
    bool ending GUARDED_BY(mutex) = false;
  };
  struct Member {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  static void Work(Shared& shared);
  static void Left(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  Mutex members_mutex_;
  std::vector<Member> members_ GUARDED_BY(members_mutex_);
};

}  // namespace oncemq
