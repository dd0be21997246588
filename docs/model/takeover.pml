// SPDX-License-Identifier: Apache-2.0
// Claim, takeover, completion, commit, reassignment and zombie, of one id x.
// x lies at offset 0 of partition p, which the group moves between A and B; each may be slow,
// silent or killed. OTHER adds a second reader: R replays the very same coordinates, C owns
// partition q with a copy of x. The window is one atomic step per call; a call may time out at its
// caller and still arrive, now, late or never: the caller repeats it with the same token.
// OPAQUE=0: level guarded, the target stores the id with the effect, and checks a fence besides.
// OPAQUE=1: nobody can check. FAULTS: how many faults of any kind a run may have.
#include "rules.pml"
#include "words.pml"

#ifndef OPAQUE
#define OPAQUE 0
#endif
#ifndef OTHER
#define OTHER R
#endif
#ifndef FAULTS
#define FAULTS 2
#endif

#define AT_P 1
#define AT_Q 2
#define OWN_OF_Q 7
#define NOBODY 3
#define WHO(me) (me == 0 -> A : (me == 1 -> B : OTHER))

// The target of the effect.
bool known;            // it has stored the id
byte target_own;       // highest own installed
byte effects;

// The group, and the committed frontiers.
byte owner, term = 1;
byte frontier_p, frontier_q;

// A call that timed out at its caller and is still on its way.
mtype = { kClaim, kComplete, kRelease };
mtype late_call = kNone;
byte late_token, late_own, late_at, late_by;

// The readers: A, B, and C or R.
bool dead[3];
byte held[3];          // the token that each of them knows
byte running[3];       // the token that its handler runs under
byte served[3];        // the assignment of p that it works for (C and R: none)

// What only the model knows: about the open claim ...
byte holder = NOBODY;
byte holder_term;      // the holder claimed in that assignment
bool overran;          // it slept beyond its lease, or beyond the handler time-out after a raise
bool reported;         // it has told the window that the run is over
// ... about all attempts ...
byte maybe;            // attempts that had, or may still have, their effect
byte counted;          // effects counted as uncertain
// ... and what may still happen.
byte faults = FAULTS;

#include "window.pml"

// The call that follows is a repetition: the first one timed out, and is on its way.
inline MayBeLate(call) {
  if
  :: faults > 0 && late_call == kNone ->
    faults--;
    late_call = call;
    late_token = my_token;
    late_own = my_own;
    late_at = my_at;
    late_by = me;
    printf("%e: %e(token %d) times out\n", WHO(me), call, my_token)
  :: true
  fi
}

// Random in the code; here the lowest that nobody remembers, which keeps the model small.
inline NewToken() {
  held[me] = 0;
  my_token = (RULE_14A -> 1 : me + 1);
  do
  :: RULE_14A && (my_token == token || my_token == late_token || my_token == held[0] ||
                  my_token == held[1] || my_token == held[2]) -> my_token++
  :: else -> break
  od;
  held[me] = my_token
}

// Handler and effect. Leaves by `refused` when the target has seen a higher own.
inline Handle() {
  if
  :: !OPAQUE && OWNED ->
    atomic {
      if
      :: my_own >= target_own ->
        target_own = my_own;
        printf("%e: installs own %d at the target\n", WHO(me), my_own)
      :: else -> goto refused
      fi
    }
  :: else
  fi;
  atomic {
    if
    :: !OPAQUE && known && RULE_1 -> printf("%e: the target says already done\n", WHO(me))
    :: !OPAQUE && OWNED && my_own < target_own -> goto refused
    :: else ->
      effects++;
      known = true;
      printf("%e: EFFECT\n", WHO(me));
      REQUIRE(OPAQUE || effects == 1, "BROKEN: effect twice at a target that checks\n");
      REQUIRE(effects <= 1 + counted || !OPAQUE, "BROKEN: more extra effects than uncertain ones\n")
    fi;
    MayBeLate(kComplete)
  }
}

// From the claim to the answer of the completion. Leaves by `finish`, by `outdated` (own is too
// low for a claim), or at its end: fenced.
inline Work() {
  skip;
ask:
  atomic { NewToken(); MayBeLate(kClaim) }
again:
  atomic {
    Claim();
    printf("%e: claim(token %d, own %d) -> %e\n", WHO(me), my_token, my_own, answer);
    if
    :: answer == kGranted -> answer = 0; running[me] = my_token; maybe = maybe + OPAQUE
    :: answer == kDuplicate -> answer = 0; goto finish
    :: answer == kFenced -> answer = 0; goto outdated
    :: answer == kInFlight && RULE_16B -> answer = 0; goto wait
    :: answer == kInFlight && !RULE_16B -> answer = 0; goto finish
    fi
  }
  if
  :: atomic {
      faults > 0 ->
      faults--;
      maybe = maybe - OPAQUE;
      printf("%e: handler says not_done\n", WHO(me));
      MayBeLate(kRelease)
    }
    atomic {
      Release();
      running[me] = 0;
      printf("%e: release(token %d) -> %e\n", WHO(me), my_token, answer);
      answer = 0;
      goto ask
    }
  :: true
  fi;
  Handle();
  atomic {
    Complete();
    running[me] = 0;
    printf("%e: complete(token %d) -> %e\n", WHO(me), my_token, answer);
    if
    :: answer == kMade -> answer = 0; goto finish
    :: else -> answer = 0; goto fenced
    fi
  }
wait:
  (state != kOpen || MAY_TAKE || OUTDATED);
  goto again;
refused:
  atomic {
    running[me] = 0;
    maybe = maybe - OPAQUE;
    printf("%e: own %d is refused at the target\n", WHO(me), my_own)
  }
fenced:
  skip
}

