// SPDX-License-Identifier: Apache-2.0
// Copies of an id that is in flight (rule 18), in one process with one worker. Message 0: id x,
// key K. Message 1: id x, key K or L, same payload or another one. Message 2: id z, key K, behind
// them. Message 3: id x, of another partition, which may leave at any time. The handler of x ends
// with Done, Retry (once), Park or Reject. A rejected id keeps its record like a parked one: the
// marker has no state of its own for it.
#include "rules.pml"
#include "words.pml"

#define MESSAGES 4
#define NOBODY 9
#define ID(m) (m == 2 -> z : x)

// Of a message, besides the answers.
mtype = { kQueued, kRetry, kApplied, kSuppressed, kRejected, kHandedBack };

mtype message[MESSAGES] = kQueued;
byte payload[MESSAGES] = 1;
bool same_key;      // message 1 has key K

mtype marker = kNone;   // of x
byte print;             // fingerprint of the payload that was claimed
mtype record;           // kParked or kRejected, once the marker is parked
mtype marker_z = kNone;

byte effects, retries = 1;
byte applied, suppressed, parked, rejected, handed_back;

#define OPEN(m) \
  (message[m] == kQueued || message[m] == kRetry || message[m] == kGranted || \
   message[m] == kInFlight)
#define OPENS (OPEN(0) + OPEN(1) + OPEN(2) + OPEN(3))
#define SETTLED(m) (!OPEN(m))
// Who comes before m in the lane of key K.
#define BEFORE_1 (!same_key || SETTLED(0))
#define BEFORE_2 (SETTLED(0) && (!same_key || SETTLED(1)))
#define IN_RUN_1 (BEFORE_1 || message[0] == kGranted)
#define IN_RUN_2 (BEFORE_2 || (message[0] == kGranted && (!same_key || SETTLED(1))))

inline Settle(m, bucket) {
  message[m] = bucket;
  if
  :: bucket == kApplied -> applied++
  :: bucket == kSuppressed ->
    suppressed++;
    REQUIRE(marker == kDone, "BROKEN: suppressed without an effect on record\n");
    REQUIRE(payload[m] == print, "BROKEN: a message with another payload was taken for a copy\n")
  :: bucket == kParked -> parked++
  :: bucket == kRejected -> rejected++
  :: bucket == kHandedBack -> handed_back++
  fi;
  printf("message %d (%e): %e\n", m, ID(m), bucket);
  REQUIRE(applied + suppressed + parked + rejected + handed_back + OPENS == MESSAGES,
          "BROKEN: the deliveries do not add up\n")
}

inline Claim(m) {
  if
  :: marker == kNone -> marker = kOpen; print = payload[m]; message[m] = kGranted
  :: marker != kNone && payload[m] != print && RULE_18C ->
    printf("message %d (%e): claim -> %e\n", m, ID(m), kConflict);
    Settle(m, kParked)
  :: else ->
    if
    :: marker == kDone -> Settle(m, kSuppressed)
    :: marker == kParked && RULE_18A ->
      printf("message %d: claim -> %e\n", m, kAttached);
      Settle(m, record)
    :: marker == kParked && !RULE_18A -> marker = kOpen; message[m] = kGranted
    :: marker == kOpen && RULE_18 -> message[m] = kInFlight
    :: marker == kOpen && !RULE_18 -> Settle(m, kSuppressed)
    fi
  fi;
  if
  :: message[m] == kGranted || message[m] == kInFlight ->
    printf("message %d (%e): claim -> %e\n", m, ID(m), message[m])
  :: else
  fi
}

// The final outcome of the claimed copy goes to every copy that waits.
inline Follow(bucket) {
  m = 0;
  do
  :: m < MESSAGES && message[m] == kInFlight && RULE_18D -> Settle(m, bucket); m++
  :: m < MESSAGES && !(message[m] == kInFlight && RULE_18D) -> m++
  :: m == MESSAGES -> break
  od;
  m = 0
}

