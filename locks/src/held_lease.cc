// SPDX-License-Identifier: Apache-2.0
#include "held_lease.h"

#include <algorithm>

#include "hold.h"
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

// Whoever waits longer waits as long as it takes.
constexpr microseconds kForEver = std::chrono::hours(24 * 365 * 100);

std::errc AsErrc(Code code) {
  switch (code) {
    case Code::kInvalid:
      return std::errc::invalid_argument;
    case Code::kTimeout:
      return std::errc::timed_out;
    case Code::kBusy:
      return std::errc::resource_unavailable_try_again;
    case Code::kFull:
      return std::errc::no_buffer_space;
    case Code::kFenced:
    case Code::kNotFound:
      return std::errc::owner_dead;
    case Code::kUnavailable:
    case Code::kRefused:
    case Code::kCorrupt:
    case Code::kLostWrites:
    case Code::kInternal:
      return std::errc::io_error;
  }
  return std::errc::io_error;
}

void LogNotHeld(const std::string& name, LeaseLoss lost) {
  Log(LogLevel::kWarn, "locks", "what is unlocked was not held any more",
      {{"name", name}, {"why", ToString(lost)}});
}

}  // namespace

void ThrowFromFacade(std::errc code, const std::string& what) {
  throw std::system_error(std::make_error_code(code), what);
}

Granted<Lease> TakeForFacade(LockDomain& domain, const std::string& name,
                             const LeaseMutexOptions& options, AcquireOptions how,
                             std::optional<microseconds> within) {
  how.wait = options.wait;
  how.barge = options.barge;
  how.lease = options.lease;
  how.max_hold = options.max_hold;
  how.what = options.what;
  if (within) {
    how.until = domain.clock().Boot() + std::min(*within, kForEver);
  } else if (how.wait.how == LockWait::How::kSpin) {
    how.wait.how = LockWait::How::kSpinThenBlock;
  }
  auto lease = domain.Acquire(name, how);
  if (!lease) {
    ThrowFromFacade(AsErrc(lease.error().code), name + ": " + ToString(lease.error()));
  }
  return *std::move(lease);
}

// Not by a callback of stop(): one of the user's that blocks would keep it waiting.
void HeldLease::Keep(Lease taken, OnLost on_lost) {
  lease = std::move(taken);
  ONCEMQ_CHECK(lease.hold_ != nullptr, "a facade keeps a lease that was granted");
  if (on_lost != OnLost::kTerminate) {
    return;
  }
  lease.hold_->ends_process.store(true);
  if (lease.lost() != LeaseLoss::kNot) {  // before anybody could know
    EndProcess(lease.name());
  }
}

void HeldLease::GiveBack(const std::string& name) {
  const LeaseLoss lost = lease.lost();
  if (lease.Release() != Released::kYes) {
    LogNotHeld(name, lost);
  }
}

void HeldLease::LogIfLost(const std::string& name) const {
  if (const LeaseLoss lost = lease.lost(); lost != LeaseLoss::kNot) {
    LogNotHeld(name, lost);
  }
}

Lease& HeldLease::Mine(const std::string& name, OnLost on_lost) {
  if (on_lost == OnLost::kThrow && !lease.StillMine()) {
    ThrowFromFacade(std::errc::owner_dead,
                    name + ": the lease was lost: " + std::string(ToString(lease.lost())));
  }
  return lease;
}

}  // namespace oncemq
