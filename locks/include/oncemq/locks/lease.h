// SPDX-License-Identifier: Apache-2.0
// Lease: one hold of a name. Move-only, tied to no thread.
//
// Promise: StillMine() turns false, and stop() is requested, before the store may grant the name
// again, even if the store hangs. The time counts from the *sending* of the last acknowledged
// renewal, on a clock that runs on in suspend. After a pause of the process StillMine() is right at
// once, and stop() within half a second.
//
// Limits: neither stops code that does not look. An effect that must not come from an earlier
// holder carries fence() and is checked at its target. A store that forgets its grants grants the
// name again while the former holder believes, for a third of the lease at most; greater fences
// tell the two apart (docs/locks.md).
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/fence.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct HeldLease;
struct Hold;

// Why a hold ended before it was released.
enum class LeaseLoss : unsigned char {
  kNot,       // it did not
  kDeadline,  // no renewal was acknowledged in time
  kTaken,     // the store ended it: evicted, forgotten, or its lease had run out there
  kTooLong,   // max_hold is over, or the moment that ends it in any case has come
  kClosed,    // its domain was closed
};
std::string_view ToString(LeaseLoss lost);

enum class Released : unsigned char {
  kYes,
  kNotHeld,  // nothing was held any more, or ever
  kUnknown,  // the store did not answer; it is told again until the lease has run out there
};
std::string_view ToString(Released released);

// Thread safety: const members and EndAt() from any thread; moving, Release() and destruction as
// usual for an object. All of them may be called from a callback of stop(), also of this very
// lease.
class Lease {
 public:
  Lease() = default;  // holds nothing
  explicit Lease(std::shared_ptr<Hold> hold) : hold_(std::move(hold)) {}
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  // Releases, in bounded time. Of many: ReleaseAll().
  ~Lease();

  // The same for the whole hold. Empty if the engine has none. Of a shared or counted hold it
  // tells which grant came later, and no more: those who hold beside it have greater and smaller
  // ones, so no target that remembers one fence can check it, and ours refuse to.
  Fence fence() const;
  LockMode mode() const;
  std::string_view name() const;
  // Requested when the hold is lost, at safe_until() at the latest. Not by a release.
  std::stop_token stop() const;
  // Requested when somebody asks the holder to give it back. Seen with the next renewal, so up to
  // a third of the lease later.
  std::stop_token recalled() const;
  // When stop() fires unless the next renewal is acknowledged.
  BootTime safe_until() const;
  // Without any I/O: held, and safe_until() is not reached.
  bool StillMine() const;
  LeaseLoss lost() const;

  // Asks the store, one round trip; renews. False: it is lost, and stop() will be requested.
  [[nodiscard]] Result<bool> Confirm() const;
  // For whose right to hold comes from elsewhere and turns out longer or shorter than was thought:
  // the hold is lost then (LeaseLoss::kTooLong), however well it is renewed; at once if that has
  // passed. Said again it counts anew, but a hold that is lost stays lost.
  void EndAt(BootTime end);
  // Gives it back. Afterwards this lease holds nothing. Bounded in time.
  Released Release();

 private:
  friend struct HeldLease;
  friend void ReleaseAll(std::vector<Lease> leases);

  std::shared_ptr<Hold> hold_;
};

// Gives many back together, also those of several domains. What a store does not hear now it is
// told later, until the leases have run out there. Over a store that hangs that takes as long as a
// call or two, where each of them takes as long by itself.
//
// Thread safety: any thread, also from a callback of stop() of one of them.
void ReleaseAll(std::vector<Lease> leases);

// Whether a target that remembers the greatest fence can check what is done under this lease.
// kInvalid: it has no fence, or it is a shared or counted one, which others are held beside.
[[nodiscard]] Status CheckFenceOf(const Lease& lease);

}  // namespace oncemq
