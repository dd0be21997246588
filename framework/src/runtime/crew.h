// SPDX-License-Identifier: Apache-2.0
// Crew: the threads that run handlers, and the batches on their way to them and back.
//
// Promise: one lock and at most one wake for a batch, not for a message. End() returns in bounded
// time, also when a handler never does: its thread is let go, and ends by itself if the handler
// ever returns.
//
// Thread safety: any thread.
#pragma once

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
  // `wake` is rung for every batch that comes back. Tools and wake outlive End(). At most
  // `spare_workers` workers stand in at a time for others whose handlers hang.
  Crew(std::shared_ptr<const Handler> handler, const DriveTools& tools, Wake& wake,
       uint32_t spare_workers);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // How many there were threads for.
  uint32_t StartWorkers(uint32_t count);
  // A thread for something else, joined by End() like a worker. `body` must own what it touches
  // after an abandoned batch. False, and a log line: the system gives no thread.
  // The name has at most 15 characters.
  [[nodiscard]] bool Spawn(const char* name, std::function<void()> body);

  enum class Stand : uint8_t { kIn, kNotNeeded, kNobodyLeft };
  // A new worker in place of the one that drives `job` and hangs in a handler. That one ends when
  // the handler returns, so that there are never more at work than were started.
  Stand StandInFor(const JobPtr& job);

  Driven Drive(Job& job) const;
  void HandOver(JobPtr job);
  // A batch that came back by another way: driven by a thread that is no worker.
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
    uint32_t stood_in GUARDED_BY(mutex) = 0;   // workers that have been replaced and still hang
    bool ending GUARDED_BY(mutex) = false;
  };
  struct Member {
    std::thread thread;
    std::shared_ptr<bool> ended;  // written and read under the shared mutex
  };

  static void Work(Shared& shared);
  static void Left(Shared& shared);
  bool Start(const char* name, std::function<void()> body) REQUIRES(shared_->mutex);
  bool StartWorker() REQUIRES(shared_->mutex);

  const std::shared_ptr<Shared> shared_;
  const uint32_t spare_workers_;
  std::vector<Member> members_ GUARDED_BY(shared_->mutex);
};

}  // namespace oncemq
