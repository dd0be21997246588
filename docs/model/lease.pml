// SPDX-License-Identifier: Apache-2.0
// The local assignment lease of the fast path (rule 10). A checks it before an effect starts; the
// broker gives p to B when A's session has ended, or when a rebalance has waited long enough for
// A. Time goes in steps; a commit, its processing and its reply take as long as they like, and A
// may sleep at any point. It narrows level opaque and does not close it: an effect that started in
// time may still land late. The claim here is that none starts late.
#include "rules.pml"
#include "words.pml"

#define SESSION 6
#define HEARTBEAT 2
// How long the broker waits for its members; librdkafka: at least the session time-out.
#define REBALANCE SESSION
#define MARGIN (RULE_10C -> HEARTBEAT : 0)
#define END 14
#define NEVER 99

mtype = { kSent, kProcessed };

byte now;
byte heard;                // when the broker heard of A
byte rebalance = NEVER;    // since when the broker waits
bool b_owns;
byte safe_until = SESSION - MARGIN; // from the commit that confirmed the assignment, sent at 0
bool told;                 // A knows of the rebalance
mtype commit = kNone;
byte sent_at;

// A client that runs has heard of a rebalance one heartbeat later.
#define AWAKE (rebalance == NEVER || told || now < rebalance + HEARTBEAT)

active proctype ClientOfA() {
end:
  do
  :: atomic {
      !b_owns && AWAKE && commit == kNone ->
      commit = kSent;
      sent_at = now;
      printf("%d A: sends a commit\n", now)
    }
  :: atomic {
      commit == kProcessed && (!told || !RULE_10B) ->
      commit = kNone;
      safe_until = (RULE_10A -> sent_at : now) + SESSION - MARGIN;
      printf("%d A: commit acknowledged, safe until %d\n", now, safe_until)
    }
  :: atomic {
      commit == kProcessed && told && RULE_10B ->
      commit = kNone;
      printf("%d A: acknowledged, not renewed\n", now)
    }
  :: atomic {
      !b_owns ->
      heard = now;
      told = (rebalance != NEVER);
      printf("%d A: heartbeat, told: %d\n", now, told)
    }
  od
}

active proctype WorkerOfA() {
end:
  do
  :: atomic {
      now < safe_until || !RULE_10 ->
      printf("%d A: an effect starts\n", now);
      REQUIRE(!b_owns, "BROKEN: an effect starts after p was given away\n");
      break
    }
  :: atomic {
      now >= safe_until && RULE_10 ->
      printf("%d A: past its lease, starts nothing\n", now);
      break
    }
  od
}

active proctype Broker() {
end:
  do
  :: atomic { now < END -> now++ }
  :: atomic {
      commit == kSent && !b_owns ->
      commit = kProcessed;
      heard = now;
      printf("%d broker: commit\n", now)
    }
  :: atomic {
      commit == kSent && b_owns ->
      commit = kNone;
      printf("%d broker: commit refused\n", now)
    }
  :: atomic {
      rebalance == NEVER && !b_owns ->
      rebalance = now;
      printf("%d broker: rebalance begins\n", now)
    }
  :: atomic {
      !b_owns && now >= heard + SESSION ->
      b_owns = true;
      printf("%d broker: session over, p -> B\n", now)
    }
  :: atomic {
      !b_owns && rebalance != NEVER && now >= rebalance + REBALANCE ->
      b_owns = true;
      printf("%d broker: rebalance goes on without A, p -> B\n", now)
    }
  od
}
