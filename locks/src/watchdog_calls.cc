// SPDX-License-Identifier: Apache-2.0
// The thread of a watchdog that talks to the store, and may be kept waiting by it.
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "watchdog.h"

namespace oncemq {

void Watchdog::TalkToStore() {
  for (;;) {
    Renewals::Batch batch;
    OwedQueue::Batch owed;
    {
      MutexLock lock(mutex_);
      while (!ending_ && to_renew_.empty() && owed_.empty()) {
        work_changed_.wait(mutex_);
      }
      if (ending_) {
        return;
      }
      batch = to_renew_.Pop();
      owed = batch.empty() ? owed_.Pop() : OwedQueue::Batch();
    }
    batch.empty() ? FreeSome(owed) : RenewSome(batch);
  }
}

void Watchdog::RenewSome(const Renewals::Batch& holds) {
  const Status done = Renew(holds);
  const bool of_one = !done && !IsTransient(done.error()) && holds.size() > 1;
  if (!of_one) {
    return;
  }
  // What is wrong with one name is no matter of the others in its batch. An outage is one of all:
  // those behind it are not even asked for, so many cost as much time as one.
  for (auto next = holds.begin(); next != holds.end() && !Ending(); ++next) {
    const Status alone = Renew({*next});
    if (!alone && IsTransient(alone.error())) {
      MutexLock lock(mutex_);
      TryLater({next + 1, holds.end()});
      return;
    }
  }
}

std::vector<LockClaim> Watchdog::ClaimsOf(const Renewals::Batch& holds, BootTime now) {
  std::vector<LockClaim> claims;
  MutexLock lock(mutex_);
  for (const auto& hold : holds) {
    LockClaim& claim = claims.emplace_back(LockClaim{hold->name, hold->token, hold->lease});
    if (const auto at = holds_.find(hold->token); at != holds_.end()) {
      claim.answer_within = at->second.state.AnswerWithin(now);
    }
  }
  return claims;
}

// One call, and its consequences.
Status Watchdog::Renew(const Renewals::Batch& holds) {
  const BootTime requested_at = clock_.Boot();
  const std::vector<LockClaim> claims = ClaimsOf(holds, requested_at);
  ONCEMQ_CHECK(claims.size() == holds.size(), "a claim for each hold, in their order");
  std::vector<Extended> answers(claims.size());
  Status done = engine_->Extend(claims, answers);
  if (done) {
    for (size_t i = 0; i < holds.size(); i++) {
      Apply(holds[i], answers[i], requested_at);
    }
    MutexLock lock(mutex_);
    to_renew_.Answered(holds);
    return done;
  }
  const bool outage = IsTransient(done.error());
  if (outage || holds.size() == 1) {
    Log(LogLevel::kWarn, "locks", "leases were not renewed",
        {{"holds", holds.size()}, {"error", ToString(done.error())}});
    MutexLock lock(mutex_);
    if (outage) {
      to_renew_.Failed(holds);
    }
    TryLater(holds);
  }
  return done;
}

void Watchdog::TryLater(const Renewals::Batch& holds) {
  for (const auto& hold : holds) {
    if (const auto at = holds_.find(hold->token); at != holds_.end()) {
      at->second.state.RenewalFailed(clock_.Boot());
      Check(at->second, clock_.Boot());
    }
  }
}

bool Watchdog::Ending() {
  MutexLock lock(mutex_);
  return ending_;
}

void Watchdog::Apply(const std::shared_ptr<Hold>& hold, Extended answer, BootTime requested_at) {
  MutexLock lock(mutex_);
  const auto at = holds_.find(hold->token);
  if (at == holds_.end()) {
    return;  // released, or closed, in the meantime
  }
  const BootTime now = clock_.Boot();
  if (answer == Extended::kGone) {
    at->second.state.End(LeaseLoss::kTaken);
  } else if (answer == Extended::kLater) {
    at->second.state.RenewalFailed(now);
  } else {
    at->second.state.Renewed(requested_at, now);
  }
  if (hold->lost.load() == LeaseLoss::kNot) {
    hold->safe_until.store(at->second.state.safe_until());
  }
  if (answer == Extended::kRecalled && !hold->recalled.stop_requested() &&
      !stops_.Request(hold->recalled)) {
    pending_stops_.push_back(hold->recalled);
  }
  Check(at->second, now);
}

void Watchdog::FreeSome(const OwedQueue::Batch& owed) {
  const GivenBack done = GiveBackTogether(*engine_, owed);
  MutexLock lock(mutex_);
  done.outage ? owed_.Failed(owed) : owed_.Answered(owed);
  Owe(done.left);
  if (!ending_ && !done.left.empty()) {
    work_changed_.wait_for(mutex_, kBetweenTries);
  }
}

}  // namespace oncemq
