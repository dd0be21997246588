// SPDX-License-Identifier: Apache-2.0
// Whose commit is believed (rule 5). Offsets 0 and 1 carry x and y. The window is local: a move
// loses it, a restart does not. Each start completes it from the log: what the commit calls
// finished is marked done. In an outage the operator resets the group to the end, to get going;
// some day later he resets it to the start, to replay what he skipped. His commits carry no
// metadata of ours.
#include "rules.pml"
#include "words.pml"

#define N 2
#define ID(o) (o == 0 -> x : y)

// The commit, with its metadata.
byte frontier, since;
bool ours;             // it carries our metadata

// One process.
mtype marker[N] = kNone;
byte position, known_from;
bool stopped = true;
byte effects[N];
byte incomplete[N];    // effects in a range that the window says it does not know

byte moves = 1;
bool moved, skipped, replayed;

inline Start() {
  stopped = false;
  position = frontier;
  known_from = ((ours || !RULE_5) -> since : frontier);
  o = 0;
  do
  :: o < N ->
    if
    :: o >= known_from && o < frontier -> marker[o] = kDone
    :: moved && !(o >= known_from && o < frontier) -> marker[o] = kNone
    :: else
    fi;
    o++
  :: o == N -> break
  od;
  o = 0;
  moved = false;
  printf("start at %d: marks %d to %d done\n", position, known_from, frontier)
}

inline Deliver() {
  if
  :: marker[position] == kDone -> printf("%e: claim -> kDuplicate\n", ID(position))
  :: else ->
    marker[position] = kDone;
    effects[position]++;
    incomplete[position] = incomplete[position] + (skipped || position < known_from);
    printf("%e: EFFECT\n", ID(position));
    REQUIRE(effects[position] <= 1 + incomplete[position], "BROKEN: twice, and nobody was told\n")
  fi;
  position++;
  frontier = position;
  since = known_from;
  ours = true;
  printf("commit %d, since %d\n", frontier, since)
}

active proctype Consumer() {
  byte o;
end:
  do
  :: atomic { stopped && (!skipped || frontier == N || replayed) -> Start() }
  :: atomic { !stopped && position < N -> Deliver() }
  :: atomic { !stopped && moves > 0 -> moves--; stopped = true; moved = true; printf("p moves\n") }
  :: atomic { moves > 0 -> moves = 0 }
  od
}

active proctype Operator() {
  if
  :: atomic {
      stopped = true;
      skipped = true;
      frontier = N;
      ours = false;
      printf("operator: stops the group, resets it to %d, to get going\n", frontier)
    }
    atomic {
      position == N && !stopped ->
      stopped = true;
      replayed = true;
      frontier = 0;
      ours = false;
      printf("operator: stops the group, resets it to 0, to replay\n")
    }
  :: true
  fi
}

init {
  atomic {
    timeout ->
    REQUIRE(frontier == N, "BROKEN: a message is never finished\n");
    REQUIRE(effects[0] > 0 && effects[1] > 0, "BROKEN: the effect of a message never happens\n")
  }
}
