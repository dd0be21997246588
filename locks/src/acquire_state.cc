// SPDX-License-Identifier: Apache-2.0
#include "acquire_state.h"

#include <algorithm>

#include "oncemq/base/hash.h"
#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

constexpr microseconds kShortestSpin{50};
constexpr uint32_t kSpinDoublings = 5;
constexpr microseconds kShortestPause{10'000};
constexpr uint32_t kPauseDoublings = 6;

}  // namespace

AcquireState::AcquireState(const AcquirePlan& plan, BootTime now)
    : plan_(plan),
      one_try_(plan.until && *plan.until <= now),
      spin_until_(plan.wait.how == LockWait::How::kBlock
                      ? now
                      : plan.spins_since.value_or(now) + plan.wait.spin) {}

bool AcquireState::TooLate(BootTime now) const {
  const BootTime ends = plan_.times.End(requested_at_).value_or(BootTime::max());
  return now >= requested_at_ + plan_.times.Safe() || now >= ends;
}

AcquireState::Step AcquireState::Next(BootTime now, bool stopped) {
  const BootTime ends = plan_.times.ends.value_or(BootTime::max());
  if (doing_ == Do::kHold && TooLate(now)) {
    late_since_ = late_since_.value_or(now);
    doing_ = now < ends && now >= *late_since_ + plan_.patience ? Do::kFail : Do::kRequest;
    error_ = Error{Code::kTimeout, Effect::kUnknown,
                   "what the store grants has ended before one hears of it"};
  }
  ONCEMQ_CHECK(doing_ != Do::kHold || owes_, "a hold is owed a release (A2)");
  if (doing_ == Do::kHold || doing_ == Do::kFail) {
    return {doing_};
  }
  const bool spins = plan_.wait.how == LockWait::How::kSpin;
  const bool spun = spins && now >= spin_until_;
  if (stopped || now >= ends || (requested_ && (spun || (plan_.until && now >= *plan_.until)))) {
    return {failing_since_ && !stopped ? Do::kFail : Do::kGiveUp};
  }
  if (doing_ != Do::kRequest && now >= again_at_) {
    doing_ = Do::kRequest;
  }
  if (doing_ == Do::kRequest) {
    const bool waits = !one_try_ && !spins;
    return {Do::kRequest, waits && now >= spin_until_};
  }
  const bool bound = spins && requested_;
  return {doing_, false,
          std::min({again_at_, ends, plan_.until.value_or(BootTime::max()),
                    bound ? spin_until_ : BootTime::max()})};
}

void AcquireState::Answered(const LockAnswer& answer, BootTime requested_at, BootTime now) {
  requested_ = true;
  failing_since_.reset();
  if (answer.kind != LockAnswer::Kind::kGranted) {
    late_since_.reset();
  }
  switch (answer.kind) {
    case LockAnswer::Kind::kGranted:
      doing_ = Do::kHold;
      owes_ = true;
      fence_ = answer.fence;
      requested_at_ = requested_at;
      return;
    case LockAnswer::Kind::kQueued: {
      const milliseconds refresh = plan_.queue_lease / 3;
      doing_ = Do::kAwait;
      owes_ = true;
      tries_ = 0;
      // One more than what is left there: it has ended then.
      again_at_ = now + std::min(refresh, answer.again + milliseconds(1));
      return;
    }
    case LockAnswer::Kind::kBusy: {
      // Nothing is left of this request; an earlier one may still be on its way.
      owes_ = uncertain_;
      if (now < spin_until_) {
        const microseconds pause = kShortestSpin * (1u << std::min(tries_, kSpinDoublings));
        PauseUntil(std::min(spin_until_, now + Spread(pause)));
      } else {
        // A store without a queue.
        const microseconds pause = kShortestPause * (1u << std::min(tries_, kPauseDoublings));
        PauseUntil(now + Spread(pause));
      }
      return;
    }
    case LockAnswer::Kind::kSealed:
      // Nothing was changed: a queue position, or a grant that came too late, is there still.
      error_ = Error{Code::kFenced, Effect::kNone,
                     "this store grants names in epoch " + std::to_string(answer.fence.epoch) +
                         " only: its locks are under a switchboard"};
      doing_ = Do::kFail;
      return;
  }
}

void AcquireState::Failed(const Error& error, BootTime now) {
  requested_ = true;
  uncertain_ = uncertain_ || error.effect == Effect::kUnknown;
  owes_ = owes_ || uncertain_;
  error_ = error;
  if (!failing_since_) {
    failing_since_ = now;
    tries_ = 0;
  }
  if (!IsTransient(error) || now >= *failing_since_ + plan_.patience) {
    doing_ = Do::kFail;
    return;
  }
  PauseUntil(now + Spread(kShortestPause * (1u << std::min(tries_, kPauseDoublings))));
}

void AcquireState::PauseUntil(BootTime time) {
  doing_ = Do::kPause;
  again_at_ = time;
  tries_++;
}

// Between half and one and a half of it.
microseconds AcquireState::Spread(microseconds pause) {
  const auto part = static_cast<int64_t>(MixBits(plan_.chance + tries_) % 1024);
  return pause / 2 + microseconds(pause.count() * part / 1024);
}

}  // namespace oncemq
