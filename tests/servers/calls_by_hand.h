// SPDX-License-Identifier: Apache-2.0
// Calls to a lock store as tests of the checker write them down: of one name, with leases of 1,000.
#pragma once

#include <utility>
#include <vector>

#include "linear_locks.h"

namespace oncemq::testing {

using Answer = LockCall::Answer;
using What = LockCall::What;

inline constexpr int64_t kLease = 1'000;

inline LockCall Call(What what, uint64_t token, int64_t from, int64_t to, Answer answer,
                     uint64_t fence = 0) {
  return {.process = static_cast<int64_t>(token),
          .name = "x",
          .token = {1, token},
          .what = what,
          .lease = kLease,
          .requested_at = from,
          .answered_at = answer == Answer::kOpen ? LockCall::kNever : to,
          .answer = answer,
          .fence = {0, fence}};
}
inline LockCall Granted(uint64_t token, int64_t from, int64_t to, uint64_t fence) {
  return Call(What::kRequest, token, from, to, Answer::kGranted, fence);
}
inline LockCall Shared(LockCall call) {
  call.mode = LockMode::kShared;
  return call;
}
inline LockCall Counted(LockCall call, uint32_t limit) {
  call.mode = LockMode::kCounted;
  call.limit = limit;
  return call;
}
inline LockCall Extension(uint64_t token, int64_t from, int64_t to) {
  return Call(What::kExtend, token, from, to, Answer::kExtended);
}
inline LockCall Gone(uint64_t token, int64_t from, int64_t to) {
  return Call(What::kExtend, token, from, to, Answer::kGone);
}
inline LockCall Freed(uint64_t token, int64_t from, int64_t to) {
  return Call(What::kFree, token, from, to, Answer::kFreed);
}
inline LockCall NotHeld(uint64_t token, int64_t from, int64_t to) {
  return Call(What::kFree, token, from, to, Answer::kNotHeld);
}
inline LockCall Open(What what, uint64_t token, int64_t from) {
  return Call(what, token, from, 0, Answer::kOpen);
}
inline LockCall Queued(uint64_t token, int64_t from, int64_t to) {
  return Call(What::kRequest, token, from, to, Answer::kQueued);
}

inline bool Can(std::vector<LockCall> calls, const LinearRules& rules = {}) {
  return CheckLinear(std::move(calls), rules).kind == LinearVerdict::Kind::kYes;
}

}  // namespace oncemq::testing
