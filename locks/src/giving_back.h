// SPDX-License-Identifier: Apache-2.0
// Giving back: how a store is told that names are free again. Nothing is kept here, and there is no
// thread; whoever calls keeps what is left.
//
// G1  What the store did not hear is owed to it until it has forgotten it by itself.
// G2  A call that fails for what it was about says nothing of the others in it: each is told alone.
// G3  Only what can never be freed is left to its lease at once. A store that is full, or fails in
//     a way of its own, may have room again.
// G4  An outage ends it: what is behind it is not even tried, so many cost as much time as one.
#pragma once

#include <optional>
#include <string>

#include "batches.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/token.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// What is to be freed, until the store has forgotten it.
struct Owed {
  std::string name;
  Token token;
  BootTime until;
  bool suspect = false;
};
using OwedQueue = Batches<Owed>;

struct GivenBack {
  OwedQueue::Batch left;     // still owed (G1)
  std::optional<Error> why;  // the last thing that went wrong
  bool outage = false;
};
// In one call, if all goes well.
GivenBack GiveBackTogether(LockEngine& engine, const OwedQueue::Batch& batch);
// Any number, in as many calls as that takes; those who are not through by `until` are left.
GivenBack GiveBackAll(LockEngine& engine, OwedQueue owed, const Clock& clock, BootTime until);

}  // namespace oncemq
