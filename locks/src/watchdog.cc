// SPDX-License-Identifier: Apache-2.0
#include "watchdog.h"

#include <unistd.h>

#include <algorithm>

#include "oncemq/base/check.h"
#include "oncemq/base/fence_text.h"
#include "oncemq/base/log.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

// Threads wait on a clock that stands still while the machine sleeps, so they look again by
// themselves: after a suspend stop() is at most this late. StillMine() is never.
constexpr milliseconds kLongestNap{500};
constexpr milliseconds kCallbacksMayTake{1'000};
// As long as the store answers; by the first call that it does not answer all is over.
constexpr milliseconds kGivingBackMayTake{10'000};

std::shared_ptr<Owed> OwedOf(const Hold& hold, BootTime now) {
  return std::make_shared<Owed>(Owed{hold.name, hold.token, now + hold.lease});
}

}  // namespace

Watchdog::Watchdog(std::shared_ptr<LockEngine> engine, const Clock& clock)
    : engine_(std::move(engine)), clock_(clock), pid_(getpid()) {}

bool Watchdog::ForkedOff() const {
  return getpid() != pid_;
}

bool Watchdog::Start() {
  time_thread_ = StartThread("oncemq-leases", [this] { WatchTime(); });
  store_thread_ = StartThread("oncemq-renew", [this] { TalkToStore(); });
  if (!time_thread_ || !store_thread_) {
    End();
    return false;
  }
  engine_->Listen(*this);
  return true;
}

void Watchdog::End() {
  std::vector<std::shared_ptr<Hold>> held;
  engine_->Unlisten(*this);
  {
    MutexLock lock(mutex_);
    ending_ = true;
    for (auto& [token, watched] : holds_) {
      watched.state.End(LeaseLoss::kClosed);
      Check(watched, clock_.Boot());
      held.push_back(watched.hold);
    }
    holds_.clear();
    due_.clear();
    time_changed_.notify_all();
    work_changed_.notify_all();
  }
  for (auto* thread : {&time_thread_, &store_thread_}) {
    if (*thread) {
      (*thread)->join();
      thread->reset();
    }
  }
  GiveBack(held);
  {
    MutexLock lock(mutex_);
    // Holds share us, so what stays here would keep itself alive.
    to_renew_.clear();
    owed_.clear();
    for (const std::stop_source& stop : pending_stops_) {
      static_cast<void>(stops_.Request(stop));
    }
    pending_stops_.clear();
  }
  if (!stops_.End(kCallbacksMayTake)) {
    Log(LogLevel::kWarn, "locks", "a callback of a lost lease still runs");
  }
}

// Once: what the store does not hear now ends with its lease.
void Watchdog::GiveBack(const std::vector<std::shared_ptr<Hold>>& held) {
  OwedQueue owed;
  {
    MutexLock lock(mutex_);
    std::swap(owed, owed_);
  }
  for (const auto& hold : held) {
    owed.Push(OwedOf(*hold, clock_.Boot()));
  }
  const GivenBack done =
      GiveBackAll(*engine_, std::move(owed), clock_, clock_.Boot() + kGivingBackMayTake);
  if (done.why || !done.left.empty()) {
    Log(LogLevel::kWarn, "locks", "not all holds were given back; the rest ends with its leases",
        {{"error", done.why ? ToString(*done.why) : "it took too long"}});
  }
}

void Watchdog::Watch(const std::shared_ptr<Hold>& hold, const LeaseTimes& times,
                     BootTime requested_at) {
  MutexLock lock(mutex_);
  const auto [at, added] =
      holds_.emplace(hold->token, Watched{hold, LeaseState(times, requested_at), {}});
  ONCEMQ_CHECK(added, "no two holds have one token");
  Watched& watched = at->second;
  hold->safe_until.store(watched.state.safe_until());
  // Whether it was granted before the doubt, nobody knows.
  if (requested_at <= warned_at_) {
    watched.state.Warned();
  }
  Place(watched);
}

bool Watchdog::Unwatch(const std::shared_ptr<Hold>& hold) {
  const auto at = holds_.find(hold->token);
  if (at == holds_.end()) {
    return false;
  }
  ONCEMQ_CHECK(at->second.hold == hold, "no two holds have one token");
  if (at->second.due) {
    due_.erase({*at->second.due, hold.get()});
  }
  holds_.erase(at);
  hold->safe_until.store(BootTime::min());
  return true;
}

Released Watchdog::Release(const std::shared_ptr<Hold>& hold) {
  if (ForkedOff()) {
    return Released::kNotHeld;
  }
  {
    MutexLock lock(mutex_);
    if (!Unwatch(hold)) {
      return Released::kNotHeld;
    }
  }
  const LockClaim claim{hold->name, hold->token};
  Freed freed = Freed::kNotHeld;
  const Status done = engine_->Free({&claim, 1}, {&freed, 1});
  if (!done) {
    TakeBack(hold->name, hold->token, hold->lease);
  }
  // What was lost is given back all the same: the store need not wait for its lease to run out.
  if (hold->lost.load() != LeaseLoss::kNot) {
    return Released::kNotHeld;
  }
  if (!done) {
    return Released::kUnknown;
  }
  return freed == Freed::kYes ? Released::kYes : Released::kNotHeld;
}

void Watchdog::ReleaseAll(const std::vector<std::shared_ptr<Hold>>& holds) {
  if (ForkedOff()) {
    return;
  }
  OwedQueue owed;
  const BootTime now = clock_.Boot();
  {
    MutexLock lock(mutex_);
    for (const auto& hold : holds) {
      if (Unwatch(hold)) {
        owed.Push(OwedOf(*hold, now));
      }
    }
  }
  const GivenBack done = GiveBackAll(*engine_, std::move(owed), clock_, now + kGivingBackMayTake);
  MutexLock lock(mutex_);
  Owe(done.left);
}

Result<bool> Watchdog::Confirm(const std::shared_ptr<Hold>& hold) {
  if (hold->lost.load() != LeaseLoss::kNot || ForkedOff()) {
    return false;
  }
  const LockClaim claim{hold->name, hold->token, hold->lease};
  Extended answer = Extended::kGone;
  const BootTime requested_at = clock_.Boot();
  if (const Status done = engine_->Extend({&claim, 1}, {&answer, 1}); !done) {
    return done.error();
  }
  Apply(hold, answer, requested_at);
  if (answer == Extended::kLater) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "not now: stores are being switched, or too few of them answer"};
  }
  return hold->lost.load() == LeaseLoss::kNot;
}

