// SPDX-License-Identifier: Apache-2.0
// LockDomain: names that can be held, in one lock store. Where leases come from.
//
//   auto domain = LockDomain::Open(MakeMemoryLocks());
//   auto lease = (*domain)->Acquire("account/42");           // waits its turn
//   if (!lease) return lease.error();                        // the store did not answer
//   ... effects that carry (*lease)->fence() ...
//   (*lease)->Release();                                     // or its destructor
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/granted.h"
#include "oncemq/locks/lease.h"
#include "oncemq/locks/lock_counts.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// What an engine must be able to do; a domain over one that cannot is not opened, and the error
// says what is lacking. Each is the capability of its name.
struct LockNeeds {
  bool processes = false;
  bool fair = false;
  bool unfair = false;
  bool shared = false;
  bool counted = false;
  bool wakes = false;
  bool fence = false;
  bool survives_failover = false;
  bool long_holds = false;
  bool seals = false;
  bool lists = false;
};

struct LockOptions {
  LockNeeds needs;
  // How long a hold outlives its holder; renewed at every third. Lower it for a sooner take-over,
  // raise it where processes or the store pause.
  milliseconds lease{30'000};
  // Time to stop in, before the lease ends; 0: a tenth of it. Raise it for work that stops slowly.
  milliseconds margin{0};
  // How long a place in the queue outlives its waiter.
  milliseconds queue_lease{5'000};
  // How long a failing store is asked again, in one Acquire. Lower it for callers in a hurry.
  milliseconds patience{10'000};
  std::string who;  // for people, after host and process
};

// How to wait for a name that others have.
struct LockWait {
  enum class How : unsigned char {
    kBlock,          // in the store's queue, woken by it; without one: asks in growing intervals
    kSpin,           // ask again and again, for `spin`, then give up
    kSpinThenBlock,  // for `spin`, then in the queue
  };
  How how = How::kBlock;
  milliseconds spin{5};
};

struct AcquireOptions {
  LockMode mode = LockMode::kExclusive;
  LockWait wait;
  bool barge = false;  // pass those who wait, where the engine lets one
  // To give up then, or when it is requested; a time that has passed: a single try. A call of the
  // store that is under way ends first, and one more may take back what it was granted: over a
  // store that hangs, later by what two of its calls may take.
  std::optional<BootTime> until;
  std::stop_token stop;
  bool fenced = false;           // every effect under the lease checks its fence: need not wait
                                 // while a store that failed is being left; kExclusive only
  milliseconds lease{0};         // 0: as the domain says
  milliseconds max_hold{0};      // the hold is lost after that, however well it is renewed, and the
                                 // name free when it is released, or its lease over; 0: no limit
  std::optional<BootTime> ends;  // the same at a moment, however long the name was waited for
  std::string_view what;         // what it is for; people see host, process, `who`, this
  std::optional<Fence> fence;    // in place of the engine's: where those that others can compare
                                 // come from elsewhere
  uint32_t limit = 0;            // with kCounted, from 1 to kMostCounted: how many may hold at a
                                 // time, this one included
};

// Whether a domain of these options could be opened over such an engine: kInvalid, what is wrong.
Status CheckLockOptions(const LockOptions& options, const LockCapabilities& can);

// **Promise:** a lease is returned only while it is safe, and before max_hold and `ends`. A store
// whose grants come too late for that is a failure: kTimeout, after `patience`. An Acquire that
// gave up takes its request back, at once or as soon as the store answers.
//
// **Limits:** a counted request is judged by its own limit, so requests of a name should agree on
// it (docs/locks.md). A process that was forked off can use no domain of its parent: its leases
// hold nothing there, and say nothing to the store.
//
// **Failure:** kInvalid (name, options, or an inability of the engine), else the engine's, after
// `patience`.
//
// **Thread safety:** any thread. End a wait by `stop`, never by pthread_cancel. No call may be
// under way at the destruction. It ends its holds (LeaseLoss::kClosed) in bounded time; leases may
// outlive it and hold nothing then.
class LockDomain {
 public:
  static Result<std::unique_ptr<LockDomain>> Open(std::shared_ptr<LockEngine> engine,
                                                  LockOptions options = {},
                                                  const Clock& clock = SystemClock::Instance());
  ~LockDomain();
  LockDomain(const LockDomain&) = delete;
  LockDomain& operator=(const LockDomain&) = delete;

  // Not granted: not by `until` or `ends`, or `stop` was requested.
  Result<Granted<Lease>> Acquire(std::string_view name, const AcquireOptions& how = {});
  // One try.
  Result<Granted<Lease>> TryAcquire(std::string_view name, AcquireOptions how = {});
  // All of them or none, taken in the order of their bytes, so two callers never wait for each
  // other. A name that is given twice is taken once. In the order of `names`' bytes, too.
  // What is lost while others are waited for is taken again, with all of them. `spin` is for all of
  // them together: with kSpin the rest is tried once each behind it. What is given up is given back
  // together: over a store that hangs that is one call more, for any number of names.
  // Failure: kTimeout, if names are lost again and again: max_hold, say, is too short for so many.
  Result<Granted<std::vector<Lease>>> AcquireAll(std::span<const std::string> names,
                                                 const AcquireOptions& how = {});

  // Requests for names, one by one, and losses of leases.
  LockCounts counts() const;

  LockEngine& engine() const;
  const Clock& clock() const;

 private:
  struct Parts;
  explicit LockDomain(std::unique_ptr<Parts> parts);

  // Whoever spins has done so since `began`.
  Result<Granted<Lease>> AcquireOne(std::string_view name, const AcquireOptions& how,
                                    BootTime began);
  Result<Granted<std::vector<Lease>>> TakeInTurn(const std::vector<std::string>& names,
                                                 const AcquireOptions& how, BootTime began);

  std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
