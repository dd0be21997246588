// SPDX-License-Identifier: Apache-2.0
// Inside one process: partition p leaves with handlers still running, and comes back to the same
// process. Offsets 0, 1, 2 carry the ids x, y, z; mode unordered; one worker per id; claims are
// stored. BETWEEN=0: level opaque, nobody has p in between. Nothing crashes or sleeps, so every
// effect has to happen exactly once, and nothing may become uncertain. BETWEEN=1: level guarded, B
// owns p for a while and may take claims over, finish them, or vanish with them.
#include "rules.pml"
#include "words.pml"

#define N 3
#ifndef OFFSETS
#define OFFSETS 3
#endif
#ifndef REVOKES
#define REVOKES 1
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef BETWEEN
#define BETWEEN 0
#endif
#define ID(o) (o == 0 -> x : (o == 1 -> y : z))

mtype = { kQueued, kRunning, kWaiting, kFinished };  // a delivery of this assignment

// The window's markers, p's ownership record, and the target's ids (level guarded).
mtype marker[N] = kNone;
byte token[N], own[N];
byte record;
bool known[N];

// The core. Slots count the arrivals of an assignment; slot s is offset base + s.
bool assigned;
byte epoch, base;
mtype delivery[N] = kNone;
bool running[N];     // the table of running ids
bool finished[N];    // of this assignment: F and map
bool committed[N];
byte deliveries, applied, suppressed, handed_back;

// What only the model knows, and what may still happen.
byte effects[N];
byte runs[N];        // handlers that run now
byte runs_epoch[N];  // for rule 14 off: the assignment that the table's entry belongs to
byte failures = FAILURES, revokes = REVOKES;

#define OPEN(o) (delivery[o] == kQueued || delivery[o] == kRunning || delivery[o] == kWaiting)
#define REQUIRE_VERDICT \
  REQUIRE(deliveries == applied + suppressed + handed_back + OPEN(0) + OPEN(1) + OPEN(2), \
          "BROKEN: the deliveries do not add up\n")
#define OURS (assigned && epoch == my_epoch)
#define HOLDS (marker[o] == kOpen && token[o] == my_token)

inline Finish(which) {
  delivery[which] = kFinished;
  finished[which] = true;
  applied++
}

// The outcome goes to the run's own delivery, or, when that is gone, to the one that waits for it.
inline DoneOf() {
  if
  :: HOLDS && (OURS || RULE_15) -> marker[o] = kDone; answer = kMade
  :: else -> answer = kFenced
  fi;
  if
  :: OURS -> printf("%e: complete(token %d) -> %e\n", ID(o), my_token, answer)
  :: else -> printf("%e: stale complete(token %d) -> %e\n", ID(o), my_token, answer)
  fi;
  if
  :: OURS || (delivery[o] == kWaiting && RULE_15 && RULE_15C) ->
    if
    :: answer == kMade || !RULE_16C -> Finish(o)
    :: else -> delivery[o] = kQueued  // fenced: look again
    fi
  :: !OURS && delivery[o] == kWaiting && !RULE_15 -> delivery[o] = kQueued
  :: else
  fi;
  if
  :: !OURS && !RULE_51 -> applied++
  :: else
  fi;
  if
  :: !OURS && !RULE_15A && assigned && base + slot < N && OPEN(base + slot) -> Finish(base + slot)
  :: else
  fi
}

inline NotDoneOf() {
  if
  :: HOLDS && (OURS || RULE_15) -> marker[o] = kNone
  :: else
  fi;
  if
  :: OURS || delivery[o] == kWaiting -> delivery[o] = kQueued
  :: else
  fi
}

proctype Handler(byte o; byte my_token; byte my_epoch; byte slot) {
  mtype answer;
  if
  :: atomic {
      failures > 0 ->
      failures--;
      printf("%e: handler says not_done\n", ID(o));
    }
    atomic { runs[o]--; running[o] = false; NotDoneOf() }
  :: atomic {
      if
      :: BETWEEN && known[o] -> printf("%e: the target says already done\n", ID(o))
      :: else ->
        effects[o]++;
        known[o] = true;
        printf("%e: EFFECT\n", ID(o));
        REQUIRE(effects[o] == 1, "BROKEN: an effect happened twice, nobody crashed or slept\n")
      fi
    }
    atomic { runs[o]--; running[o] = false; DoneOf(); answer = 0; REQUIRE_VERDICT }
  fi
}

