// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lease_semaphore.h"

#include <algorithm>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "held_lease.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"

namespace oncemq {
namespace {

struct Permit {
  std::thread::id owner;
  HeldLease held;
};
using Permits = std::list<Permit>;

// What this thread took last; the end, if it holds nothing.
Permits::iterator LastOf(Permits& permits, std::thread::id thread) {
  const auto last = std::find_if(permits.rbegin(), permits.rend(),
                                 [&](const Permit& permit) { return permit.owner == thread; });
  return last == permits.rend() ? permits.end() : std::prev(last.base());
}

// Together, and so without the answer that one alone gets.
void GiveBack(Permits& permits) {
  std::vector<Lease> leases;
  for (Permit& permit : permits) {
    leases.push_back(std::move(permit.held.lease));
  }
  ReleaseAll(std::move(leases));
}

}  // namespace

struct LeaseSemaphore::Parts {
  LockDomain& domain;
  const std::string name;
  const uint32_t limit;
  const LeaseMutexOptions options;
  Mutex mutex;
  Permits permits GUARDED_BY(mutex);  // in the order in which they were taken; they stay in place
};

LeaseSemaphore::LeaseSemaphore(LockDomain& domain, std::string name, uint32_t limit,
                               LeaseMutexOptions options)
    : parts_(new Parts{domain, std::move(name), limit, std::move(options), {}, {}}) {}

LeaseSemaphore::~LeaseSemaphore() {
  Permits left;
  {
    MutexLock lock(parts_->mutex);
    left.swap(parts_->permits);
  }
  GiveBack(left);
}

bool LeaseSemaphore::Take(std::optional<microseconds> within) {
  auto lease = TakeForFacade(parts_->domain, parts_->name, parts_->options,
                             {.mode = LockMode::kCounted, .limit = parts_->limit}, within);
  if (!lease) {
    return false;
  }
  Permits taken;
  Permit& permit = taken.emplace_back();
  permit.owner = std::this_thread::get_id();
  permit.held.Keep(*std::move(lease), parts_->options.on_lost);
  MutexLock lock(parts_->mutex);
  parts_->permits.splice(parts_->permits.end(), taken);
  return true;
}

void LeaseSemaphore::release(std::ptrdiff_t permits) {
  Permits gone;
  {
    MutexLock lock(parts_->mutex);
    Permits& all = parts_->permits;
    for (; permits > 0 && !all.empty(); permits--) {
      const auto mine = LastOf(all, std::this_thread::get_id());
      gone.splice(gone.end(), all, mine == all.end() ? all.begin() : mine);
    }
  }
  if (gone.size() == 1) {
    gone.front().held.GiveBack(parts_->name);
  } else {
    for (const Permit& permit : gone) {
      permit.held.LogIfLost(parts_->name);
    }
    GiveBack(gone);
  }
  if (permits > 0) {
    Log(LogLevel::kWarn, "locks", "what is released was never acquired", {{"name", parts_->name}});
  }
}

Lease& LeaseSemaphore::lease() {
  MutexLock lock(parts_->mutex);
  const auto mine = LastOf(parts_->permits, std::this_thread::get_id());
  if (mine == parts_->permits.end()) {
    ThrowFromFacade(std::errc::operation_not_permitted,
                    parts_->name + ": this thread does not hold it");
  }
  return mine->held.Mine(parts_->name, parts_->options.on_lost);
}

}  // namespace oncemq
