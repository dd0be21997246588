// SPDX-License-Identifier: Apache-2.0
// Counted leases behind the words of std::counting_semaphore: as many hold a name at a time, in all
// processes together, as each of them says.
//
//   LeaseSemaphore permits(domain, "partner-api", 8);  // 8 calls at a time, whoever makes them
//   permits.acquire();
//   ... while (!permits.lease().stop().stop_requested()) ...
//   permits.release();
//
// What it is not: no target that remembers one fence can check what its holders do, since several
// are right at a time (RedisFence, InstallFence and FencedEffects refuse). A holder that was paused
// may so be one too many at the target until it looks. Where that must not be, take as many names
// as there are permits, each exclusively: then each has a fence of its own, and the target a
// register for each.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "oncemq/locks/lease_mutex.h"

namespace oncemq {

// Each permit is a lease, with its renewal, its loss and its end. A thread may take several; with a
// limit that it reaches by itself it waits for itself. All who use a name should say the same
// limit: lock_domain.h says what happens if not.
//
// Failures, as of LeaseMutex: std::system_error; invalid_argument for a limit that is not from 1 to
// max(), and for an engine that counts nobody. release() never throws.
//
// Thread safety: any thread. Must not outlive its domain, nor be destroyed while it is used; what
// is still held then is released.
class LeaseSemaphore {
 public:
  // `options.on_lost` is for each permit by itself.
  LeaseSemaphore(LockDomain& domain, std::string name, uint32_t limit,
                 LeaseMutexOptions options = {});
  ~LeaseSemaphore();
  LeaseSemaphore(const LeaseSemaphore&) = delete;
  LeaseSemaphore& operator=(const LeaseSemaphore&) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return kMostCounted; }

  // Returns with the permit, as LeaseMutex::lock().
  void acquire() { Take({}); }
  bool try_acquire() { return Take(microseconds(0)); }
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& within) {
    return Take(BoundedWait(within));
  }
  template <class OfClock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<OfClock, Duration>& until) {
    return Take(BoundedWaitUntil(until));
  }
  // Gives back that many of those that this object holds: what the calling thread took last, and
  // behind that what others took first, since any thread may release. Many go together, as by
  // ReleaseAll(). Of more than there are it says so in the log, and touches nothing.
  void release(std::ptrdiff_t permits = 1);

  // What the calling thread took last. Throws std::system_error if that is nothing, or, with
  // kThrow, if it is lost.
  Lease& lease();

 private:
  struct Parts;
  bool Take(std::optional<microseconds> within);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq
