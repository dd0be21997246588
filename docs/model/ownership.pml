// SPDX-License-Identifier: Apache-2.0
// Who may act for partition p (rule 9). The group moves p between A and B; an assignment raises
// `own` in the store's record, confirms it by an acknowledged commit, and only then admits. One
// Assignment process per assignment: an old one goes on as a zombie, for as long as it likes, also
// after its process has joined the group again. The broker judges a commit by membership and
// generation, not by partition.
#include "rules.pml"
#include "words.pml"

#define MOVES 2
#define WHO(me) (me == 0 -> A : B)

byte record;         // own in the store's ownership record
byte owner = 1;      // whom the group gives p; the first move gives it to A
byte generation;     // of the group
byte joined[2];      // generation that a consumer is a member of
bool mine[2];        // what a consumer believes
byte epoch[2];       // process-local number of its assignment

byte target_own;     // highest own installed at the effect's target
byte value;          // what the effects read and write
byte accepted;       // effects that the target has taken
byte claimed_term;   // newest assignment (by the group's order) with an accepted claim
byte written_term;   // newest assignment that the target has seen
byte term;           // assignments so far

inline Raise() {
  before = record;
  atomic {
    if
    :: record == before || !RULE_9F ->
      record = (RULE_9B -> before + 1 : mine_epoch);
      own = record;
      printf("%e (assignment %d): raises own to %d\n", WHO(me), my_term, own)
    :: else -> goto again
    fi
  }
}

inline Confirm() {
  atomic {
    acknowledged = (joined[me] == generation);
    printf("%e (assignment %d): commits to confirm\n", WHO(me), my_term);
  }
  atomic {
    if
    :: acknowledged && (!RULE_9D || (mine[me] && epoch[me] == mine_epoch)) ->
      printf("%e (assignment %d): confirmed\n", WHO(me), my_term)
    :: else -> printf("%e (assignment %d): not confirmed, stops\n", WHO(me), my_term); goto over
    fi
  }
}

// Refused for its own. If p is still ours and our commits still work, somebody raised in between:
// start over.
inline Refused() {
  printf("%e (assignment %d): refused for its own %d\n", WHO(me), my_term, own);
  if
  :: RULE_9C && mine[me] && epoch[me] == mine_epoch && joined[me] == generation -> goto again
  :: else -> goto over
  fi
}

proctype Assignment(byte me; byte mine_epoch; byte my_term) {
  byte own, before, seen;
  bool acknowledged;
again:
  if
  :: RULE_9 && RULE_9A -> Raise(); Confirm()
  :: RULE_9 && !RULE_9A -> Confirm(); Raise()
  :: !RULE_9 -> Raise()
  fi;
  atomic {  // a claim, or a completion without a stored claim
    if
    :: own == record || !RULE_9G ->
      printf("%e (assignment %d): claim granted under own %d\n", WHO(me), my_term, own);
      REQUIRE(my_term >= claimed_term,
              "BROKEN: the old owner outranks the new one at the window\n");
      claimed_term = my_term
    :: else -> Refused()
    fi
  }
  atomic {  // the handler reads what it is going to change
    if
    :: RULE_9E && own < target_own -> Refused()
    :: else ->
      if
      :: RULE_9E ->
        target_own = own;
        REQUIRE(my_term >= written_term,
                "BROKEN: the old owner outranks the new one at the target\n");
        written_term = my_term
      :: else
      fi;
      seen = value;
      printf("%e (assignment %d): installs own %d, reads %d\n", WHO(me), my_term, target_own, seen)
    fi
  }
  atomic {
    if
    :: own >= target_own ->
      target_own = own;
      value = seen + 1;
      accepted++;
      printf("%e (assignment %d): effect accepted, writes %d\n", WHO(me), my_term, value);
      REQUIRE(my_term >= written_term,
              "BROKEN: the old owner outranks the new one at the target\n");
      written_term = my_term
    :: else -> Refused()
    fi
  }
over:
}

// p leaves a member that is silent, or gives p up and stays (then it joins again at once).
active proctype Group() {
  byte me;
  bool strayed;
  do
  :: atomic {
      term < MOVES + 1 ->
      owner = 1 - owner;
      generation++;
      joined[owner] = generation;
      mine[owner] = true;
      epoch[owner]++;
      term++;
      printf("group: generation %d, p -> %e (assignment %d)\n", generation, WHO(owner), term);
      run Assignment(owner, epoch[owner], term)
    }
  :: atomic {
      term > 0 && joined[1 - owner] != generation && epoch[1 - owner] > 0 ->
      me = 1 - owner;
      generation++;
      joined[0] = generation;
      joined[1] = generation;
      mine[me] = false;
      printf("%e: learns that p is lost, joins generation %d\n", WHO(me), generation);
      me = 0
    }
  :: atomic {
      !strayed && term > 1 ->
      strayed = true;
      record++;
      printf("store: a raise whose reply was lost arrives once more, own is %d\n", record)
    }
  :: atomic { term > 0 -> break }
  od
}

init {
  atomic {
    timeout ->
    REQUIRE(written_term == term, "BROKEN: the current owner never acted\n");
    REQUIRE(value == accepted, "BROKEN: an update was lost\n")
  }
}
