// SPDX-License-Identifier: Apache-2.0
#include "lease_state.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

// Two quartz clocks differ by 0.02 % at worst; five times that, and their granularity.
constexpr int kDriftParts = 1000;
constexpr milliseconds kGranularity{2};
// No store answers reliably in less.
constexpr milliseconds kShortestAnswer{50};

}  // namespace

milliseconds LeaseTimes::Safe() const {
  const milliseconds kept = margin + lease / kDriftParts + kGranularity;
  return std::max(milliseconds(0), lease - kept);
}

std::optional<BootTime> LeaseTimes::End(BootTime requested_at) const {
  if (max_hold == milliseconds(0)) {
    return ends;
  }
  return std::min(requested_at + max_hold, ends.value_or(BootTime::max()));
}

LeaseState::LeaseState(const LeaseTimes& times, BootTime requested_at)
    : times_(times),
      longest_(times.End(requested_at).value_or(BootTime::max())),
      safe_until_(requested_at + times.Safe()),
      renew_at_(requested_at + times.lease / 3) {}

LeaseState::Due LeaseState::At(BootTime now) {
  if (lost_ == LeaseLoss::kNot && now >= too_long_at()) {
    lost_ = LeaseLoss::kTooLong;
  }
  if (lost_ == LeaseLoss::kNot && now >= safe_until_) {
    lost_ = LeaseLoss::kDeadline;
  }
  Due due;
  if (lost_ != LeaseLoss::kNot) {
    if (!reported_) {
      reported_ = true;
      due.lost = lost_;
    }
    return due;
  }
  if (!renewing_ && now >= renew_at_) {
    renewing_ = true;
    due.renew = true;
  }
  return due;
}

std::optional<BootTime> LeaseState::next() const {
  if (reported_) {
    ONCEMQ_CHECK(lost_ != LeaseLoss::kNot, "only a lost hold is told as lost (L3)");
    return std::nullopt;
  }
  if (lost_ != LeaseLoss::kNot) {
    return BootTime::min();
  }
  return renewing_ ? safe_until() : std::min(safe_until(), renew_at_);
}

BootTime LeaseState::safe_until() const {
  return std::min(safe_until_, too_long_at());
}

void LeaseState::EndAt(BootTime end, BootTime now) {
  if (now < safe_until()) {  // seen or not, it is over then
    end_ = end;
  }
}

milliseconds LeaseState::AnswerWithin(BootTime now) const {
  const milliseconds sixth = std::max(times_.lease / 6, kShortestAnswer);
  const auto left = std::chrono::floor<milliseconds>(std::max(safe_until() - now, microseconds(0)));
  return failed_ ? std::max(sixth, left) : sixth;
}

void LeaseState::Renewed(BootTime requested_at, BootTime now) {
  failed_ = false;
  RenewAt(requested_at + times_.lease / 3);
  if (lost_ != LeaseLoss::kNot || now >= safe_until_) {
    return;
  }
  safe_until_ = std::max(safe_until_, requested_at + times_.Safe());
}

void LeaseState::RenewalFailed(BootTime now) {
  failed_ = true;
  RenewAt(now + times_.lease / 20);
}

// An answer came. Of what was doubted meanwhile it says nothing.
void LeaseState::RenewAt(BootTime at) {
  ONCEMQ_CHECK(renewing_ || !warned_, "a doubt is kept for a renewal on its way (L6)");
  renew_at_ = warned_ ? BootTime::min() : at;
  renewing_ = false;
  warned_ = false;
}

void LeaseState::Warned() {
  if (renewing_) {
    warned_ = true;
  } else {
    renew_at_ = BootTime::min();
  }
}

void LeaseState::End(LeaseLoss why) {
  if (lost_ == LeaseLoss::kNot) {
    lost_ = why;
  }
}

}  // namespace oncemq
