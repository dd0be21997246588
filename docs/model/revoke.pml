// SPDX-License-Identifier: Apache-2.0
// Partition p goes from A to B: by a planned move with a deadline, or by loss (rule 21). A lives
// on and is, or becomes again, a member of the group, so the broker takes its commits of p also
// when B owns it: it checks membership, not partitions, and a commit that waited in the client is
// sent with whatever membership there is then. Nothing but the commit tells B what A did: level
// opaque, fast path. B counts what may run twice.
#include "rules.pml"
#include "words.pml"

#ifndef OFFSETS
#define OFFSETS 2
#endif
#define ALL ((1 << OFFSETS) - 1)
#define ID(o) (o == 0 -> x : (o == 1 -> y : z))
#define HAS(set, o) ((set >> o) & 1)
#define BITS(set) HAS(set, 0), HAS(set, 1), HAS(set, 2)

// Sets of offsets. The group, and p's commit with its metadata (F and map make no difference here).
bool b_owns, a_member = true;
byte committed, abandoned;
bool clean;

// A: what it has admitted, where the effect has happened, what it has finished; what it believes.
byte admitted, acted, finished;
bool mine = true;
bool stopping;        // asked to give p back
bool outstanding;     // one commit of p is on its way
byte sent;
bool moved;           // a planned move or a loss, once

byte effects[3], counted;

#define EXTRA(o) (effects[o] > 1 -> effects[o] - 1 : 0)

inline Effect(who, o) {
  effects[o]++;
  printf("%e: EFFECT of %e\n", who, ID(o));
  REQUIRE(EXTRA(0) + EXTRA(1) + EXTRA(2) <= counted,
          "BROKEN: more extra effects than counted as uncertain\n")
}

inline Land(who, set) {
  printf("%e: commit acknowledged, finished: %d%d%d\n", who, BITS(set));
  REQUIRE((committed & (ALL - set)) == 0, "BROKEN: committed work comes open again\n");
  committed = set
}

// The last commit is waited for. It names what is given up with its handlers running.
inline GiveBack() {
  Land(A, finished);
  abandoned = (RULE_21B -> admitted - finished : 0);
  clean = true;
  mine = false;
  b_owns = true;
  printf("A: that was the last commit, gives p back, abandons %d%d%d\n", BITS(abandoned))
}

#define MAY_ADMIT ((mine && !stopping) || (!RULE_21C && b_owns && clean))

inline HandlersOfA(o) {
  if
  :: atomic {
      MAY_ADMIT && !HAS(admitted, o) ->
      admitted = admitted + (1 << o);
      printf("A: admits %e\n", ID(o))
    }
  :: atomic { HAS(admitted, o) && !HAS(acted, o) -> acted = acted + (1 << o); Effect(A, o) }
  :: atomic {
      mine && HAS(acted, o) && !HAS(finished, o) ->
      finished = finished + (1 << o);
      printf("A: %e finished\n", ID(o))
    }
  fi
}

proctype HandlerA(byte o) {
end:
  do
  :: HandlersOfA(o)
  od
}

proctype ConsumerA() {
end:
  do
  :: atomic {
      mine && !stopping && !outstanding && finished != committed ->
      outstanding = true;
      sent = finished;
      printf("A: sends a commit, finished: %d%d%d\n", BITS(sent))
    }
  :: atomic { stopping && mine && a_member && (!outstanding || !RULE_21) -> GiveBack() }
  :: atomic {
      stopping && mine && a_member && outstanding ->
      mine = false;
      b_owns = true;
      a_member = !RULE_21A;
      printf("A: a commit is unknown at the deadline, p is given up, member: %d\n", a_member)
    }
  :: atomic {
      !a_member && (!outstanding || !RULE_21E) ->
      a_member = true;
      mine = (mine && !RULE_21D);
      printf("A: joins the group again\n")
    }
  od
}

active proctype World() {
end:
  do
  :: atomic { !moved -> moved = true }
  :: atomic { !moved -> moved = true; stopping = true; printf("group: asks A for p\n") }
  :: atomic {
      !moved ->
      moved = true;
      a_member = false;
      b_owns = true;
      printf("group: session of A ends, p -> B\n")
    }
  :: atomic { outstanding && a_member -> outstanding = false; Land(A, sent) }
  :: atomic {
      outstanding && !a_member ->
      outstanding = false;
      mine = (mine && !RULE_21D);
      printf("broker: refuses A's commit\n")
    }
  od
}

// B reads the commit, confirms it, and runs what is left. When it dies, C does the same.
proctype NextOwner(mtype me) {
  byte finished_b, suspect, o;
end:
  atomic {
    b_owns ->
    finished_b = committed;
    suspect = ((clean || !RULE_11) -> abandoned : ALL);
    printf("%e: owns p, finished so far: %d%d%d, suspect: %d%d%d\n", me, BITS(finished_b),
           BITS(suspect))
  }
  atomic {
    if
    :: RULE_11A -> clean = false
    :: else
    fi;
    printf("%e: confirms by a commit, clean: %d\n", me, clean)
  }
  do
  :: atomic {
      o < OFFSETS && !HAS(finished_b, o) ->
      if
      :: HAS(suspect, o) -> counted++; printf("%e: %e may run twice, counted\n", me, ID(o))
      :: else
      fi;
      finished_b = finished_b + (1 << o);
      Effect(me, o);
      o++
    }
  :: atomic { o < OFFSETS && HAS(finished_b, o) -> o++ }
  :: atomic { o == OFFSETS -> Land(me, finished_b); break }
  :: atomic { me == B -> printf("B: killed, p -> C\n"); run NextOwner(C); break }
  od
}

init {
  byte o;
  atomic {
    run ConsumerA();
    run NextOwner(B);
    do
    :: o < OFFSETS -> run HandlerA(o); o++
    :: else -> break
    od
  }
  atomic {
    timeout ->
    REQUIRE(committed == ALL, "BROKEN: an offset is never finished\n");
    REQUIRE(effects[0] > 0 && effects[OFFSETS - 1] > 0, "BROKEN: an effect is missing\n")
  }
}
