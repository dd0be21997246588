// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lease.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "hold.h"
#include "oncemq/base/log.h"
#include "watchdog.h"

namespace oncemq {

std::string_view ToString(LeaseLoss lost) {
  switch (lost) {
    case LeaseLoss::kNot:
      return "not lost";
    case LeaseLoss::kDeadline:
      return "not renewed in time";
    case LeaseLoss::kTaken:
      return "ended by the store";
    case LeaseLoss::kTooLong:
      return "held for too long";
    case LeaseLoss::kClosed:
      return "its domain was closed";
  }
  return "?";
}

std::string_view ToString(Released released) {
  switch (released) {
    case Released::kYes:
      return "released";
    case Released::kNotHeld:
      return "not held";
    case Released::kUnknown:
      return "unknown";
  }
  return "?";
}

void EndProcess(std::string_view name) {
  Log(LogLevel::kError, "locks", "the process ends, because a lease was lost", {{"name", name}});
  StopLogging();
  std::terminate();
}

Status CheckFenceOf(const Lease& lease) {
  if (lease.fence().empty()) {
    return Error{Code::kInvalid, Effect::kNone,
                 "this lease has no fence, so nothing can be checked"};
  }
  if (lease.mode() == LockMode::kCounted) {
    return Error{Code::kInvalid, Effect::kNone,
                 "several hold this name at a time, so no one fence can check what they do; take a "
                 "name for each of them"};
  }
  if (lease.mode() == LockMode::kShared) {
    return Error{Code::kInvalid, Effect::kNone,
                 "other readers hold this name, too, so no one fence can check what they do; take "
                 "it exclusively for effects"};
  }
  return {};
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    Release();
    hold_ = std::move(other.hold_);
  }
  return *this;
}

Lease::~Lease() {
  Release();
}

Fence Lease::fence() const {
  return hold_ ? hold_->fence : Fence{};
}

LockMode Lease::mode() const {
  return hold_ ? hold_->mode : LockMode::kExclusive;
}

std::string_view Lease::name() const {
  return hold_ ? std::string_view(hold_->name) : std::string_view();
}

std::stop_token Lease::stop() const {
  return hold_ ? hold_->stop.get_token() : std::stop_token();
}

std::stop_token Lease::recalled() const {
  return hold_ ? hold_->recalled.get_token() : std::stop_token();
}

BootTime Lease::safe_until() const {
  return hold_ ? hold_->safe_until.load() : BootTime::min();
}

bool Lease::StillMine() const {
  return hold_ && !hold_->watchdog->ForkedOff() &&
         hold_->watchdog->clock().Boot() < hold_->safe_until.load();
}

LeaseLoss Lease::lost() const {
  return hold_ ? hold_->lost.load() : LeaseLoss::kNot;
}

Result<bool> Lease::Confirm() const {
  if (!hold_) {
    return false;
  }
  return hold_->watchdog->Confirm(hold_);
}

void Lease::EndAt(BootTime end) {
  if (hold_) {
    hold_->watchdog->EndAt(hold_, end);
  }
}

Released Lease::Release() {
  if (!hold_) {
    return Released::kNotHeld;
  }
  const auto hold = std::exchange(hold_, nullptr);
  return hold->watchdog->Release(hold);
}

void ReleaseAll(std::vector<Lease> leases) {
  if (leases.size() < 2) {
    return;  // each with its lease
  }
  std::vector<std::shared_ptr<Hold>> holds;
  for (Lease& lease : leases) {
    if (lease.hold_) {
      holds.push_back(std::move(lease.hold_));
    }
  }
  while (!holds.empty()) {
    const std::shared_ptr<Watchdog> watchdog = holds.back()->watchdog;
    const auto its = std::stable_partition(
        holds.begin(), holds.end(), [&](const auto& hold) { return hold->watchdog != watchdog; });
    watchdog->ReleaseAll({its, holds.end()});
    holds.erase(its, holds.end());
  }
}

}  // namespace oncemq
