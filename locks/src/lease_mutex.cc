// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lease_mutex.h"

#include <map>
#include <thread>
#include <utility>

#include "held_lease.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

struct LeaseMutex::Parts {
  LockDomain& domain;
  const std::string name;
  const LeaseMutexOptions options;
  const bool reentrant;
  Mutex mutex;
  // Nodes of a map stay where they are, and only their own thread touches them.
  std::map<std::thread::id, HeldLease> held GUARDED_BY(mutex);
};

LeaseMutex::LeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options)
    : LeaseMutex(domain, std::move(name), std::move(options), false) {}

LeaseMutex::LeaseMutex(LockDomain& domain, std::string name, LeaseMutexOptions options,
                       bool reentrant)
    : parts_(new Parts{domain, std::move(name), std::move(options), reentrant, {}, {}}) {}

LeaseMutex::~LeaseMutex() = default;

bool LeaseMutex::Take(LockMode mode, std::optional<microseconds> within) {
  const std::thread::id me = std::this_thread::get_id();
  {
    MutexLock lock(parts_->mutex);
    if (const auto at = parts_->held.find(me); at != parts_->held.end()) {
      if (!parts_->reentrant) {
        ThrowFromFacade(std::errc::resource_deadlock_would_occur,
                        parts_->name + ": this thread holds it");
      }
      if (!at->second.lease.StillMine()) {
        ThrowFromFacade(std::errc::owner_dead, parts_->name + ": the lease was lost");
      }
      at->second.depth++;
      return true;
    }
  }
  auto lease = TakeForFacade(parts_->domain, parts_->name, parts_->options, {.mode = mode}, within);
  if (!lease) {
    return false;
  }
  MutexLock lock(parts_->mutex);
  parts_->held[me].Keep(*std::move(lease), parts_->options.on_lost);
  return true;
}

void LeaseMutex::GiveBack() {
  std::map<std::thread::id, HeldLease>::node_type gone;
  {
    MutexLock lock(parts_->mutex);
    const auto at = parts_->held.find(std::this_thread::get_id());
    if (at == parts_->held.end() || --at->second.depth > 0) {
      return;
    }
    gone = parts_->held.extract(at);
  }
  gone.mapped().GiveBack(parts_->name);
}

Lease& LeaseMutex::lease() {
  MutexLock lock(parts_->mutex);
  const auto at = parts_->held.find(std::this_thread::get_id());
  if (at == parts_->held.end()) {
    ThrowFromFacade(std::errc::operation_not_permitted,
                    parts_->name + ": this thread does not hold it");
  }
  return at->second.Mine(parts_->name, parts_->options.on_lost);
}

}  // namespace oncemq
