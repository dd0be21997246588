// SPDX-License-Identifier: Apache-2.0
// Watchdog: renews the holds of a domain, tells their loss in time, and takes back what was asked
// for in vain. Two threads: one talks to the store and may be kept waiting by it, the other watches
// the time and never is.
//
// What the engine doubts is renewed at once.
//
// Thread safety: any thread. Holds share it, so it lives as long as the last lease; its threads end
// with the domain. Behind a fork the child's copy holds nothing, and says nothing to the store:
// connections are its parent's.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "giving_back.h"
#include "hold.h"
#include "lease_state.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/stop_caller.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

class Watchdog final : private HoldListener {
 public:
  Watchdog(std::shared_ptr<LockEngine> engine, const Clock& clock);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // False, and a log line: the system gives no threads.
  [[nodiscard]] bool Start();
  // Ends all holds and its threads. Bounded in time.
  void End();

  void Watch(const std::shared_ptr<Hold>& hold, const LeaseTimes& times, BootTime requested_at);
  Released Release(const std::shared_ptr<Hold>& hold);
  // Together; what the store does not hear now it is told later.
  void ReleaseAll(const std::vector<std::shared_ptr<Hold>>& holds);
  Result<bool> Confirm(const std::shared_ptr<Hold>& hold);
  void EndAt(const std::shared_ptr<Hold>& hold, BootTime end);
  // Frees what a request may have left, as soon as the store answers.
  void TakeBack(std::string_view name, const Token& token, milliseconds lease);

  const Clock& clock() const { return clock_; }
  bool ForkedOff() const;

 private:
  struct Watched {
    std::shared_ptr<Hold> hold;
    LeaseState state;
    std::optional<BootTime> due;  // where it stands in due_
  };
  using Holds = std::map<Token, Watched>;
  using Renewals = Batches<Hold>;
  static constexpr milliseconds kBetweenTries{100};

  void HoldsMayBeLost() override;
  void WatchTime();
  void TalkToStore();
  void Check(Watched& watched, BootTime now) REQUIRES(mutex_);
  void Place(Watched& watched) REQUIRES(mutex_);
  void NotifyLoss(Hold& hold, LeaseLoss why) REQUIRES(mutex_);
  bool Unwatch(const std::shared_ptr<Hold>& hold) REQUIRES(mutex_);
  void GiveBack(const std::vector<std::shared_ptr<Hold>>& held);
  void RenewSome(const Renewals::Batch& holds);
  Status Renew(const Renewals::Batch& holds);
  std::vector<LockClaim> ClaimsOf(const Renewals::Batch& holds, BootTime now);
  void TryLater(const Renewals::Batch& holds) REQUIRES(mutex_);
  bool Ending();
  void FreeSome(const OwedQueue::Batch& owed);
  void Owe(const OwedQueue::Batch& left) REQUIRES(mutex_);
  void Apply(const std::shared_ptr<Hold>& hold, Extended answer, BootTime requested_at);

  const std::shared_ptr<LockEngine> engine_;
  const Clock& clock_;
  const pid_t pid_;
  StopCaller stops_;

  Mutex mutex_;
  ConditionVariable time_changed_;
  ConditionVariable work_changed_;
  Holds holds_ GUARDED_BY(mutex_);                               // no two have one token
  std::set<std::pair<BootTime, Hold*>> due_ GUARDED_BY(mutex_);  // each of holds_ at most once
  Renewals to_renew_ GUARDED_BY(mutex_);
  std::vector<std::stop_source> pending_stops_
      GUARDED_BY(mutex_);  // the system had no thread for them
  OwedQueue owed_ GUARDED_BY(mutex_);
  BootTime sleeps_until_ GUARDED_BY(mutex_) = BootTime::min();
  BootTime warned_at_ GUARDED_BY(mutex_) = BootTime::min();
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> time_thread_;
  std::optional<std::thread> store_thread_;
};

}  // namespace oncemq
