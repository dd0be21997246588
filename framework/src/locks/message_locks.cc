// SPDX-License-Identifier: Apache-2.0
#include "message_locks.h"

#include <algorithm>
#include <iterator>

#include "oncemq/framework/handler.h"

namespace oncemq {
namespace {

Error Invalid(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

}  // namespace

Result<std::shared_ptr<LockDomain>> MessageLocks::Domain() const {
  if (source_->kind == LockSource::Kind::kNone) {
    return Invalid("this service has no locks: RuntimeOptions::locks");
  }
  auto domain = source_->domain.lock();
  if (domain == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "the runtime of this handler has ended, and its locks with it"};
  }
  return domain;
}

void MessageLocks::Prepare(AcquireOptions& how, std::string& what) const {
  what = std::string(message_->topic()) + "/" + std::to_string(message_->partition()) + "@" +
         std::to_string(message_->offset());
  if (!how.what.empty()) {
    what.append(" ").append(how.what);
  }
  how.what = what;
  if (source_->kind == LockSource::Kind::kAssignment) {
    how.fence = Fence{0, owner_epoch_};
  }
}

// Behind the grant: what was known when it was asked for may be long ago.
bool MessageLocks::Follow(Lease& lease, const Clock& clock) {
  if (source_->kind != LockSource::Kind::kAssignment) {
    return true;
  }
  MutexLock lock(mutex_);
  if (clock.Boot() >= end_) {
    return false;
  }
  lease.EndAt(end_);
  elided_.push_back(&lease);
  return true;
}

void MessageLocks::EndAt(BootTime at) {
  MutexLock lock(mutex_);
  end_ = at;
  for (Lease* lease : elided_) {
    lease->EndAt(at);
  }
}

void MessageLocks::Release() {
  if (leases_.empty()) {
    return;
  }
  {
    MutexLock lock(mutex_);
    elided_.clear();
  }
  ReleaseAll({std::make_move_iterator(leases_.begin()), std::make_move_iterator(leases_.end())});
  leases_.clear();
}

Result<Granted<const Lease&>> MessageLocks::Take(std::string_view name, AcquireOptions how) {
  for (const Lease& lease : leases_) {
    if (lease.name() == name && lease.StillMine()) {
      const bool enough = lease.mode() == how.mode || lease.mode() == LockMode::kExclusive;
      return enough ? Result<Granted<const Lease&>>(lease)
                    : Invalid(
                          "this handler has the name in another mode: two that wait for each "
                          "other to let go would wait for ever");
    }
  }
  const auto domain = Domain();
  if (!domain) {
    return domain.error();
  }
  std::string what;
  Prepare(how, what);
  waits_.store(true, std::memory_order_relaxed);
  auto lease = (*domain)->Acquire(name, how);
  waits_.store(false, std::memory_order_relaxed);
  if (!lease) {
    return lease.error();
  }
  if (!*lease) {
    return {kNotGranted};
  }
  Lease& kept = leases_.emplace_back(std::move(**lease));
  if (!Follow(kept, (*domain)->clock())) {
    leases_.pop_back();
    return {kNotGranted};
  }
  return {kept};
}

Result<Granted<std::vector<const Lease*>>> MessageLocks::TakeAll(std::span<const std::string> names,
                                                                 AcquireOptions how) {
  if (any()) {
    return Invalid("LockAll comes before any other lock of a handler, or two wait for each other");
  }
  const auto domain = Domain();
  if (!domain) {
    return domain.error();
  }
  std::string what;
  Prepare(how, what);
  waits_.store(true, std::memory_order_relaxed);
  auto leases = (*domain)->AcquireAll(names, how);
  waits_.store(false, std::memory_order_relaxed);
  if (!leases) {
    return leases.error();
  }
  if (!*leases) {
    return {kNotGranted};
  }
  std::vector<const Lease*> taken;
  for (Lease& lease : **leases) {
    Lease& kept = leases_.emplace_back(std::move(lease));
    if (!Follow(kept, (*domain)->clock())) {
      Release();
      return {kNotGranted};
    }
    taken.push_back(&kept);
  }
  return {std::move(taken)};
}

bool MessageLocks::AllMine() const {
  return std::all_of(leases_.begin(), leases_.end(),
                     [](const Lease& lease) { return lease.StillMine(); });
}

}  // namespace oncemq
