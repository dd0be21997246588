// SPDX-License-Identifier: Apache-2.0
// Keeper: a thread that watches the batches whose handlers take long. It renews their claims (rule
// 13), asks them to stop when their right to run ends, and tells when handlers keep the poll
// thread.
//
// It looks several times a poll budget while batches are on their way, and sleeps while there are
// none. All renewals that are due go to a server in one call: with a call for each batch, 16
// batches and calls of 1.9 s the last one would come after the lease of 30 s.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "job.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/stop_caller.h"
#include "store_errors.h"

namespace oncemq {

class Keeper {
 public:
  struct Options {
    microseconds poll_budget{100'000};     // longest time of handlers on the poll thread
    microseconds renew_every{10'000'000};  // between renewals of one batch's claims
    bool remote = false;                   // renewals wait for a server: on a thread of their own
  };
  // `take_over` is called on the keeper's thread when a batch has used up the poll budget and was
  // demoted; until it says true, it is called again. `window` may be nullptr.
  Keeper(const Options& options, Window* window, const Clock& clock, StoreErrors& errors,
         StopCaller& stops, std::function<bool()> take_over);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // False, and a log line: the system gives no thread.
  [[nodiscard]] bool Start();
  // From now on, for the keeper's lifetime.
  void Watch(JobPtr job);
  // A batch begins.
  void Nudge();
  // Claims of no batch, whose completions are owed. Nothing is renewed where claims need no server.
  void RenewOwed(std::vector<HeldClaim> claims);

 private:
  struct Renewal {
    JobPtr job;  // nullptr: claims of no batch
    std::vector<HeldClaim> claims;
    std::stop_source stop{std::nostopstate};
    uint64_t round = 0;  // of the job's claims
  };

  void Run();
  bool Check(const JobPtr& job);
  void NotifyStop(Job& job, const std::stop_source& stop);
  void QueueRenewals();
  void RunRenewals();
  void Renew(std::span<const Renewal> renewals);
  void Split(std::span<const Renewal> renewals, const Error& why);
  Status SendRenewals(std::span<const Renewal> renewals);
  void NotRenewed(std::span<const Renewal> renewals, const Error& why);

  const Options options_;
  Window* const window_;
  const Clock& clock_;
  StoreErrors& errors_;
  StopCaller& stops_;
  const std::function<bool()> take_over_;
  bool take_over_due_ = false;  // the keeper's own, as the next one
  std::vector<Renewal> due_;    // since the last pass over the jobs

  std::atomic<uint64_t> nudges_{0};
  std::atomic<bool> asleep_{false};
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<JobPtr> jobs_ GUARDED_BY(mutex_);
  std::vector<Renewal> renewals_ GUARDED_BY(mutex_);
  ConditionVariable renewal_due_;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
  std::optional<std::thread> renewer_;
};

}  // namespace oncemq
