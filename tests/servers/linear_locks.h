// SPDX-License-Identifier: Apache-2.0
// Whether a history of calls to a lock store can be: whether there is one order of them, in which
// each is done at some moment between its sending and its answer, that a mutex with leases could
// have given. The search is Wing's and Gong's, with the memory of Lowe's: a set of calls that was
// done and led to the same state is tried once.
//
// The model, for one name. It knows who holds, exclusively, shared or counted, and the last fences.
//
// M1  A grant needs that nobody holds against it, and a counted one that fewer are held than its
//     limit says. Its fence is greater than that of every grant before it; a repeated
//     ask of a holder gets the fence that it has.
// M2  A hold ends by a release, or by itself: not before the sending of the last grant or extension
//     that was acknowledged, plus the lease (less a thousandth, by which clocks may differ). It may
//     last longer. What has ended is not extended, and another grant of it has another fence.
// M3  A call that was not answered may be done at any time after its sending, or never:
//     - an extension changes nothing that anybody may rely on, so it is left out;
//     - a release lets the hold of its token end from its sending on;
//     - a request may have left a hold that nobody knows of. It ends whenever it likes, and is seen
//       only where its token is extended, freed, or granted with an earlier fence than others who
//       hold beside it. A request that was queued, and whose token was never granted, is the same:
//       in some stores the first in the line holds before it asks.
// M4  `gone` and `not held` need that the hold has ended, or never was.
// M5  `busy`, `queued`, `later` and refusals say nothing about holds: a store may keep a name for
//     those who wait, the dead among them.
//
// M6  Where a counted grant needs that some of those who are counted have ended, any of them may be
//     those: each choice is an order of its own. What a request that was not answered may have left
//     is judged by the highest limit of those who hold, as nobody knows when it came.
// M7  Where two stores are asked (half_grants), one of them may have granted what the other one
//     still holds for somebody else. Freeing that needs a request before it, and ends no other
//     hold.
//
// What it does not know: evictions. Holds that overlap on purpose (AcquireOptions::fenced, while a
// store is drained) are for the fences' judge. Where a token is asked for again in a later epoch,
// its earlier hold may be replaced: its owner wants it so.
//
// It is exact because time only ever helps: each condition on a moment is "not before", so the
// earliest moment that an order allows is the best. Open calls do not enter the search, which is
// what makes thousands of calls quick; it is bounded by `most_steps` all the same, and says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lock_calls.h"

namespace oncemq::testing {

struct LinearRules {
  // False: the store may forget what is held at any time (it lost its data, or a failover), so only
  // fences and answers are judged.
  bool keeps_holds = true;
  // Of readers that waited and hold together, the fences are in the order in which they asked
  // first.
  bool fences_of_requests = false;
  // A request that was queued, or not answered, may have been granted by one of two stores.
  bool half_grants = false;
  uint64_t most_steps = 2'000'000;
};

struct LinearVerdict {
  enum class Kind : unsigned char { kYes, kNo, kTooHard };
  Kind kind = Kind::kYes;
  std::string why;     // not kYes: how far it came, and what could not follow
  uint64_t steps = 0;  // calls that were tried
};

// Of one name.
LinearVerdict CheckLinear(std::vector<LockCall> calls, const LinearRules& rules = {});
// Of all names: what is wrong, or could not be decided.
std::vector<std::string> NotLinear(const std::vector<LockCall>& calls,
                                   const LinearRules& rules = {});

}  // namespace oncemq::testing
