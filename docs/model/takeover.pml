// SPDX-License-Identifier: Apache-2.0
// Claim, takeover, completion, commit, reassignment and zombie, of one id x.
// x lies at offset 0 of partition p, which the group moves between A and B (each may be slow, silent or killed). OTHER
// adds a second reader: R replays the very same coordinates, C owns partition q with a copy of x.
// The window is one atomic step per call; a call may time out at its caller and still arrive, now, late or never: the
// caller repeats it with the same token.
// OPAQUE=0: level guarded, the target stores the id with the effect, a fence besides. OPAQUE=1: nobody can check.
//
// case clean |  | OPAQUE=0 OTHER=R | guarded, replay beside the live group
// case clean |  | OPAQUE=0 OTHER=C | guarded, copy in another partition
// case clean |  | OPAQUE=1 OTHER=R | opaque, replay beside the live group
// case clean |  | OPAQUE=1 OTHER=C | opaque, copy in another partition
// case off RULE_1   |  | OPAQUE=0 OTHER=R | effect twice at a target that checks | fence at the target, no id
#include "rules.pml"
#include "words.pml"

#ifndef OPAQUE
#define OPAQUE 0
#endif
#ifndef OTHER
#define OTHER R
#endif

#ifndef FAULTS
#define FAULTS 3  // of any kind: p moves, a consumer dies or sleeps, a call is late, a handler fails
#endif

#define AT_P 1
#define AT_Q 2
#define OWN_OF_Q 7
#define NOBODY 3

// The window's marker of x, and the ownership record of p.
mtype state = kNone;
byte token, own, at;   // of the open claim; own 0: claimed without ownership
bool lapsed;           // its lease has ended, by the store's clock
bool uncertain;        // an earlier attempt may have had its effect
byte record;

// The target.
bool known;            // it has stored the id
byte target_own;       // highest own installed
byte effects;

// The group and the committed frontiers.
byte owner, term = 1;
byte frontier_p, frontier_q;
bool dead[3];

// What only the model knows.
byte held[3];          // token that each of them knows
byte holder = NOBODY;  // whose claim is open
byte served[3];        // assignment that each of them works for (C and R: none)
byte holder_term;      // ... which claimed in that assignment
bool reported;         // ... and it has told the window that the run is over
byte running[3];       // token that each of them runs under
bool overran;          // the holder slept beyond its lease, or beyond the handler time-out after own was raised
byte maybe;            // attempts that had, or may still have, their effect
byte counted;          // effects counted as uncertain
byte faults = FAULTS;   // that may still happen

// A call that timed out at its caller and is still on its way.
mtype = { kClaim, kComplete, kRelease };
mtype late_call = kNone;
byte late_token, late_own, late_at, late_by;

#define WHO(me) (me == 0 -> A : (me == 1 -> B : OTHER))
#define LIVE (holder != NOBODY && !dead[holder] && running[holder] == token && !overran)

// Transition 3. A claim without ownership (own 0) is not lower than anything.
#define LOWER (own < my_own && (own != 0 || !RULE_8B))
#define BY_OWNERSHIP (my_own != 0 && (at == my_at || !RULE_8A) && LOWER)
#define AT_ONCE ((!OPAQUE || !RULE_13) && (BY_OWNERSHIP || (at == my_at && !RULE_8)))
// Transition 4. At level opaque the end of the lease is not enough, whoever asks.
#define AFTER_WAIT (lapsed && (!OPAQUE || overran || !RULE_13A))
#define MAY_TAKE (AT_ONCE || AFTER_WAIT || (at == my_at && !RULE_8))

inline Open(doubt) {
  if
  :: doubt -> counted++
  :: else -> REQUIRE(maybe == 0 || !OPAQUE, "BROKEN: granted as certain, but an earlier attempt may act\n")
  fi;
  state = kOpen;
  token = my_token;
  own = my_own;
  at = my_at;
  holder = me;
  holder_term = served[me];
  reported = false;
  uncertain = doubt;
  lapsed = false;
  overran = false
}

inline Claim() {
  if
  :: my_at == AT_P && my_own != 0 && my_own != record -> answer = kFenced
  :: else ->
    if
    :: state == kNone -> Open(false); answer = kGranted
    :: state == kDone -> answer = kDuplicate
    :: state == kOpen && token == my_token -> answer = kGranted
    :: state == kOpen && token != my_token && MAY_TAKE ->
      REQUIRE(!OPAQUE || !LIVE, "BROKEN: taken from a holder that is alive and in time\n");
      REQUIRE(!LIVE || lapsed || (holder < 2 && holder_term != term), "BROKEN: taken from a holder that owns its claim\n");
      REQUIRE(!reported, "BROKEN: a run that ended in time is run again\n");
      Open(OPAQUE);
      answer = kGranted
    :: else -> answer = kInFlight
    fi
  fi
}

inline Complete() {
  if
  :: token == my_token && state == kOpen && (RULE_15B || my_at != AT_P || my_own == 0 || my_own == record) ->
    state = kDone;
    answer = kMade
  :: token == my_token && state == kOpen && !(RULE_15B || my_at != AT_P || my_own == 0 || my_own == record) ->
    reported = true;
    answer = kFenced
  :: token == my_token && state == kDone -> answer = kMade
  :: else -> answer = kFenced
  fi
}

// The handler said not_done. A claim that was uncertain before stays so, without a holder.
inline Release() {
  if
  :: state == kOpen && (token == my_token || !RULE_53) ->
    if
    :: uncertain && RULE_6 -> token = 0; holder = NOBODY; lapsed = true; overran = true
    :: else -> state = kNone; token = 0; holder = NOBODY
    fi;
    answer = kMade
  :: else -> answer = kFenced
  fi
}

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

