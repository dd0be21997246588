// SPDX-License-Identifier: Apache-2.0
// MessageLocks: the names that one call of a handler has taken. They are given back behind it.
// Elided ones follow the assignment that stands in for them: they last while commits keep it, and
// end when it is given back or lost (rule 50).
//
// Thread safety: EndAt() and waits() from any thread. The rest belongs to the handler's call. Its
// leases may outlive their domain.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/window.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

class Message;

// Where names are taken from.
struct LockSource {
  enum class Kind : unsigned char {
    kNone,
    kDomain,
    kAssignment,  // rule 50: the domain is of this process alone
  };
  Kind kind = Kind::kNone;
  std::weak_ptr<LockDomain> domain;  // gone with the runtime, which handlers that hang outlive
};

class MessageLocks {
 public:
  // For the call that is about to come, which all of this outlives.
  void Begin(const LockSource& source, const Message& message, OwnerEpoch owner_epoch) {
    source_ = &source;
    message_ = &message;
    owner_epoch_ = owner_epoch;
  }

  Result<Granted<const Lease&>> Take(std::string_view name, AcquireOptions how);
  Result<Granted<std::vector<const Lease*>>> TakeAll(std::span<const std::string> names,
                                                     AcquireOptions how);
  bool any() const { return !leases_.empty(); }
  // Whether the call waits for a name at present. Any thread.
  bool waits() const { return waits_.load(std::memory_order_relaxed); }
  bool AllMine() const;
  void Release();
  // Until when the partition is surely ours, as far as is known now. Any thread.
  void EndAt(BootTime at);

 private:
  // Stays as long as the call that it is for.
  Result<std::shared_ptr<LockDomain>> Domain() const;
  // Fills in what the source adds; `what` keeps its text.
  void Prepare(AcquireOptions& how, std::string& what) const;
  // From now on it ends with the assignment, if it is elided. False: that has ended.
  bool Follow(Lease& lease, const Clock& clock);

  const LockSource* source_ = nullptr;
  const Message* message_ = nullptr;
  OwnerEpoch owner_epoch_ = 0;
  std::deque<Lease> leases_;  // handlers point to them
  std::atomic<bool> waits_{false};
  Mutex mutex_;
  BootTime end_ GUARDED_BY(mutex_) = BootTime{};
  std::vector<Lease*> elided_ GUARDED_BY(mutex_);  // of `leases_`
};

}  // namespace oncemq
