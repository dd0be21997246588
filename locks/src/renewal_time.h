// SPDX-License-Identifier: Apache-2.0
// How long an engine waits for an answer of its store while it extends holds.
#pragma once

#include <algorithm>
#include <span>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// The shortest of all: claims that are asked together are answered together.
inline milliseconds AnswerWithin(std::span<const LockClaim> claims) {
  milliseconds shortest = milliseconds::max();
  for (const LockClaim& claim : claims) {
    shortest = std::min(shortest, claim.answer_within);
  }
  return shortest;
}

}  // namespace oncemq
