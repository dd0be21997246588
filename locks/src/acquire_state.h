// SPDX-License-Identifier: Apache-2.0
// AcquireState: one attempt to get a name, from the first request to a hold or to giving up.
// Without clock or I/O: whoever drives it does what Next() says and tells what came of it.
//
// A1  A request whose answer was lost is asked again by the same token; no other token ever
//     follows.
// A2  Whoever gives up owes the store a Free if a request may have left something there, also if
//     the store refuses it in the end because it was sealed meanwhile.
// A3  A grant counts from the sending of the request that it answers; one that came too late to be
//     relied on, or behind the end of what it may last, is asked again, as long as patience lasts.
// A4  A queue position is asked for again before it ends, so a waiter that lives keeps its turn.
#pragma once

#include <optional>

#include "lease_state.h"
#include "oncemq/base/check.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

struct AcquirePlan {
  LeaseTimes times;
  milliseconds queue_lease{5'000};
  milliseconds patience{10'000};
  LockWait wait;
  std::optional<BootTime> until;
  uint64_t chance = 0;                  // spreads those who ask again at the same time
  std::optional<BootTime> spins_since;  // none: since now
};

class AcquireState {
 public:
  AcquireState(const AcquirePlan& plan, BootTime now);

  enum class Do : unsigned char {
    kRequest,  // ask the store; `queue` says how
    kAwait,    // wait to be woken, until `until` at the latest
    kPause,    // wait until `until`; nobody wakes
    kHold,     // it is ours: fence(), counted from requested_at()
    kGiveUp,   // it is not, and that is an answer
    kFail,     // it is not, and that is error()
  };
  struct Step {
    Do what = Do::kRequest;
    bool queue = false;
    BootTime until{};
  };
  Step Next(BootTime now, bool stopped);

  void Answered(const LockAnswer& answer, BootTime requested_at, BootTime now);
  void Failed(const Error& error, BootTime now);
  // What ended it does not matter: asking decides.
  void AwaitEnded() { doing_ = Do::kRequest; }
  // Without wakes a waiter still asks in time, as A4 says.
  void AwaitFailed() { doing_ = Do::kPause; }

  // Whether something of ours may be left at the store.
  bool owes() const { return owes_; }
  const Fence& fence() const { return fence_; }
  BootTime requested_at() const { return requested_at_; }
  const Error& error() const {
    ONCEMQ_CHECK(error_.has_value(), "an attempt that fails says why");
    return *error_;
  }

 private:
  bool TooLate(BootTime now) const;
  void PauseUntil(BootTime time);
  microseconds Spread(microseconds pause);

  const AcquirePlan plan_;
  const bool one_try_;
  const BootTime spin_until_;
  Do doing_ = Do::kRequest;
  bool requested_ = false;
  bool owes_ = false;
  bool uncertain_ = false;  // a request was not answered
  uint32_t tries_ = 0;      // in a row without a new situation
  BootTime again_at_{};     // of kAwait and kPause
  std::optional<BootTime> failing_since_;
  std::optional<BootTime> late_since_;  // all grants since then came too late
  std::optional<Error> error_;
  Fence fence_;
  BootTime requested_at_{};
};

}  // namespace oncemq
