// SPDX-License-Identifier: Apache-2.0
// The window of takeover.pml: the marker of x, the ownership record of p, and the transitions of
// the marker, each one atomic step. The caller brings me, my_token, my_own, my_at and answer. What
// the store can't know, and only the model does, stands in the invariants alone.

mtype state = kNone;
byte token, own, at;   // of the open claim; own 0: claimed without ownership
bool lapsed;           // its lease has ended, by the store's clock
bool uncertain;        // an earlier attempt may have had its effect
byte record;

#define OWNED (my_at == AT_P && my_own != 0)
#define OUTDATED (OWNED && my_own != record)
#define LIVE (holder != NOBODY && !dead[holder] && running[holder] == token && !overran)

// Transition 3, by ownership. A claim without ownership is not lower than anything.
#define LOWER (own < my_own && (own != 0 || !RULE_8B))
#define BY_OWNERSHIP (my_own != 0 && (at == my_at || !RULE_8A) && LOWER)
#define AT_ONCE ((BY_OWNERSHIP && (!OPAQUE || !RULE_13)) || (at == my_at && !RULE_8))
// Transition 4, by lease. At level opaque its end is not enough, whoever asks.
#define AFTER_WAIT (lapsed && (!OPAQUE || overran || !RULE_13A))
#define MAY_TAKE (AT_ONCE || AFTER_WAIT)

inline Open(doubt) {
  if
  :: doubt -> counted++
  :: else ->
    REQUIRE(maybe == 0, "BROKEN: granted as certain, but an earlier attempt may act\n")
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

inline Take() {
  printf("%e: takes over the claim with token %d\n", WHO(me), token);
  REQUIRE(!OPAQUE || !LIVE, "BROKEN: taken from a holder that is alive and in time\n");
  REQUIRE(!LIVE || lapsed || (holder < 2 && holder_term != term),
          "BROKEN: taken at once from a holder that did not lose p\n");
  REQUIRE(!reported, "BROKEN: a run that ended in time is run again\n");
  Open(OPAQUE)
}

inline Claim() {
  if
  :: OUTDATED -> answer = kFenced
  :: else ->
    if
    :: state == kNone -> Open(false); answer = kGranted
    :: state == kDone -> answer = kDuplicate
    :: state == kOpen && token == my_token -> answer = kGranted
    :: state == kOpen && token != my_token && MAY_TAKE -> Take(); answer = kGranted
    :: else -> answer = kInFlight
    fi
  fi
}

inline Complete() {
  if
  :: token == my_token && state == kDone -> answer = kMade
  :: token == my_token && state == kOpen && (RULE_15B || !OUTDATED) -> state = kDone; answer = kMade
  :: token == my_token && state == kOpen && !(RULE_15B || !OUTDATED) ->
    reported = true;
    answer = kFenced
  :: else -> answer = kFenced
  fi
}

// The handler said not_done. A claim that was uncertain before stays so, without a holder.
inline Release() {
  if
  :: state == kOpen && (token == my_token || !RULE_53) ->
    token = 0;
    holder = NOBODY;
    if
    :: uncertain && ROW_6 -> lapsed = true; overran = true
    :: else -> state = kNone
    fi;
    answer = kMade
  :: else -> answer = kFenced
  fi
}
