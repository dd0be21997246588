// SPDX-License-Identifier: Apache-2.0
// RedlockMaster: one of the masters, and the thread that talks to it. Whatever is asked at the same
// time goes in one round trip, in the order in which it was asked.
//
// Promise: nobody who asks waits for a master that is known to be away: that is answered at once
// (kUnavailable, nothing done), while the thread tries to reach it. What is to be kept is done when
// it is back, before anything else.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/redis_client.h"
#include "redlock_round.h"

namespace oncemq {

// Which server each address has led to: two that lead to one would vote twice.
//
// Thread safety: any thread.
class RedlockServers {
 public:
  explicit RedlockServers(size_t masters) : ids_(masters) {}
  // False: another address has led there.
  bool Take(size_t master, std::string_view id);

 private:
  Mutex mutex_;
  std::vector<std::string> ids_ GUARDED_BY(mutex_);
};

// Thread safety: any thread.
class RedlockMaster {
 public:
  RedlockMaster(RedisEndpoint endpoint, const RedisTimes& times, size_t index,
                std::shared_ptr<RedlockServers> servers);
  ~RedlockMaster();
  RedlockMaster(const RedlockMaster&) = delete;
  RedlockMaster& operator=(const RedlockMaster&) = delete;

  // False: the system gives no thread.
  bool Start();
  // What came of the first try to reach it.
  Status FirstTry();

  // `keep`: until when it is worth doing, even if nobody waits for it any more; nothing: only now.
  void Request(std::shared_ptr<const RedlockQuestion> question, std::shared_ptr<RedlockRound> round,
               std::optional<BootTime> keep);
  // From now on its thread ends, having done once more what it has, if the master is there.
  void End();
  // For calls from other threads; nullptr: it is away.
  std::shared_ptr<RedisClient> client();

 private:
  struct Job {
    std::shared_ptr<const RedlockQuestion> question;
    std::shared_ptr<RedlockRound> round;  // may be nullptr: nobody waits
    std::optional<BootTime> keep;
  };
  using Jobs = std::deque<Job>;

  void Run();
  Status Reach();
  void Reached(const Status& status);
  void Do(Jobs jobs);
  // What can wait stays, before all that came behind it.
  void Failed(Jobs jobs, size_t first, size_t sent, const Error& error);
  void Answer(Job& job, RedlockAnswer answer) const;
  void Keep(Job job) REQUIRES(mutex_);

  const RedisEndpoint endpoint_;
  const RedisTimes times_;
  const size_t index_;
  const std::shared_ptr<RedlockServers> servers_;
  Mutex mutex_;
  ConditionVariable changed_;
  Jobs jobs_ GUARDED_BY(mutex_);
  bool up_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  Error why_ GUARDED_BY(mutex_);
  std::optional<Status> first_ GUARDED_BY(mutex_);
  std::shared_ptr<RedisClient> client_ GUARDED_BY(mutex_);
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
