// SPDX-License-Identifier: Apache-2.0
#include "lock_check.h"

#include <string>

namespace oncemq {
namespace {

constexpr milliseconds kShortestLease{20};
// Longer ones are a hold that nobody can take over in time.
constexpr milliseconds kLongestLease{24 * 3'600'000};

// Sums with it do not overflow.
constexpr milliseconds kForEver = std::chrono::hours(24 * 365 * 100);

Error Invalid(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

Error Cannot(const LockCapabilities& can, std::string_view what) {
  return Invalid("the engine " + std::string(can.engine) + " " + std::string(what));
}

}  // namespace

std::string_view ToString(LockMode mode) {
  return mode == LockMode::kExclusive ? "exclusive" : "shared";
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

Status CheckLockTimes(const LeaseTimes& times, milliseconds place) {
  if (times.lease < kShortestLease || times.lease > kLongestLease) {
    return Invalid("a lease lasts from 20 ms to 24 h, not " + std::to_string(times.lease.count()) +
                   " ms");
  }
  if (times.margin < milliseconds(0) || times.Safe() <= times.lease / 2) {
    return Invalid("a margin of " + std::to_string(times.margin.count()) +
                   " ms leaves less than half of a lease of " +
                   std::to_string(times.lease.count()) + " ms");
  }
  if (place < kShortestLease || place > kLongestLease) {
    return Invalid("a place in the queue lasts from 20 ms to 24 h, not " +
                   std::to_string(place.count()) + " ms");
  }
  if (times.max_hold < milliseconds(0) || times.max_hold > kForEver) {
    return Invalid("max_hold is negative, or longer than a century; 0 is no limit");
  }
  return {};
}

Status CheckPatience(milliseconds patience) {
  if (patience < milliseconds(0) || patience > kForEver) {
    return Invalid("patience is negative, or longer than a century");
  }
  return {};
}

Status CheckNeeds(const LockNeeds& needs, const LockCapabilities& can) {
  if (needs.processes && !can.processes) {
    return Cannot(can, "does not exclude other processes");
  }
  if (needs.fair && !can.fair) {
    return Cannot(can, "cannot serve waiters in their order (fair)");
  }
  if (needs.shared && !can.shared) {
    return Cannot(can, "has no shared locks");
  }
  if (needs.fence && !can.fence) {
    return Cannot(can, "has no fences");
  }
  return {};
}

Status CheckAcquire(const AcquireOptions& how, const LockCapabilities& can) {
  if (how.mode == LockMode::kShared && !can.shared) {
    return Cannot(can, "has no shared locks");
  }
  if (how.barge && !can.unfair) {
    return Cannot(can, "lets nobody pass those who wait");
  }
  if (how.wait.spin < milliseconds(0) || how.wait.spin > kForEver) {
    return Invalid("nobody spins for a negative time, or longer than a century");
  }
  return {};
}

}  // namespace oncemq
