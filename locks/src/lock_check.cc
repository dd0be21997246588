// SPDX-License-Identifier: Apache-2.0
#include "lock_check.h"

#include <string>

#include "oncemq/locks/lock_engines.h"

namespace oncemq {
namespace {

constexpr milliseconds kShortestLease{20};

// Sums with it do not overflow.
constexpr milliseconds kLongestTime = std::chrono::hours(24 * 365 * 100);

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

Error Cannot(const LockCapabilities& can, std::string_view what) {
  return Invalid("the engine " + std::string(can.engine) + " " + std::string(what));
}

}  // namespace

std::string_view ToString(LockMode mode) {
  switch (mode) {
    case LockMode::kExclusive:
      return "exclusive";
    case LockMode::kShared:
      return "shared";
    case LockMode::kCounted:
      return "counted";
  }
  return "?";
}

Status CheckLockName(std::string_view name) {
  if (name.empty()) {
    return Invalid("a lock needs a name");
  }
  if (name.size() > kLongestLockName) {
    return Invalid("the name of a lock has at most " + std::to_string(kLongestLockName) +
                   " bytes, this one has " + std::to_string(name.size()));
  }
  return {};
}

Status CheckLockTimes(const LeaseTimes& times, milliseconds queue_lease) {
  if (times.lease < kShortestLease || times.lease > kLongestLease) {
    return Invalid("a lease lasts from 20 ms to 24 h, not " + std::to_string(times.lease.count()) +
                   " ms");
  }
  if (times.margin < milliseconds(0) || times.Safe() <= times.lease / 2) {
    return Invalid("a margin of " + std::to_string(times.margin.count()) +
                   " ms leaves less than half of a lease of " +
                   std::to_string(times.lease.count()) + " ms");
  }
  if (queue_lease < kShortestLease || queue_lease > kLongestLease) {
    return Invalid("a place in the queue lasts from 20 ms to 24 h, not " +
                   std::to_string(queue_lease.count()) + " ms");
  }
  if (times.max_hold < milliseconds(0) || times.max_hold > kLongestTime) {
    return Invalid("max_hold is negative, or longer than a century; 0 is no limit");
  }
  return {};
}

Status CheckLease(milliseconds lease, const LockCapabilities& can) {
  if (lease > can.longest_lease) {
    return Cannot(can, "has leases of up to " + std::to_string(can.longest_lease.count()) + " ms");
  }
  return {};
}

Status CheckPatience(milliseconds patience) {
  if (patience < milliseconds(0) || patience > kLongestTime) {
    return Invalid("patience is negative, or longer than a century");
  }
  return {};
}

Status CheckNeeds(const LockNeeds& needs, const LockCapabilities& can) {
  for (const LockNeed& need : kLockNeeds) {
    if (needs.*need.requested && !(can.*need.offered)) {
      return Cannot(can, need.lacks);
    }
  }
  return {};
}

Status CheckCounted(const AcquireRequest& request, const LockCapabilities& can) {
  return request.mode == LockMode::kCounted && !can.counted ? Cannot(can, "has no counted locks")
                                                            : Status();
}

namespace {

Status CheckLimit(const AcquireOptions& how, const LockCapabilities& can) {
  if (how.mode != LockMode::kCounted) {
    return how.limit == 0 ? Status() : Invalid("a limit is of a counted hold: mode = kCounted");
  }
  if (!can.counted) {
    return Cannot(can, "has no counted locks");
  }
  if (how.limit < 1 || how.limit > kMostCounted) {
    return Invalid("the limit of a counted hold is from 1 to " + std::to_string(kMostCounted) +
                   ", not " + std::to_string(how.limit));
  }
  if (how.fenced) {
    return Invalid(
        "one fence cannot check what several do at a time, so a counted hold is not "
        "`fenced`");
  }
  return {};
}

}  // namespace

Status CheckAcquire(const AcquireOptions& how, const LockCapabilities& can) {
  if (how.mode == LockMode::kShared && !can.shared) {
    return Cannot(can, "has no shared locks");
  }
  if (how.mode == LockMode::kShared && how.fenced) {
    return Invalid("one fence cannot check what several readers do, so no shared hold is `fenced`");
  }
  if (const Status fit = CheckLimit(how, can); !fit) {
    return fit;
  }
  if (how.barge && !can.unfair) {
    return Cannot(can, "lets nobody pass those who wait");
  }
  if (how.fenced && !how.fence && !can.fence) {
    return Cannot(can, "has no fences that an effect could check");
  }
  if (how.wait.spin < milliseconds(0) || how.wait.spin > kLongestTime) {
    return Invalid("nobody spins for a negative time, or longer than a century");
  }
  return {};
}

}  // namespace oncemq
