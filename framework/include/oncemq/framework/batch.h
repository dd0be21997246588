// SPDX-License-Identifier: Apache-2.0
// What core and batch machine say to each other: a batch is the set of messages handed to a worker
// at once, a settlement is what came of one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/retry_policy.h"
#include "oncemq/framework/run_measures.h"

namespace oncemq {

// Index of a (topic, partition) in this process. Stable for its lifetime, also when the partition
// leaves and returns.
using PartitionId = uint32_t;

// How far a delivery has come; survives being set aside, so that nothing is done twice and nothing
// forgotten.
enum class Stage : uint8_t {
  kFresh,      // nothing has been asked of the window yet
  kClaiming,   // a claim was sent and its answer is not known: the same token again
  kReleasing,  // a release was sent and its answer is not known
  kApplied,    // the handler is done, its marker (without an id: its record) is not written yet:
               // never run it again
  kRejecting,  // refused for good, not on record yet
  kRecorded,   // refused for good and on record; only its marker is not parked yet
  kCarried,    // finished by an earlier owner's word; only its marker has to be there
  kNotDone,    // refused or parked by an earlier owner's word: its id is not done, nothing is owed
  kEnded,      // redriven and done, not on record yet
};

// The state of a delivery from batch to batch. Core, batch machine and settlement hand it on as a
// whole.
struct Carried {
  Stage stage : 4 = Stage::kFresh;
  bool touched : 1 = false;         // an earlier batch of ours may have had its effect
  bool result_dropped : 1 = false;  // its result is too long for the window
  bool conflict : 1 = false;        // same id, other payload
  bool redriven : 1 = false;        // from its park topic, and no commit waits for it

  Carried& carried() { return *this; }
};

// A delivery, from its admission to its end.
struct DeliveryName {
  uint32_t slot = 0;
  uint32_t ticket = 0;
};

struct BatchItem : DeliveryName, Carried {
  uint32_t lane = 0;  // items of one lane stand together, in order
  PartitionId partition = 0;
  void* message = nullptr;
  std::string_view id;  // empty: the window is not asked
  Coordinates at;
  OwnerEpoch owner_epoch = 0;
  LogTime time = kNoLogTime;          // of the record
  LogTime copies_until = kNoLogTime;  // as in ClaimRequest
  Token token;                        // empty unless stage says that one is out
  uint32_t fingerprint = 0;           // of the payload; 0: not taken
  Attempts attempts;                  // of this delivery so far
  bool alone = false;                 // it had to be, and nothing else is in the batch
  // perhaps the same id as an earlier item of this lane and batch
  bool copy = false;
  bool first = false;    // as in ClaimRequest
  bool follows = false;  // a parked message of its key, so it is recorded and not run
  bool drop = false;     // redriven, and ends without a call
  // Result or reason that belongs to kApplied and kRejecting. A fresh message with a reason is
  // refused in place of a call.
  std::string_view text = {};
  uint64_t entry = 0;  // with kRecorded: number of its record
};

// An open claim of ours, with its own copy of the id: the delivery may end meanwhile.
struct HeldClaim {
  std::string id;
  Token token;
  Coordinates at;
};

struct MessageBatch {
  std::vector<BatchItem> items;
  // For how long each retried key in it has waited beyond its pause.
  std::vector<microseconds> late;
  BootTime safe_until;  // past it no new effect may start (rule 10)
};

enum class DeliveryFate : uint8_t {
  kApplied,        // final
  kSuppressed,     // final
  kParked,         // final
  kRejected,       // final
  kRestored,       // final: a carried delivery whose marker is there now
  kRetry,          // the handler asks for another attempt after `wait`
  kWait,           // not ours to run now: look again after `wait`, head alone
  kWithdrawn,      // not started; goes on as soon as its lane does
  kPending,        // keeps its stage; the window did not answer
  kOwnershipLost,  // the window refused our ownership
  kStop,           // a policy says: stop this partition here
};

// It carries the state for the next batch, unless its fate is final.
struct Settlement : DeliveryName, Carried {
  DeliveryFate fate = DeliveryFate::kWithdrawn;
  bool uncertain = false;      // attribute: an effect may exist beside the one on record
  bool same_delivery = false;  // attribute of kSuppressed: the marker has our coordinates
  bool attached = false;       // attribute: follows another delivery's record
  bool handled = false;        // the handler was called
  bool alone = false;          // its next batch is to have nothing else in it
  bool unprotected = false;    // attribute of kApplied: beside the window, for want of an id
  bool not_done = false;       // attribute of kRetry, without an attempt
  std::optional<FencePlace> fenced;
  microseconds wait{0};
  Attempts attempts;
  Token token;         // with kClaiming, kReleasing, kApplied, kRejecting, kRecorded
  std::string text;    // result or reason
  uint64_t entry = 0;  // as in BatchItem
};

}  // namespace oncemq