// A claim of our own old assignment is lower: only the table says that its handler still runs.
inline Start(o) {
  if
  :: running[o] && (RULE_14 || runs_epoch[o] == epoch) ->
    delivery[o] = kWaiting;
    printf("%e: runs already, waits for its outcome\n", ID(o))
  :: else ->
    if
    :: marker[o] == kDone ->
      delivery[o] = kFinished;
      finished[o] = true;
      suppressed++;
      printf("%e: claim -> kDuplicate\n", ID(o))
    :: marker[o] == kNone || (marker[o] == kOpen && own[o] < record) ->
      marker[o] = kOpen;
      token[o]++;
      own[o] = record;
      delivery[o] = kRunning;
      running[o] = true;
      runs_epoch[o] = (RULE_14 -> 0 : epoch);
      runs[o]++;
      printf("%e: claim(token %d, own %d) -> kGranted\n", ID(o), token[o], record);
      REQUIRE(runs[o] == 1, "BROKEN: one id runs twice at a time in one process\n");
      run Handler(o, token[o], epoch, o - base)
    fi
  fi;
  REQUIRE_VERDICT
}

// The deadline has passed: hands back what is open and gives p away; the handlers run on.
inline Revoke() {
  o = 0;
  do
  :: o < N && OPEN(o) -> delivery[o] = kNone; handed_back++; o++
  :: o < N && !OPEN(o) -> delivery[o] = kNone; o++
  :: o == N -> break
  od;
  o = 0;
  assigned = false;
  printf("revoked, handed back so far: %d\n", handed_back)
}

inline Assign() {
  assigned = true;
  between = false;
  epoch++;
  record++;
  base = (!committed[0] -> 0 : (!committed[1] -> 1 : (!committed[2] -> 2 : N)));
  next = base;
  o = 0;
  do
  :: o < N -> finished[o] = committed[o]; o++
  :: o == N -> break
  od;
  o = 0;
  printf("assigned, epoch %d, own %d, from offset %d\n", epoch, record, base)
}

inline Commit() {
  o = 0;
  do
  :: o < N ->
    committed[o] = finished[o];
    REQUIRE(!committed[o] || marker[o] == kDone,
            "BROKEN: the commit passes an unfinished offset\n");
    o++
  :: o == N -> break
  od;
  o = 0;
  printf("commit, finished: %d%d%d\n", committed[0], committed[1], committed[2])
}

// B takes the claim of `which` over at once, or claims it, and finishes it or vanishes with it.
inline Neighbour(which) {
  marker[which] = kOpen;
  token[which]++;
  own[which] = record;
  printf("B: claim of %e (token %d, own %d) -> kGranted\n", ID(which), token[which], record);
  if
  :: true
  :: marker[which] = kDone;
    if
    :: known[which]
    :: else -> known[which] = true; effects[which]++
    fi;
    printf("B: EFFECT, or already done, and done\n")
  fi
}

proctype Core() {
  byte o, next;
  bool between;
end:
  do
  :: atomic { !assigned -> Assign() }
  :: atomic { assigned && revokes > 0 -> revokes--; Revoke() }
  :: atomic { revokes > 0 -> revokes = 0 }
  :: atomic {
      BETWEEN && !assigned && epoch > 0 && !between ->
      between = true;
      record++;
      printf("B: owns p\n")
    }
  :: atomic { between && marker[0] != kDone && own[0] < record -> Neighbour(0) }
  :: atomic { between && marker[1] != kDone && own[1] < record -> Neighbour(1) }
  :: atomic { assigned && next < N && finished[next] -> next++ }
  :: atomic {
      assigned && next < N && !finished[next] ->
      delivery[next] = kQueued;
      deliveries++;
      next++
    }
  :: atomic { delivery[0] == kQueued -> Start(0) }
  :: atomic { delivery[1] == kQueued -> Start(1) }
  :: atomic { OFFSETS == 3 && delivery[2] == kQueued -> Start(2) }
  :: atomic {
      assigned && (finished[0] != committed[0] || finished[1] != committed[1] ||
                   finished[2] != committed[2]) ->
      Commit()
    }
  od
}

init {
  atomic {
    if
    :: OFFSETS < N -> committed[2] = true; marker[2] = kDone; effects[2] = 1
    :: else
    fi;
    run Core()
  }
  atomic {
    timeout ->
    REQUIRE(committed[0] && committed[1] && committed[2], "BROKEN: a delivery is never finished\n");
    REQUIRE(effects[0] == 1 && effects[1] == 1 && effects[2] == 1, "BROKEN: an effect is missing\n")
  }
}