// Random in the code; here the lowest that nobody remembers any more, which keeps the model small.
inline NewToken() {
  my_token = 0;
  held[me] = 0;
  if
  :: RULE_14A ->
    my_token = 1;
    do
    :: my_token == token || my_token == late_token || my_token == held[0] || my_token == held[1] ||
       my_token == held[2] -> my_token++
    :: else -> break
    od
  :: else -> my_token = me + 1
  fi;
  held[me] = my_token
}

// From the claim to the answer of the completion: leaves by `finish` (done), `ask` (once more) or `fenced`.
inline Work() {
  skip;
ask:
  atomic { NewToken(); MayBeLate(kClaim) }
again:
  atomic {
    Claim();
    printf("%e: claim(token %d, own %d) -> %e\n", WHO(me), my_token, my_own, answer);
    if
    :: answer == kGranted -> running[me] = my_token; maybe = maybe + OPAQUE; answer = 0
    :: answer == kDuplicate -> answer = 0; goto finish
    :: answer == kFenced -> answer = 0; goto outdated
    :: answer == kInFlight -> answer = 0; if :: RULE_16B -> goto wait :: else -> goto finish fi
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
  if
  :: !OPAQUE && my_at == AT_P && my_own != 0 ->
    atomic {
      if
      :: my_own >= target_own -> target_own = my_own; printf("%e: installs own %d at the target\n", WHO(me), my_own)
      :: else -> goto refused
      fi
    }
  :: else
  fi;
  atomic {
    if
    :: !OPAQUE && known && RULE_1 -> printf("%e: the target says already done\n", WHO(me))
    :: !OPAQUE && my_at == AT_P && my_own != 0 && my_own < target_own -> goto refused
    :: else ->
      effects++;
      known = true;
      printf("%e: EFFECT\n", WHO(me));
      REQUIRE(OPAQUE || effects == 1, "BROKEN: effect twice at a target that checks\n");
      REQUIRE(!OPAQUE || effects <= 1 + counted, "BROKEN: more extra effects than counted as uncertain\n")
    fi;
    MayBeLate(kComplete)
  }
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
  (state != kOpen || MAY_TAKE || (my_at == AT_P && my_own != 0 && my_own != record));
  goto again;
refused:
  atomic { running[me] = 0; maybe = maybe - OPAQUE; printf("%e: own %d refused at the target\n", WHO(me), my_own) }
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
    :: atomic { owner == me && term != served[me] -> served[me] = term; printf("%e: assigned p\n", WHO(me)) }
raise:
      atomic { record++; my_own = record; printf("%e: raises own to %d\n", WHO(me), my_own) }
      atomic {
        if
        :: OWNS && frontier_p == 0 -> printf("%e: confirmed\n", WHO(me))
        :: OWNS && frontier_p == 1 -> printf("%e: confirmed, x is below the frontier\n", WHO(me)); goto over
        :: else -> printf("%e: not confirmed, stops\n", WHO(me)); goto over
        fi
      }
      Work();
      if  // fenced: look again
      :: atomic { OWNS && !RULE_16 -> goto finish }
      :: atomic { OWNS && RULE_16 && !RULE_16A -> goto over }
      :: atomic { OWNS && RULE_16 && RULE_16A -> printf("%e: fenced, looks again\n", WHO(me)); goto ask }
      :: atomic { !OWNS -> printf("%e: fenced, p is lost, drops x\n", WHO(me)); goto over }
      fi;
outdated:  // its own is too low for a claim
      if
      :: atomic { OWNS -> printf("%e: its commits still work, starts over\n", WHO(me)); goto raise }
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
    atomic { frontier_q = 1; held[me] = 0; my_token = 0; printf("%e: commits\n", OTHER) }
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
  printf("store: late %e(token %d) of %e arrives -> %e\n", late_call, my_token, WHO(me), answer);
  late_call = kNone;
  late_token = 0;
  late_own = 0;
  late_at = 0;
  late_by = 0;
  me = 0;
  my_token = 0;
  my_own = 0;
  my_at = 0;
  answer = 0
}

// Group, clock and network. What has to happen some day happens also when the world is calm.
active proctype World() {
  byte me, my_token, my_own, my_at;
  mtype answer;
end:
  do
  :: atomic { faults > 0 -> faults = 0 }
  :: atomic {
      dead[owner] && !dead[1 - owner] ->
      owner = 1 - owner;
      term++;
      printf("group: session of the dead member ends, p -> %e\n", WHO(owner))
    }
  :: atomic {
      faults > 0 && !dead[1 - owner] ->
      faults--;
      owner = 1 - owner;
      term++;
      printf("group: p -> %e\n", WHO(owner))
    }
  :: atomic {
      faults > 0 && !dead[0] && !dead[1] && !dead[2] ->
      faults--;
      if
      :: dead[0] = true
      :: dead[1] = true
      :: dead[2] = true
      fi
    }
  :: atomic { state == kOpen && !lapsed && !LIVE -> lapsed = true; overran = true; printf("clock: lease ends\n") }
  :: atomic { state == kOpen && lapsed && !overran && !LIVE -> overran = true; printf("clock: time-out ends\n") }
  :: atomic {
      faults > 0 && state == kOpen && !overran && LIVE ->
      faults--;
      lapsed = true;
      overran = true;
      printf("clock: %e sleeps beyond lease and time-out\n", WHO(holder))
    }
  :: atomic {
      state == kOpen && !lapsed && LIVE && at == AT_P && own != 0 && own < record ->
      lapsed = true;
      printf("store: renewal by %e refused for its own %d, lease ends\n", WHO(holder), own)
    }
  :: atomic { late_call != kNone -> Arrive() }
  :: atomic { late_call != kNone -> late_call = kNone; printf("network: the late call is lost\n") }
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
