// SPDX-License-Identifier: Apache-2.0
// LockEngine: one lock store, seen by whoever implements or inspects one. Users of locks take
// leases from a LockDomain instead.
//
// An engine is asked and answers; it never grants by itself, so no grant can be lost on its way. A
// wake is a hint that asking again may help. All times are judged by the store's one clock.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/fence.h"
#include "oncemq/base/result.h"
#include "oncemq/base/token.h"

namespace oncemq {

enum class LockMode : unsigned char {
  kExclusive,
  // Readers. Several hold at a time, each under a fence of its own, so a target that remembers one
  // fence cannot guard what they do: the latest one would shut out those who hold beside it.
  kShared,
  // A semaphore. Holds of a name are granted as long as fewer than the request's own limit are
  // there. They exclude the other modes. Of their fences the same is true.
  kCounted,
};
std::string_view ToString(LockMode mode);

// Longer ones are a hold that nobody can take over in time.
inline constexpr milliseconds kLongestLease = std::chrono::hours(24);

// What an engine can do. Conformance suite, start-up check and the listing of engines read it.
struct LockCapabilities {
  // Of every engine: ReentrantLeaseMutex is made of leases, and no engine knows of it.
  static constexpr bool kReentrant = true;
  std::string_view engine;         // "memory", "redis", ...
  bool processes = false;          // excludes other processes too
  bool fair = false;               // serves waiters in the order in which they came
  bool unfair = false;             // lets a newcomer pass those who wait, if it asks for that
  bool shared = false;             // knows readers and writers
  bool counted = false;            // grants a name to as many as a request allows
  bool wakes = false;              // tells a waiter when its turn may have come
  bool fence = false;              // each grant of a name has a greater fence than all before it
  bool survives_failover = false;  // a grant outlives the loss of one server of the store
  bool long_holds = false;         // suits holds of minutes and hours
  bool seals = false;              // can refuse those who did not hear of a switch
  bool lists = true;               // can say which names are held; else Names() is kInvalid
  bool epochs = true;              // answers requests of a switchboard, which come in its epochs
  // Longer ones are refused. A store may allow less still, which is known when it was asked.
  milliseconds longest_lease = kLongestLease;
};

// The longest name; names are bytes, any of them.
inline constexpr size_t kLongestLockName = 1024;
// The highest limit of a counted hold: all that is held of a name is looked at in each request.
inline constexpr uint32_t kMostCounted = 1'000;

struct AcquireRequest {
  std::string_view name;
  // Names this request. Asked again it recognises itself: a holder gets the same fence and its
  // lease from now on, a waiter keeps its queue position.
  Token token;
  LockMode mode = LockMode::kExclusive;
  bool queue = true;         // false: granted now, or nothing is left behind
  bool barge = false;        // may pass those who wait; those who can hold together pass no others
  milliseconds lease;        // how long a grant lasts unless it is extended
  milliseconds queue_lease;  // how long a queue position lasts without another request
  std::string_view who;      // told to people who ask who holds or waits
  uint32_t epoch = 0;        // of the switchboard, as the asker knows it; leads the fence
  bool fenced = false;       // all that is done under the hold is checked by its fence
  uint32_t limit = 0;        // of a counted one, from 1: how many may hold, with this one
};

struct LockAnswer {
  enum class Kind : unsigned char {
    kGranted,
    kQueued,  // has a queue position; ask again when woken, and before it ends
    kBusy,    // others have it, or wait before it; nothing is left behind
    kSealed,  // asked in another epoch than the store is sealed with; nothing was changed
  };
  Kind kind = Kind::kBusy;
  Fence fence;            // of a grant; empty if the engine has none. Sealed: the store's epoch
  milliseconds again{0};  // not granted: then what is ahead may have ended without a word
};

// A hold, or a queue position, as its owner knows it.
struct LockClaim {
  std::string_view name;
  Token token;
  milliseconds lease{0};  // for Extend: from now on
  // For Extend: how long one answer of the store is waited for. Of claims that travel together the
  // shortest time counts, and the engine's own time of a call if that is shorter still.
  milliseconds answer_within = milliseconds::max();
};

enum class Extended : unsigned char {
  kYes,
  kRecalled,  // extended; somebody asks for it
  kGone,      // ended, evicted or never there; nothing was changed
  kLater,     // not now: stores are being switched, or do not answer. It runs on as it was
};
enum class Freed : unsigned char {
  kYes,
  kNotHeld,  // no hold of this token; a queue position of it is given up
};

// What people see of a name.
struct LockView {
  struct Party {
    bool holds = false;  // else it waits
    LockMode mode = LockMode::kExclusive;
    Fence fence;
    milliseconds left{0};  // of the lease or the queue position
    std::string who;
  };
  std::string name;
  std::vector<Party> parties;  // holders, then waiters in their order
};

// Is told by an engine that holds may have ended. A hint: whether one has, Extend answers.
// Whoever implements it returns soon, calls no engine, and waits for no mutex that somebody keeps
// while he calls one. So an engine may tell it from any thread, its own mutexes held.
class HoldListener {
 public:
  virtual void HoldsMayBeLost() = 0;

 protected:
  ~HoldListener() = default;
};

// Promise: at most one exclusive hold of a name, or any number of shared ones, or counted ones, no
// more than the last granted of those there are allowed, that the store would extend. Every call is
// bounded in time and idempotent by its tokens. An Error says whether the call may have taken
// effect; it is never an answer.
//
// Thread safety: any thread.
class LockEngine {
 public:
  virtual ~LockEngine() = default;
  virtual const LockCapabilities& capabilities() const = 0;

  virtual Result<LockAnswer> Request(const AcquireRequest& request) = 0;
  // Returns when the turn of a queued request may have come, at `until`, or when `stop` is
  // requested.
  virtual Status Await(const AcquireRequest& request, BootTime until,
                       const std::stop_token& stop) = 0;
  // One answer for each claim, or an error for all. An answer that does not come within the time of
  // the claims is an error, and the next call takes another connection.
  virtual Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) = 0;
  virtual Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) = 0;

  // The holders learn of it when they extend. Answers how many there are.
  virtual Result<size_t> Recall(std::string_view name) = 0;
  // Ends the hold with this fence, if it is there still. Whoever had it learns when it extends:
  // only what checks fences is safe from it until then.
  virtual Result<Freed> Evict(std::string_view name, const Fence& fence) = 0;
  virtual Result<LockView> Read(std::string_view name) = 0;
  // Names in byte order, those behind `after`, at most `limit`.
  virtual Result<std::vector<std::string>> Names(std::string_view after, size_t limit) = 0;

  // From its answer on, only requests of this epoch are granted, and their fences begin with it;
  // what is held stays held. It never goes back: an earlier epoch changes nothing, so 0 is a
  // question. Answers the epoch in force; 0 as long as nobody has sealed the store.
  virtual Result<uint32_t> Seal(uint32_t epoch) = 0;

  // Told by a switchboard before a name is looked at: what epoch it grants in. Only an engine that
  // keeps each epoch by itself needs to know; requests bring theirs.
  virtual void InEpoch(uint32_t /*epoch*/) {}

  // The listener is told when the engine learns by itself that what was granted before now may have
  // ended: the session or the connection that it hung on is gone. It may be told in vain. Engines
  // that learn nothing by themselves tell nothing. HoldListeners keeps the listeners of an engine.
  virtual void Listen(HoldListener& /*listener*/) {}
  // Waits until nobody tells it any more, so no listener may call this. One that does not listen is
  // no error.
  virtual void Unlisten(HoldListener& /*listener*/) {}
};

}  // namespace oncemq
