// SPDX-License-Identifier: Apache-2.0
// HeldLease: what the facades of the standard library's words keep of a hold, and how they fail:
// by std::system_error, the only way that these words have.
#pragma once

#include <optional>
#include <string>
#include <system_error>

#include "oncemq/locks/lease_mutex.h"

namespace oncemq {

[[noreturn]] void ThrowFromFacade(std::errc code, const std::string& what);

// Not granted: not `within` that time. Without one it is granted, whatever options.wait says of
// giving up. Throws.
Granted<Lease> TakeForFacade(LockDomain& domain, const std::string& name,
                             const LeaseMutexOptions& options, AcquireOptions how,
                             std::optional<microseconds> within);

// Stays where it is.
//
// Thread safety: none.
struct HeldLease {
  Lease lease;
  uint32_t depth = 1;

  // Precondition: `taken` was granted.
  void Keep(Lease taken, OnLost on_lost);
  // Says in the log if it was lost.
  void GiveBack(const std::string& name);
  // Says just that, of one that others give back.
  void LogIfLost(const std::string& name) const;
  // Throws with kThrow if it is lost.
  Lease& Mine(const std::string& name, OnLost on_lost);
};

}  // namespace oncemq
