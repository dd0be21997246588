// SPDX-License-Identifier: Apache-2.0
// The commit: (F, map) with the verdict's totals as one snapshot, and a consumer that is killed at
// any step. Offsets 0, 1, 2 carry x, y and a copy of x; mode unordered, so they finish in any
// order. The window is durable; the target checks ids (level guarded). One commit at a time is
// outstanding; a crash may lose it or let it land.
#include "rules.pml"
#include "words.pml"

#define N 3
#ifndef CRASHES
#define CRASHES 1
#endif
#define ID(o) (o == 1 -> y : x)
#define ID_OF(o) (o == 1)  // index of its marker

mtype = { kApplied, kSuppressed };

// The window and the target.
mtype marker[2] = kNone;
byte at[2], own[2];   // of the claim
bool known[2];
byte effects;

// The commit at the broker, and the one that is on its way.
typedef Snapshot {
  byte frontier;
  bool map[N];
  byte applied, suppressed;
}
Snapshot committed, sent;
bool outstanding;

// One incarnation of the consumer.
byte incarnation;
// 0, kOpen (claimed), kMade (effect done), kApplied, kSuppressed, kDone (the commit showed it).
mtype delivery[N];
bool finished[N];
byte applied, suppressed, counted_to;
byte crashes = CRASHES;

#define LOWEST_UNFINISHED (!finished[0] -> 0 : (!finished[1] -> 1 : (!finished[2] -> 2 : 3)))
#define BEHIND_HIGHEST (finished[2] -> 3 : (finished[1] -> 2 : (finished[0] -> 1 : 0)))

#define NEWS(o) (finished[o] && o >= committed.frontier && !committed.map[o])

inline Count(o) {
  if
  :: delivery[o] == kApplied -> applied++
  :: delivery[o] == kSuppressed -> suppressed++
  :: else
  fi
}

inline Finish(o, bucket) {
  delivery[o] = bucket;
  finished[o] = true;
  printf("%e@%d: %e\n", ID(o), o, bucket);
  if
  :: RULE_51B -> Count(o)
  :: else
  fi
}

// Same coordinates and a lower own: by ownership. Another offset waits for the lease, which may
// end at any time.
inline Claim(o) {
  if
  :: marker[ID_OF(o)] == kDone && at[ID_OF(o)] == o && RULE_51C -> Finish(o, kApplied)
  :: marker[ID_OF(o)] == kDone && !(at[ID_OF(o)] == o && RULE_51C) -> Finish(o, kSuppressed)
  :: else ->
    marker[ID_OF(o)] = kOpen;
    at[ID_OF(o)] = o;
    own[ID_OF(o)] = incarnation;
    delivery[o] = kOpen;
    printf("%e@%d: claim -> kGranted\n", ID(o), o);
    if
    :: RULE_27
    :: else -> finished[o] = true
    fi
  fi
}

#define MAY_CLAIM(o) \
  (delivery[o] == 0 && (marker[ID_OF(o)] != kOpen || own[ID_OF(o)] < incarnation))

inline Effect(o) {
  if
  :: known[ID_OF(o)] -> printf("%e@%d: the target says already done\n", ID(o), o)
  :: else -> known[ID_OF(o)] = true; effects++; printf("%e@%d: EFFECT\n", ID(o), o)
  fi;
  delivery[o] = kMade
}

inline Send() {
  outstanding = true;
  sent.frontier = (RULE_27A -> LOWEST_UNFINISHED : BEHIND_HIGHEST);
  o = 0;
  do
  :: o < N && !RULE_51B && o >= counted_to && o < sent.frontier -> Count(o); o++
  :: o < N && !(!RULE_51B && o >= counted_to && o < sent.frontier) -> o++
  :: o == N -> break
  od;
  counted_to = (RULE_51B -> 0 : sent.frontier);
  o = 0;
  do
  :: o < N -> sent.map[o] = (finished[o] && o > sent.frontier); o++
  :: o == N -> break
  od;
  o = 0;
  sent.applied = applied;
  sent.suppressed = suppressed;
  printf("commit sent: F %d, finished above it %d%d%d, totals %d + %d\n", sent.frontier,
         sent.map[0], sent.map[1], sent.map[2], applied, suppressed)
}

inline Land() {
  outstanding = false;
  committed.frontier = sent.frontier;
  o = 0;
  do
  :: o < N ->
    committed.map[o] = sent.map[o];
    REQUIRE(!(o < committed.frontier || committed.map[o]) || marker[ID_OF(o)] == kDone,
            "BROKEN: the commit passes an unfinished offset\n");
    o++
  :: o == N -> break
  od;
  o = 0;
  committed.applied = (RULE_27B -> sent.applied : applied);
  committed.suppressed = (RULE_27B -> sent.suppressed : suppressed);
  printf("commit lands, totals: %d applied, %d suppressed\n", committed.applied,
         committed.suppressed);
  REQUIRE(committed.applied + committed.suppressed == committed.frontier +
          (RULE_51B -> committed.map[0] + committed.map[1] + committed.map[2] : 0),
          "BROKEN: the totals do not add up\n")
}

// Reads (F, map, totals) and starts from there; what the map shows isn't delivered again.
inline Start() {
  incarnation++;
  o = 0;
  do
  :: o < N ->
    finished[o] = (o < committed.frontier || committed.map[o]);
    delivery[o] = (finished[o] -> kDone : 0);
    o++
  :: o == N -> break
  od;
  o = 0;
  applied = (RULE_51A -> committed.applied : 0);
  suppressed = (RULE_51A -> committed.suppressed : 0);
  counted_to = (RULE_51B -> 0 : committed.frontier);
  printf("start %d: from offset %d\n", incarnation, committed.frontier)
}

active proctype Consumer() {
  byte o;
  atomic { Start() }
end:
  do
  :: atomic { MAY_CLAIM(0) -> Claim(0) }
  :: atomic { MAY_CLAIM(1) -> Claim(1) }
  :: atomic { MAY_CLAIM(2) -> Claim(2) }
  :: atomic { delivery[0] == kOpen -> Effect(0) }
  :: atomic { delivery[1] == kOpen -> Effect(1) }
  :: atomic { delivery[2] == kOpen -> Effect(2) }
  :: atomic { delivery[0] == kMade -> marker[0] = kDone; Finish(0, kApplied) }
  :: atomic { delivery[1] == kMade -> marker[1] = kDone; Finish(1, kApplied) }
  :: atomic { delivery[2] == kMade -> marker[0] = kDone; Finish(2, kApplied) }
  :: atomic { !outstanding && (NEWS(0) || NEWS(1) || NEWS(2)) -> Send() }
  :: atomic { outstanding -> Land() }
  :: atomic { crashes > 0 -> crashes--; outstanding = false; printf("killed\n"); Start() }
  :: atomic { crashes > 0 && outstanding -> crashes--; Land(); printf("killed\n"); Start() }
  :: atomic { crashes > 0 -> crashes = 0 }
  od
}

init {
  atomic {
    timeout ->
    REQUIRE(committed.frontier == N, "BROKEN: the frontier never passes\n");
    REQUIRE(effects == 2, "BROKEN: an effect is missing, or happened twice\n");
    REQUIRE(committed.applied == effects, "BROKEN: applied is not the number of effects\n")
  }
}
