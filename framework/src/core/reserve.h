// SPDX-License-Identifier: Apache-2.0
// Reserve: how far handlers may be called before the next commit is acknowledged (rule 11). Each
// commit states a bound, and its acknowledgement puts the bound into force. So the next owner knows
// how far a dead one can have come: no further than the commit that it finds says.
//
// Promise: the stated bound never falls within an assignment; an offset that Covers() allows lies
// below the bound of a commit that was acknowledged. The bound is twice as far ahead as the last
// interval between two commits has come, so a steady stream never waits for it, and a dead owner
// leaves little more than the work of three intervals in doubt.
//
// Thread safety: none; lives inside the core.
#pragma once

#include <algorithm>
#include <cstdint>

#include "oncemq/base/check.h"

namespace oncemq {

class Reserve {
 public:
  // `most`: offsets that a bound lies ahead at most.
  explicit Reserve(uint32_t most) : most_(std::max<int64_t>(most, kLeast)) {}

  // A new assignment begins at `start`; an earlier owner may have come up to `inherited`.
  void Start(int64_t start, int64_t inherited) {
    in_force_ = taken_ = taken_before_ = start;
    stated_ = std::max(start, inherited);
    lowest_kept_ = kNone;
    ahead_ = kLeast;
  }

  bool Covers(int64_t offset) const { return offset < in_force_; }
  // The message goes to a worker: its handler may be called.
  void Take(int64_t offset) {
    ONCEMQ_CHECK(Covers(offset), "only what an acknowledged commit has reserved may be begun");
    taken_ = std::max(taken_, offset + 1);
  }
  // The message would have gone to a worker, but for the bound. Offsets may be missing below it.
  void KeepBack(int64_t offset) {
    lowest_kept_ = lowest_kept_ == kNone ? offset : std::min(lowest_kept_, offset);
  }

  // The bound that the commit sent now states. A near one leaves few messages in doubt after a
  // death.
  int64_t State(bool near = false) {
    ahead_ = std::clamp(2 * (taken_ - taken_before_), kLeast, near ? kNear : most_);
    const int64_t next = lowest_kept_ == kNone ? taken_ : std::max(taken_, lowest_kept_ + 1);
    stated_ = std::max(stated_, next + ahead_);
    taken_before_ = taken_;
    lowest_kept_ = kNone;
    return stated_;
  }
  void Acknowledged(int64_t bound) {
    ONCEMQ_CHECK(bound <= stated_, "a bound is stated before it is acknowledged");
    in_force_ = std::max(in_force_, bound);
    lowest_kept_ = kNone;  // what was kept back is offered again now
  }
  // A commit is wanted before its interval is over: half of the offsets ahead is used up, or a
  // message waits for the bound.
  bool Short() const { return lowest_kept_ != kNone || taken_ + ahead_ / 2 > in_force_; }

 private:
  static constexpr int64_t kLeast = 64;  // offsets ahead, of a partition at rest
  static constexpr int64_t kNear = 1'024;
  static constexpr int64_t kNone = -1;

  int64_t most_;
  int64_t in_force_ = 0;
  int64_t stated_ = 0;        // by the last commit that was sent
  int64_t taken_ = 0;         // one above the highest that went to a worker
  int64_t taken_before_ = 0;  // the same at the last commit
  int64_t lowest_kept_ = kNone;
  int64_t ahead_ = kLeast;
};

}  // namespace oncemq
