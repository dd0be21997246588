// SPDX-License-Identifier: Apache-2.0
#include "etcd_claims.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {

void EtcdClaims::Pin(const All::iterator& at) {
  by_time_.erase({at->second.until, at->first});
  at->second.calls++;
}

void EtcdClaims::Unpin(const All::iterator& at, BootTime until) {
  ONCEMQ_CHECK(at->second.calls > 0, "a call ends that has begun");
  at->second.until = until;
  if (--at->second.calls == 0) {
    by_time_.insert({until, at->first});
  }
}

void EtcdClaims::Erase(const All::iterator& at) {
  ONCEMQ_CHECK(at->second.calls == 0, "a claim outlives the calls under way for it (E2)");
  by_time_.erase({at->second.until, at->first});
  by_key_.erase(at->second.claim.key);
  all_.erase(at);
}

bool EtcdClaims::Requesting(const Token& token, const std::string& key, BootTime now) {
  const auto at = all_.try_emplace(token, Kept{{.key = key}, now}).first;
  const bool fresh = at->second.claim.created == 0 && !at->second.claim.uncertain;
  if (!fresh && at->second.calls == 0 && at->second.until <= now) {
    return false;
  }
  by_key_.emplace(at->second.claim.key, at->first);
  Pin(at);
  return true;
}

void EtcdClaims::Has(const Token& token, const EtcdClaim& claim, BootTime until) {
  const auto at = all_.find(token);
  if (at == all_.end()) {
    return;  // given up meanwhile, which made it void
  }
  const bool uncertain = at->second.claim.uncertain;
  at->second.claim = claim;
  at->second.claim.uncertain = uncertain || claim.uncertain;
  Unpin(at, until);
}

void EtcdClaims::HasNothing(const Token& token) {
  const auto at = all_.find(token);
  if (at == all_.end()) {
    return;
  }
  EtcdClaim& claim = at->second.claim;
  claim.created = 0;
  claim.granted = false;
  claim.ahead.clear();
  Unpin(at, at->second.until);
  if (!claim.uncertain && at->second.calls == 0) {
    Erase(at);
  }
}

void EtcdClaims::NotRequested(const Token& token) {
  const auto at = all_.find(token);
  if (at == all_.end()) {
    return;
  }
  Unpin(at, at->second.until);
  if (at->second.claim.created == 0 && !at->second.claim.uncertain && at->second.calls == 0) {
    Erase(at);
  }
}

void EtcdClaims::Unknown(const Token& token, BootTime until) {
  if (const auto at = all_.find(token); at != all_.end()) {
    at->second.claim.uncertain = true;
    Unpin(at, std::max(until, at->second.until));
  }
}

bool EtcdClaims::Extending(const Token& token, BootTime now) {
  const auto at = all_.find(token);
  if (at == all_.end() || !at->second.claim.granted || at->second.until <= now) {
    return false;
  }
  Pin(at);
  return true;
}

void EtcdClaims::Extended(const Token& token, std::optional<BootTime> until) {
  if (const auto at = all_.find(token); at != all_.end()) {
    Unpin(at, until.value_or(at->second.until));
  }
}

void EtcdClaims::AheadWent(const Token& token) {
  if (const auto at = all_.find(token); at != all_.end()) {
    at->second.claim.ahead.clear();
  }
}

void EtcdClaims::Removed(const Token& token, const EtcdClaim& claim) {
  const auto at = all_.find(token);
  if (at == all_.end() || at->second.claim.created != claim.created ||
      at->second.claim.uncertain != claim.uncertain) {
    return;
  }
  if (at->second.calls == 0) {
    Erase(at);
    return;
  }
  at->second.claim = {.key = at->second.claim.key};
}

std::optional<EtcdClaim> EtcdClaims::Find(const Token& token) const {
  const auto at = all_.find(token);
  return at == all_.end() ? std::nullopt : std::optional(at->second.claim);
}

bool EtcdClaims::Holds(const Token& token, BootTime now) const {
  const auto at = all_.find(token);
  return at != all_.end() && at->second.claim.granted && at->second.until > now;
}

std::optional<BootTime> EtcdClaims::UntilOf(const std::string& key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? std::nullopt : std::optional(all_.at(at->second).until);
}

std::vector<std::pair<Token, EtcdClaim>> EtcdClaims::Overdue(BootTime now, size_t most) const {
  std::vector<std::pair<Token, EtcdClaim>> overdue;
  for (auto at = by_time_.begin();
       at != by_time_.end() && at->first <= now && overdue.size() < most; ++at) {
    overdue.emplace_back(at->second, all_.at(at->second).claim);
  }
  return overdue;
}

std::optional<BootTime> EtcdClaims::next() const {
  return by_time_.empty() ? std::nullopt : std::optional(by_time_.begin()->first);
}

}  // namespace oncemq
