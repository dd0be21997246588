// SPDX-License-Identifier: Apache-2.0
// Announcer: has commits announced to the window on a thread of its own. An announcement waits for
// the disk, and the poll thread must not: heartbeats of handlers, other partitions and the group
// come first.
//
// Promise: in the order in which they came. What is answered comes back by Take(), after a ring of
// the wake.
//
// Thread safety: any thread. Blocks: the destructor, for the announcement that is under way.
#pragma once

#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/core.h"
#include "store_errors.h"
#include "wake.h"

namespace oncemq {

class Announcer {
 public:
  // All outlive it. Without a thread for it, the caller's does the work.
  Announcer(Window* window, StoreErrors& errors, Wake& wake);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  struct Job {
    CommitAction commit;
    Announcement announcement;  // its metadata is the commit's
    Status made;
  };
  void Add(CommitAction commit, Announcement announcement);
  // Appends those that are answered; true if there are any.
  bool Take(std::vector<Job>& done);

 private:
  void Work();
  void Make(Job& job);

  Window* const window_;
  StoreErrors& errors_;
  Wake& wake_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Job> waiting_ GUARDED_BY(mutex_);
  std::vector<Job> done_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
