// SPDX-License-Identifier: Apache-2.0
#include "asked_where.h"

#include <algorithm>

namespace oncemq {
namespace {

// A lease after the last call there it is over; what may still be on its way has as long again.
BootTime ForgottenAt(milliseconds lease, BootTime now) {
  return now + 2 * lease;
}

}  // namespace

AskedWhere::Entry& AskedWhere::At(const LockAsk& ask, BootTime now) {
  // Of those whose owner never came back; each sweep is paid by as many asks.
  if (entries_.size() >= sweep_at_) {
    std::erase_if(entries_, [now](const auto& entry) { return entry.second.until <= now; });
    sweep_at_ = std::max<size_t>(1024, entries_.size() * 2);
  }
  Entry& entry = entries_[ask.token];
  entry.mode = ask.mode;
  entry.who = ask.who;
  entry.fenced = ask.fenced;
  entry.epoch = ask.epoch;
  entry.until = ForgottenAt(std::max(ask.lease, ask.queue_lease), now);
  entry.given_back = false;
  return entry;
}

void AskedWhere::Add(const LockAsk& ask, const std::string& store, BootTime now) {
  MutexLock lock(mutex_);
  Entry& entry = At(ask, now);
  entry.stores[store] = entry.until;
}

std::optional<AskedWhere::Entry> AskedWhere::Moves(const LockClaim& claim, const std::string& store,
                                                   uint32_t epoch, BootTime now) {
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

std::optional<AskedWhere::Entry> AskedWhere::Moved(const Token& token) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  if (at == entries_.end()) {
    return std::nullopt;
  }
  at->second.moving = false;
  return at->second;
}

uint64_t AskedWhere::Tried(const Token& token) const {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  return at == entries_.end() ? 0 : at->second.tried;
}

void AskedWhere::WaitsAt(const LockAsk& ask, const std::string& store, BootTime now) {
  MutexLock lock(mutex_);
  At(ask, now).waits_at = store;
}

void AskedWhere::Holds(const LockAsk& ask, BootTime now) {
  MutexLock lock(mutex_);
  if (const auto at = entries_.find(ask.token); at != entries_.end()) {
    at->second.lease = ask.lease;
    at->second.held_until = now + ask.lease;
  }
}

void AskedWhere::Extended(const LockClaim& claim, const std::vector<std::string>& stores,
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

std::optional<AskedWhere::Entry> AskedWhere::Find(const Token& token) const {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  return at == entries_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<AskedWhere::Entry> AskedWhere::GivesBack(const Token& token) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(token);
  if (at == entries_.end()) {
    return std::nullopt;
  }
  at->second.given_back = true;
  return at->second;
}

void AskedWhere::Forget(const Token& token) {
  MutexLock lock(mutex_);
  entries_.erase(token);
}

std::optional<milliseconds> AskedWhere::ShortestLease(BootTime now) const {
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