#define OWNS (owner == me && term == served[me])

proctype Consumer(byte me) {
  byte my_own, my_token;
  byte my_at = AT_P;
  mtype answer;
  {
end:
    do
    :: atomic {
        owner == me && term != served[me] ->
        served[me] = term;
        printf("%e: assigned p\n", WHO(me))
      }
raise:
      atomic { record++; my_own = record; printf("%e: raises own to %d\n", WHO(me), my_own) }
      atomic {
        if
        :: OWNS && frontier_p == 0 -> printf("%e: confirmed\n", WHO(me))
        :: OWNS && frontier_p == 1 -> printf("%e: confirmed, x is committed\n", WHO(me)); goto over
        :: else -> printf("%e: not confirmed, stops\n", WHO(me)); goto over
        fi
      }
      Work();
      if
      :: atomic { OWNS && !RULE_16 -> goto finish }
      :: atomic { OWNS && RULE_16 && !RULE_16A -> goto over }
      :: atomic { OWNS && RULE_16 && RULE_16A -> printf("%e: looks again\n", WHO(me)); goto ask }
      :: atomic { !OWNS -> printf("%e: p is lost, drops x\n", WHO(me)); goto over }
      fi;
outdated:
      if
      :: atomic { OWNS -> printf("%e: commits still work, starts over\n", WHO(me)); goto raise }
      :: atomic { !OWNS -> goto over }
      fi;
finish:
      atomic {
        if
        :: OWNS ->
          frontier_p = 1;
          printf("%e: commits\n", WHO(me));
          REQUIRE(state == kDone, "BROKEN: the commit passes an unfinished offset\n")
        :: else -> printf("%e: commit refused\n", WHO(me))
        fi
      }
over:
      atomic { my_own = 0; my_token = 0; held[me] = 0 }
    od
  } unless { atomic { dead[me] -> running[me] = 0; printf("%e: killed\n", WHO(me)) } }
}

proctype Other(byte my_at; byte my_own) {
  byte me = 2;
  byte my_token;
  mtype answer;
  {
    Work();
    goto ask;
outdated:
finish:
    atomic { frontier_q = 1; held[me] = 0; my_token = 0; printf("%e: finished\n", OTHER) }
  } unless { atomic { dead[me] -> running[me] = 0; printf("%e: killed\n", OTHER) } }
}

// The late call arrives: the store can't tell it from a fresh one.
inline Arrive() {
  me = late_by;
  my_token = late_token;
  my_own = late_own;
  my_at = late_at;
  if
  :: late_call == kClaim -> Claim()
  :: late_call == kComplete -> Complete()
  :: late_call == kRelease -> Release()
  fi;
  printf("store: late %e(token %d) of %e -> %e\n", late_call, my_token, WHO(me), answer);
  ForgetLate();
  me = 0;
  my_token = 0;
  my_own = 0;
  my_at = 0;
  answer = 0
}

inline ForgetLate() {
  late_call = kNone;
  late_token = 0;
  late_own = 0;
  late_at = 0;
  late_by = 0
}

inline LeaseEnds(timeout_too) {
  lapsed = true;
  overran = timeout_too
}

inline MoveP() {
  owner = 1 - owner;
  term++;
  printf("group: p -> %e\n", WHO(owner))
}

// Group, clock and network.
active proctype World() {
  byte me, my_token, my_own, my_at;
  mtype answer;
end:
  do
  :: atomic { faults > 0 -> faults = 0 }
  :: atomic { dead[owner] && !dead[1 - owner] -> MoveP() }
  :: atomic { faults > 0 && !dead[1 - owner] -> faults--; MoveP() }
  :: atomic {
      faults > 0 && !dead[0] && !dead[1] && !dead[2] ->
      faults--;
      if
      :: dead[0] = true
      :: dead[1] = true
      :: dead[2] = true
      fi
    }
  :: atomic {
      state == kOpen && !overran && !LIVE ->
      LeaseEnds(true);
      printf("clock: lease ends\n")
    }
  :: atomic {
      faults > 0 && state == kOpen && LIVE ->
      faults--;
      LeaseEnds(true);
      printf("clock: %e sleeps beyond lease and time-out\n", WHO(holder))
    }
  :: atomic {
      state == kOpen && !lapsed && LIVE && at == AT_P && own != 0 && own < record ->
      LeaseEnds(false);
      printf("store: %e's renewal is refused for own %d, lease ends\n", WHO(holder), own)
    }
  :: atomic { late_call != kNone -> Arrive() }
  :: atomic { late_call != kNone -> ForgetLate(); printf("network: the late call is lost\n") }
  od
}

init {
  atomic {
    run Consumer(0);
    run Consumer(1);
    if
    :: OTHER == R -> run Other(AT_P, 0)
    :: OTHER == C -> run Other(AT_Q, OWN_OF_Q)
    :: else
    fi
  }
  atomic {
    timeout ->
    REQUIRE(frontier_p == 1 && state == kDone, "BROKEN: x is never finished\n");
    REQUIRE(effects > 0, "BROKEN: the effect of x never happens\n");
    REQUIRE(OTHER != C || dead[2] || frontier_q == 1, "BROKEN: the copy of x is never finished\n")
  }
}