void Watchdog::EndAt(const std::shared_ptr<Hold>& hold, BootTime end) {
  MutexLock lock(mutex_);
  const auto at = holds_.find(hold->token);
  if (at == holds_.end()) {
    return;
  }
  const BootTime now = clock_.Boot();
  at->second.state.EndAt(end, now);
  if (hold->lost.load() == LeaseLoss::kNot) {
    hold->safe_until.store(at->second.state.safe_until());
  }
  Check(at->second, now);
}

void Watchdog::TakeBack(std::string_view name, const Token& token, milliseconds lease) {
  MutexLock lock(mutex_);
  Owe({std::make_shared<Owed>(Owed{std::string(name), token, clock_.Boot() + lease})});
}

void Watchdog::Owe(const OwedQueue::Batch& left) {
  const BootTime now = clock_.Boot();
  for (const auto& one : left) {
    if (one->until > now) {  // else the store has forgotten it
      owed_.Push(one);
    }
  }
  work_changed_.notify_all();
}

void Watchdog::WatchTime() {
  MutexLock lock(mutex_);
  while (!ending_) {
    const BootTime now = clock_.Boot();
    while (!due_.empty() && due_.begin()->first <= now) {
      Watched& watched = holds_.at(due_.begin()->second->token);
      ONCEMQ_CHECK(watched.due == due_.begin()->first, "a hold stands in due_ where it says");
      due_.erase(due_.begin());
      watched.due.reset();
      Check(watched, now);
    }
    std::erase_if(pending_stops_, [this](std::stop_source& stop) { return stops_.Request(stop); });
    const bool idle = due_.empty() && pending_stops_.empty();
    sleeps_until_ =
        idle ? BootTime::max() : now + (pending_stops_.empty() ? kLongestNap : kBetweenTries);
    if (!due_.empty()) {
      sleeps_until_ = std::min(sleeps_until_, due_.begin()->first);
    }
    if (idle) {
      time_changed_.wait(mutex_);
    } else {
      time_changed_.wait_for(mutex_, sleeps_until_ - now);
    }
    sleeps_until_ = BootTime::min();
  }
}

void Watchdog::HoldsMayBeLost() {
  MutexLock lock(mutex_);
  const BootTime now = clock_.Boot();
  warned_at_ = now;
  for (auto& [token, watched] : holds_) {
    watched.state.Warned();
    Check(watched, now);
  }
}

void Watchdog::Check(Watched& watched, BootTime now) {
  const LeaseState::Due due = watched.state.At(now);
  if (due.lost) {
    NotifyLoss(*watched.hold, *due.lost);
  }
  if (due.renew) {
    to_renew_.Push(watched.hold);
    work_changed_.notify_all();
  }
  Place(watched);
}

// Files a hold under the moment at which something is due for it.
void Watchdog::Place(Watched& watched) {
  if (watched.due) {
    due_.erase({*watched.due, watched.hold.get()});
  }
  watched.due = watched.state.next();
  if (watched.due) {
    const bool filed = due_.insert({*watched.due, watched.hold.get()}).second;
    ONCEMQ_CHECK(filed, "a hold stands in due_ once");
    if (*watched.due < sleeps_until_) {
      time_changed_.notify_all();
    }
  }
}

void Watchdog::NotifyLoss(Hold& hold, LeaseLoss why) {
  if (why != LeaseLoss::kClosed) {
    Log(LogLevel::kWarn, "locks", "a lease was lost",
        {{"name", hold.name}, {"fence", ToString(hold.fence)}, {"why", ToString(why)}});
  }
  ONCEMQ_CHECK(hold.lost.load() == LeaseLoss::kNot, "a hold is lost once and for ever (L3)");
  hold.lost.store(why);
  if (hold.counters) {
    hold.counters->lost[static_cast<size_t>(why)]++;
  }
  hold.safe_until.store(BootTime::min());
  if (hold.ends_process.load()) {  // here: nothing of the user's may come before it
    EndProcess(hold.name);
  }
  // Not here: the user's callbacks may block, or release this very lease.
  if (!stops_.Request(hold.stop)) {
    pending_stops_.push_back(hold.stop);
  }
}

}  // namespace oncemq
