// SPDX-License-Identifier: Apache-2.0
// What several processes asked of a lock store, and what it answered: one line of a common file
// when a call is made, one when it is answered. All times are those of the machine's one boot
// clock, in microseconds: taken before the call is sent, and after its answer is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "oncemq/base/fence.h"
#include "oncemq/base/token.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

struct LockCall {
  enum class What : unsigned char { kRequest, kExtend, kFree };
  enum class Answer : unsigned char {
    kOpen,     // none came, or one that leaves it in doubt: it may be done at any time, or never
    kNothing,  // nothing was changed: refused, sealed, busy, later
    kQueued,
    kGranted,
    kExtended,
    kGone,
    kFreed,
    kNotHeld,
  };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  int64_t process = 0;
  std::string name;
  Token token;
  What what = What::kRequest;
  LockMode mode = LockMode::kExclusive;  // of a request
  int64_t lease = 0;                     // of a request or an extension
  int64_t requested_at = 0;
  int64_t answered_at = kNever;
  Answer answer = Answer::kOpen;
  Fence fence;         // of a grant
  uint32_t limit = 0;  // of a counted ask
};

// For people.
std::string ToString(const LockCall& call);

// `number` names a call of its process.
std::string RequestedLine(const LockCall& call, uint64_t number);
std::string AnsweredLine(const LockCall& call, uint64_t number);
// All calls of a file, in the order in which they were made. Names are without spaces.
std::vector<LockCall> ReadCalls(const std::filesystem::path& file);

}  // namespace oncemq::testing
