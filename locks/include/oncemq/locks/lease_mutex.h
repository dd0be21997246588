// SPDX-License-Identifier: Apache-2.0
// Leases behind the names that the standard library knows: std::lock_guard, unique_lock,
// shared_lock and scoped_lock work with these.
//
// A Lease says more: a guard's destructor cannot report that the hold was lost. What is to happen
// then is said here once, by on_lost.
//
//   LeaseMutex mutex(domain, "account/42");
//   std::lock_guard guard(mutex);
//   ledger.Write(mutex.lease().fence(), ...);
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "oncemq/locks/lease.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

enum class OnLost : unsigned char {
  kStop,       // lease().stop() is requested, as for every lease
  kThrow,      // and lease() throws from then on, so the next effect does
  kTerminate,  // the process ends with the loss, which is told before the store may grant the name
               // again, unless the process was paused (lease.h): for code that does not look, the
               // nearest to safe without fences. By std::terminate, ahead of all callbacks of
               // stop(); a handler of it (std::set_terminate) must not use any lease
};

struct LeaseMutexOptions {
  OnLost on_lost = OnLost::kStop;
  LockWait wait;  // lock() does not give up: kSpin is kSpinThenBlock there
  bool barge = false;
  milliseconds lease{0};     // 0: as the domain says
  milliseconds max_hold{0};  // 0: no limit
  std::string what;          // what it is for
};

// What does not fit is as good as for ever, or as none.
template <class Rep, class Period>
microseconds BoundedWait(const std::chrono::duration<Rep, Period>& within) {
  constexpr std::chrono::hours kLongest(24 * 365 * 100);
  if (within <= within.zero()) {
    return microseconds(0);
  }
  return within >= kLongest ? microseconds(kLongest) : std::chrono::ceil<microseconds>(within);
}
// The distance of any two times fits a double.
template <class OfClock, class Duration>
microseconds BoundedWaitUntil(const std::chrono::time_point<OfClock, Duration>& until) {
  using Seconds = std::chrono::duration<double>;
  return BoundedWait(Seconds(until.time_since_epoch()) -
                     Seconds(OfClock::now().time_since_epoch()));
}

// Lockable and TimedLockable. A thread that holds it must not lock it again, and unlocks what it
// locked itself.
//
// Failures, which these interfaces can only throw: std::system_error. Of a store that does not
// answer it carries what the Error says; of a thread that already holds it,
// resource_deadlock_would_occur. unlock() never throws.
//
// Thread safety: any thread. Must not outlive its domain, nor be destroyed while it is used; what
// is still held then is released.
class LeaseMutex {
 public:
  LeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options = {});
  ~LeaseMutex();
  LeaseMutex(const LeaseMutex&) = delete;
  LeaseMutex& operator=(const LeaseMutex&) = delete;

  // Returns with the lease, however it waits. Else it throws.
  void lock() { Take(LockMode::kExclusive, {}); }
  bool try_lock() { return Take(LockMode::kExclusive, microseconds(0)); }
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& within) {
    return Take(LockMode::kExclusive, BoundedWait(within));
  }
  template <class OfClock, class Duration>
  bool try_lock_until(const std::chrono::time_point<OfClock, Duration>& until) {
    return Take(LockMode::kExclusive, BoundedWaitUntil(until));
  }
  void unlock() { GiveBack(); }

  // What the calling thread holds. Throws std::system_error if that is nothing, or, with kThrow,
  // if it is lost.
  Lease& lease();

 protected:
  LeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options, bool reentrant);
  // False: not granted `within` that time, which without one never comes.
  bool Take(LockMode mode, std::optional<microseconds> within);
  void GiveBack();

 private:
  struct Parts;

  const std::unique_ptr<Parts> parts_;
};

// SharedTimedLockable: many readers or one writer. A reader never passes a writer that waits.
class SharedLeaseMutex : public LeaseMutex {
 public:
  using LeaseMutex::LeaseMutex;

  void lock_shared() { Take(LockMode::kShared, {}); }
  bool try_lock_shared() { return Take(LockMode::kShared, microseconds(0)); }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& within) {
    return Take(LockMode::kShared, BoundedWait(within));
  }
  template <class OfClock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<OfClock, Duration>& until) {
    return Take(LockMode::kShared, BoundedWaitUntil(until));
  }
  void unlock_shared() { GiveBack(); }
};

// The thread that holds it may lock it again: one lease, one fence, and as many unlocks as locks.
// A lease that was lost is not entered again: that throws, whatever on_lost says.
class ReentrantLeaseMutex : public LeaseMutex {
 public:
  ReentrantLeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options = {})
      : LeaseMutex(domain, std::move(name), std::move(options), true) {}
};

}  // namespace oncemq
