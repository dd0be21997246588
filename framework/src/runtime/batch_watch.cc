// SPDX-License-Identifier: Apache-2.0
#include "batch_watch.h"

namespace oncemq {

void BatchWatch::Reset(bool on_poll_thread, BootTime stop_at) {
  stop_handling_.store(false, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  if (stop_notified_) {  // perhaps its request is still under way: not for the next batch
    stop_source_ = std::stop_source();
    stop_token_ = stop_source_.get_token();
  }
  stop_notified_ = false;
  on_poll_thread_ = on_poll_thread;
  demoted_ = false;
  stop_at_ = stop_at;
  EndNamesAt(stop_at);
  under_way_ = true;
}

void BatchWatch::EndNamesAt(BootTime at) {
  if (names_ != nullptr) {
    names_->EndAt(at);
  }
}

void BatchWatch::End() {
  MutexLock lock(mutex_);
  under_way_ = false;
}

void BatchWatch::BeginHandling(BatchMachine& machine, BootTime now) {
  MutexLock lock(mutex_);
  seen_calls_ = calls_.load(std::memory_order_relaxed);
  seen_at_ = now;
  others_settled_ = false;
  phase_ = Phase::kHandling;
  machine_ = &machine;
  began_ = renewed_ = now;
}

BatchWatch::Ended BatchWatch::EndHandling() {
  MutexLock lock(mutex_);
  machine_ = nullptr;
  if (phase_ == Phase::kAbandoned) {
    return Ended::kAbandoned;
  }
  phase_ = Phase::kOutside;
  return Ended::kOurs;
}

void BatchWatch::BeginCompleting(BatchMachine& machine) {
  MutexLock lock(mutex_);
  phase_ = Phase::kCompleting;
  machine_ = &machine;
}

void BatchWatch::EndCompleting() {
  MutexLock lock(mutex_);
  machine_ = nullptr;
  phase_ = Phase::kOutside;
}

bool BatchWatch::NotifyStop(const std::stop_source& source) {
  MutexLock lock(mutex_);
  if (stop_notified_ || !(stop_source_ == source)) {
    return false;
  }
  StopHandling();
  stop_notified_ = true;
  // Perhaps it is somebody else's by now.
  EndNamesAt(BootTime::min());
  return true;
}

void BatchWatch::StopFailed(const std::stop_source& source) {
  MutexLock lock(mutex_);
  if (stop_source_ == source) {
    stop_notified_ = false;
  }
}

void BatchWatch::SetStopAt(BootTime stop_at) {
  MutexLock lock(mutex_);
  stop_at_ = stop_at;
  if (!stop_notified_) {
    EndNamesAt(stop_at);
  }
}

bool BatchWatch::Demote(BootTime now, microseconds budget) {
  MutexLock lock(mutex_);
  if (phase_ != Phase::kHandling || !on_poll_thread_ || demoted_ || now < began_ + budget) {
    return false;
  }
  demoted_ = true;
  return true;
}

bool BatchWatch::demoted() const {
  MutexLock lock(mutex_);
  return demoted_;
}

void BatchWatch::ObserveCall(BootTime now) {
  const uint32_t calls = calls_.load(std::memory_order_relaxed);
  if (calls != seen_calls_) {
    seen_calls_ = calls;
    seen_at_ = now;
  }
}

bool BatchWatch::SettleOthers(BootTime now, microseconds budget, std::vector<Settlement>& settled) {
  MutexLock lock(mutex_);
  if (phase_ != Phase::kHandling || others_settled_) {
    return false;
  }
  ObserveCall(now);
  Gate inside = Gate::kInside;
  if (now < seen_at_ + budget ||
      !gate_.compare_exchange_strong(inside, Gate::kChanging, std::memory_order_acquire)) {
    return false;
  }
  machine_->SettleOthers(settled);
  others_settled_ = true;
  gate_.store(Gate::kChanged, std::memory_order_release);
  gate_.notify_one();
  return true;
}

bool BatchWatch::Hangs(BootTime now, microseconds that_long) {
  MutexLock lock(mutex_);
  if (phase_ != Phase::kHandling) {
    return false;
  }
  ObserveCall(now);
  return now >= seen_at_ + that_long;
}

// The handler has returned while somebody changes the batch: it is a matter of microseconds.
void BatchWatch::AwaitChange() {
  gate_.wait(Gate::kChanging, std::memory_order_acquire);
  gate_.store(Gate::kOutside, std::memory_order_relaxed);
}

bool BatchWatch::Abandon() {
  MutexLock lock(mutex_);
  if (phase_ != Phase::kHandling) {
    return false;
  }
  phase_ = Phase::kAbandoned;
  StopHandling();
  return true;
}

BatchWatch::Due BatchWatch::Tick(BootTime now, microseconds renew_every) {
  Due due;
  MutexLock lock(mutex_);
  const bool handling = phase_ == Phase::kHandling;
  due.under_way = handling || under_way_;
  if (!handling && phase_ != Phase::kCompleting) {
    return due;
  }
  // A completion is not stopped for a claim that is gone: its own answer tells.
  if (handling) {
    ObserveCall(now);
    due.stop_due = now >= stop_at_ && !stop_notified_;
    due.stop = stop_source_;
  }
  if (now >= renewed_ + renew_every) {
    renewed_ = now;
    for (const RenewRequest& claim : machine_->ClaimsToRenew()) {
      due.renew.push_back({std::string(claim.id), claim.token, claim.at});
    }
  }
  return due;
}

void BatchWatch::NotRenewed(microseconds sooner) {
  MutexLock lock(mutex_);
  renewed_ -= sooner;
}

}  // namespace oncemq
