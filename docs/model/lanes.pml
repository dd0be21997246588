// SPDX-License-Identifier: Apache-2.0
// Two workers, two ids, crossing (rule 17). Worker 0 has x before y, worker 1 has the copies y
// before x. Each claims its run in one batch; the claims of a batch reach the store one by one, in
// any order. Both renew for ever, so no lease ends. ONE_LANE=1: the two messages of a worker are
// one lane. ONE_LANE=0: a lane each, one worker for both.
#include "rules.pml"
#include "words.pml"

#ifndef ONE_LANE
#define ONE_LANE 1
#endif

mtype = { kSent };  // a claim that is on its way

#define NOBODY 2
#define WHO(me) (me == 0 -> A : B)
#define ID(i) (i == 0 -> x : y)
#define AT(k) (me == 0 -> k : 1 - k)  // id of the k-th message of a worker

mtype marker[2] = kNone;
byte holder[2] = NOBODY;
byte effects[2];
byte finished[2];

inline Claim(k) {
  id = AT(k);
  if
  :: marker[id] == kNone -> marker[id] = kOpen; holder[id] = me; got[k] = kGranted
  :: marker[id] == kDone -> got[k] = kDuplicate
  :: else -> got[k] = kInFlight
  fi;
  printf("%e: claims %e -> %e\n", WHO(me), ID(id), got[k]);
  id = 0
}

inline Release(k) {
  id = AT(k);
  marker[id] = kNone;
  holder[id] = NOBODY;
  got[k] = 0;
  printf("%e: releases %e\n", WHO(me), ID(id));
  id = 0
}

// Runs the k-th message, or suppresses it.
inline Take(k) {
  id = AT(k);
  if
  :: got[k] == kGranted ->
    effects[id]++;
    marker[id] = kDone;
    holder[id] = NOBODY;
    printf("%e: runs %e, done\n", WHO(me), ID(id))
  :: else -> printf("%e: suppresses %e\n", WHO(me), ID(id))
  fi;
  REQUIRE(effects[id] == 1, "BROKEN: an effect happened twice\n");
  got[k] = kDone;
  finished[me]++;
  alone = false;
  id = 0
}

#define READY(k) (got[k] == kGranted || got[k] == kDuplicate)
#define LEFT(k) (got[k] != kDone)
#define FREE(k) (marker[AT(k)] != kOpen)
#define HOLDS_BEHIND (got[0] == kInFlight && got[1] == kGranted)

proctype Worker(byte me) {
  mtype got[2];
  byte id;
  bool alone;  // the head waited: the lane goes on with its head alone until it moves
  do
  :: atomic { finished[me] == 2 -> break }
  :: atomic {
      finished[me] < 2 ->
      if
      :: got[1] == 0 && (!ONE_LANE || !LEFT(0) || (got[0] == 0 && !alone)) -> got[1] = kSent
      :: else
      fi;
      if
      :: got[0] == 0 -> got[0] = kSent
      :: else
      fi
    }
    do
    :: atomic { got[0] == kSent -> Claim(0) }
    :: atomic { got[1] == kSent -> Claim(1) }
    :: atomic { got[0] != kSent && got[1] != kSent -> break }
    od;
    if
    :: atomic { READY(0) -> Take(0) }
progress_head:
      skip
    :: atomic { !LEFT(0) && READY(1) -> Take(1) }
progress_second:
      skip
    :: atomic { !ONE_LANE && RULE_17B && got[0] == kInFlight && READY(1) -> Take(1) }
progress_other_lane:
      skip
    :: atomic { ONE_LANE && RULE_17 && HOLDS_BEHIND -> Release(1); alone = RULE_17A }
    :: atomic {
        got[0] == kInFlight && !(ONE_LANE && RULE_17 && HOLDS_BEHIND) && FREE(0) ->
        got[0] = 0
      }
    :: atomic {
        got[1] == kInFlight && FREE(1) &&
        (!LEFT(0) || (!ONE_LANE && RULE_17B && got[0] == kInFlight)) ->
        got[1] = 0
      }
    fi
  od
}

init {
  atomic { run Worker(0); run Worker(1) }
  atomic {
    timeout ->
    REQUIRE(finished[0] == 2 && finished[1] == 2, "BROKEN: the lanes are never finished\n")
  }
}
