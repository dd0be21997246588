// SPDX-License-Identifier: Apache-2.0
#include "requested_where.h"

#include <algorithm>

namespace oncemq {
namespace {

// A lease after the last call there it is over; what may still be on its way has as long again.
BootTime ForgottenAt(milliseconds lease, BootTime now) {
  return now + 2 * lease;
}

}  // namespace

RequestedWhere::Entry& RequestedWhere::At(const AcquireRequest& request, BootTime now) {
  // Of those whose owner never came back; each sweep is paid by as many requests.
  if (entries_.size() >= sweep_at_) {
    std::erase_if(entries_, [now](const auto& entry) { return entry.second.until <= now; });
    sweep_at_ = std::max<size_t>(1024, entries_.size() * 2);
  }
  Entry& entry = entries_[request.token];
  entry.mode = request.mode;
  entry.who = request.who;
  entry.fenced = request.fenced;
  entry.epoch = request.epoch;
  entry.until = ForgottenAt(std::max(request.lease, request.queue_lease), now);
  entry.given_back = false;
  return entry;
}

void RequestedWhere::Add(const AcquireRequest& request, const std::string& store, BootTime now) {
  MutexLock lock(mutex_);
  Entry& entry = At(request, now);
  entry.stores[store] = entry.until;
}

std::optional<RequestedWhere::Entry> RequestedWhere::Moves(const LockClaim& claim,
                                                           const std::string& store, uint32_t epoch,
                                                           BootTime now) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(claim.token);
  if (at == entries_.end() || at->second.given_back || at->second.moving) {
    return std::nullopt;
  }
  Entry& entry = at->second;
  entry.moving = true;
  entry.tried = ++tries_;
  entry.epoch = epoch;
  entry.stores[store] = ForgottenAt(claim.lease, now);
  entry.until = std::max(entry.until, entry.stores[store]);
  return entry;
}

std::optional<RequestedWhere::Entry> RequestedWhere::Moved(const Token& token) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  if (at == entries_.end()) {
    return std::nullopt;
  }
  at->second.moving = false;
  return at->second;
}

uint64_t RequestedWhere::Tried(const Token& token) const {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  return at == entries_.end() ? 0 : at->second.tried;
}

void RequestedWhere::WaitsAt(const AcquireRequest& request, const std::string& store,
                             BootTime now) {
  MutexLock lock(mutex_);
  At(request, now).waits_at = store;
}

void RequestedWhere::Holds(const AcquireRequest& request, BootTime now) {
  MutexLock lock(mutex_);
  if (const auto at = entries_.find(request.token); at != entries_.end()) {
    at->second.lease = request.lease;
    at->second.held_until = now + request.lease;
  }
}

void RequestedWhere::Extended(const LockClaim& claim, const std::vector<std::string>& stores,
                              BootTime now) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(claim.token);
  if (at == entries_.end()) {
    return;
  }
  at->second.until = ForgottenAt(claim.lease, now);
  at->second.lease = claim.lease;
  at->second.held_until = now + claim.lease;
  for (const std::string& store : stores) {
    if (const auto there = at->second.stores.find(store); there != at->second.stores.end()) {
      there->second = at->second.until;
    }
  }
}

std::optional<RequestedWhere::Entry> RequestedWhere::Find(const Token& token) const {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  return at == entries_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<RequestedWhere::Entry> RequestedWhere::GivesBack(const Token& token) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  if (at == entries_.end()) {
    return std::nullopt;
  }
  at->second.given_back = true;
  return at->second;
}

void RequestedWhere::Forget(const Token& token) {
  MutexLock lock(mutex_);
  entries_.erase(token);
}

std::optional<milliseconds> RequestedWhere::ShortestLease(BootTime now) const {
  MutexLock lock(mutex_);
  std::optional<milliseconds> shortest;
  for (const auto& [token, entry] : entries_) {
    if (entry.held_until > now && !entry.given_back) {
      shortest = std::min(shortest.value_or(entry.lease), entry.lease);
    }
  }
  return shortest;
}

}  // namespace oncemq