// No outcome: the lowest waiting copy claims.
inline WakeLowest() {
  m = 0;
  do
  :: m < MESSAGES && message[m] == kInFlight && RULE_18E ->
    message[m] = kQueued;
    printf("message %d (x): woken\n", m);
    break
  :: m < MESSAGES && !(message[m] == kInFlight && RULE_18E) -> m++
  :: m == MESSAGES -> break
  od;
  m = 0
}

// What the run holds behind a failed message of key K goes back to its lane.
inline Withdraw() {
  if
  :: message[2] == kGranted ->
    marker_z = kNone;
    message[2] = kQueued;
    printf("message 2 (z): withdrawn\n")
  :: else
  fi;
  if
  :: same_key && message[1] == kInFlight ->
    message[1] = kQueued;
    printf("message 1 (x): withdrawn\n")
  :: else
  fi
}

inline Run(which) {
  if
  :: effects++;
    printf("message %d (x): EFFECT\n", which);
    REQUIRE(effects == 1, "BROKEN: an effect happened twice\n");
    REQUIRE(record == 0, "BROKEN: a parked or rejected id runs after all\n");
    marker = kDone;
    Settle(which, kApplied);
    Follow(kSuppressed)
  :: retries > 0 ->
    retries--;
    printf("message %d (x): Retry\n", which);
    marker = kNone;
    message[which] = kRetry;
    if
    :: which == 0 && RULE_18B -> Withdraw()
    :: else
    fi;
    WakeLowest()
  :: record == 0 ->
    record = kParked;
    marker = kParked;
    Settle(which, kParked);
    if
    :: which == 0 || same_key -> Withdraw()
    :: else
    fi;
    Follow(kParked)
  :: record == 0 ->
    record = kRejected;
    marker = kParked;
    Settle(which, kRejected);
    Follow(kRejected)
  fi
}

inline Leave() {
  gone = true;
  if
  :: message[3] == kGranted -> marker = kNone; Settle(3, kHandedBack); WakeLowest()
  :: else -> Settle(3, kHandedBack)
  fi
}

proctype Worker() {
  byte m;
  bool gone;
end:
  do
  :: atomic { message[0] == kQueued -> Claim(0) }
  :: atomic { message[1] == kQueued && IN_RUN_1 -> Claim(1) }
  :: atomic { message[3] == kQueued -> Claim(3) }
  :: atomic {
      message[2] == kQueued && IN_RUN_2 ->
      marker_z = kOpen;
      message[2] = kGranted;
      printf("message 2 (z): claim -> kGranted\n")
    }
  :: atomic { message[0] == kGranted -> Run(0) }
  :: atomic { message[1] == kGranted && BEFORE_1 -> Run(1) }
  :: atomic { message[3] == kGranted -> Run(3) }
  :: atomic {
      message[2] == kGranted && (BEFORE_2 || (!RULE_18B && message[0] == kRetry)) ->
      printf("message 2 (z): EFFECT\n");
      REQUIRE(BEFORE_2, "BROKEN: the order of key K\n");
      marker_z = kDone;
      Settle(2, kApplied)
    }
  :: atomic { message[0] == kRetry -> message[0] = kQueued; printf("message 0 (x): due again\n") }
  :: atomic { message[1] == kRetry -> message[1] = kQueued; printf("message 1 (x): due again\n") }
  :: atomic { message[3] == kRetry -> message[3] = kQueued; printf("message 3 (x): due again\n") }
  :: atomic { !gone && OPEN(3) -> Leave() }
  :: atomic { !gone -> gone = true }
  od
}

init {
  atomic {
    if
    :: same_key = true
    :: same_key = false
    fi;
    if
    :: payload[1] = 2; printf("message 1 has another payload\n")
    :: true
    fi;
    run Worker()
  }
  atomic {
    timeout ->
    REQUIRE(OPENS == 0, "BROKEN: a message is never finished\n");
    REQUIRE(effects == 1 || record != 0 || handed_back > 0,
            "BROKEN: the effect of x never happens\n")
  }
}
