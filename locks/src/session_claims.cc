// SPDX-License-Identifier: Apache-2.0
#include "session_claims.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {

std::optional<SessionClaims::Claim> SessionClaims::Begin(const Token& token, std::string_view name,
                                                         uint32_t epoch, BootTime until) {
  if (claims_.contains(token)) {
    return std::nullopt;
  }
  Claim claim;
  claim.number = ++last_number_;
  claim.name = name;
  claim.epoch = epoch;
  claim.until = until;
  claims_.insert_or_assign(token, claim);
  const bool fresh = numbers_.emplace(claim.number, token).second;
  ONCEMQ_CHECK(fresh, "a number is of one claim of the session");
  ends_.insert({until, token});
  return claim;
}

SessionClaims::Ending SessionClaims::Erase(std::map<Token, Claim>::iterator at) {
  ONCEMQ_CHECK(numbers_.size() == claims_.size() && ends_.size() == claims_.size(),
               "each claim has one number and one end");
  const auto& [token, claim] = *at;
  Ending ending{claim.number, token, claim.name, claim.node, false};
  numbers_.erase(claim.number);
  ends_.erase({claim.until, token});
  claims_.erase(at);
  return ending;
}

// Of itself, or given up: it is left over, from the end of its call on.
void SessionClaims::End(std::map<Token, Claim>::iterator at) {
  const bool under_way = at->second.under_way;
  Ending ending = Erase(at);
  const uint64_t number = ending.number;
  const bool added = (under_way ? pending_ : left_).emplace(number, std::move(ending)).second;
  ONCEMQ_CHECK(added, "a claim ends once (C1)");
}

void SessionClaims::CallEnded(uint64_t number, std::string_view node) {
  if (auto one = pending_.extract(number); !one.empty()) {
    one.mapped().node = node;
    left_.insert(std::move(one));
  }
}

const SessionClaims::Claim* SessionClaims::Find(const Token& token, BootTime now) {
  const auto at = claims_.find(token);
  if (at == claims_.end()) {
    return nullptr;
  }
  if (at->second.until <= now) {
    End(at);
    return nullptr;
  }
  return &at->second;
}

const SessionClaims::Claim* SessionClaims::Numbered(uint64_t number, BootTime now) {
  const auto at = numbers_.find(number);
  return at == numbers_.end() ? nullptr : Find(at->second, now);
}

SessionClaims::Claim* SessionClaims::Same(const Token& token, uint64_t number) {
  const auto at = claims_.find(token);
  return at == claims_.end() || at->second.number != number ? nullptr : &at->second;
}

void SessionClaims::Move(const Token& token, Claim& claim, BootTime until) {
  ends_.erase({claim.until, token});
  claim.until = until;
  ends_.insert({until, token});
}

bool SessionClaims::LiesAt(const Token& token, uint64_t number, std::string_view node) {
  Claim* claim = Same(token, number);
  if (claim != nullptr) {
    claim->node = node;
    claim->under_way = false;
  } else {
    CallEnded(number, node);
  }
  return claim != nullptr;
}

bool SessionClaims::Holds(const Token& token, uint64_t number, const Fence& fence, BootTime until) {
  Claim* claim = Same(token, number);
  if (claim != nullptr) {
    claim->holds = true;
    claim->fence = fence;
    Move(token, *claim, until);
  }
  return claim != nullptr;
}

bool SessionClaims::Keep(const Token& token, uint64_t number, BootTime until) {
  Claim* claim = Same(token, number);
  if (claim != nullptr) {
    Move(token, *claim, until);
  }
  return claim != nullptr;
}

bool SessionClaims::Recall(const Token& token, uint64_t number) {
  Claim* claim = Same(token, number);
  if (claim != nullptr) {
    claim->recalled = true;
  }
  return claim != nullptr;
}

void SessionClaims::Lost(const Token& token, uint64_t number) {
  if (Same(token, number) != nullptr) {
    Erase(claims_.find(token));
  } else {
    pending_.erase(number);
  }
}

void SessionClaims::Unanswered(const Token& token, uint64_t number) {
  if (Claim* claim = Same(token, number)) {
    claim->under_way = false;
  } else {
    CallEnded(number, {});
  }
}

std::optional<SessionClaims::Ending> SessionClaims::GiveUp(const Token& token, BootTime now) {
  if (const Claim* claim = Find(token, now)) {
    if (claim->under_way) {
      End(claims_.find(token));
      return std::nullopt;
    }
    const bool held = claim->holds;
    Ending ending = Erase(claims_.find(token));
    ending.held = held;
    return deleting_.emplace(ending.number, ending).first->second;
  }
  const Ending* left = Left(token);
  return left == nullptr ? std::nullopt : std::optional(*left);
}

// Given up before, and the store did not say that it is gone.
const SessionClaims::Ending* SessionClaims::Left(const Token& token) const {
  for (const auto* ended : {&left_, &deleting_}) {
    for (const auto& [number, ending] : *ended) {
      if (ending.token == token) {
        return &ending;
      }
    }
  }
  return nullptr;
}

bool SessionClaims::MayHave(const Token& token) const {
  const auto of_token = [&](const auto& one) { return one.second.token == token; };
  return claims_.contains(token) || std::any_of(pending_.begin(), pending_.end(), of_token) ||
         Left(token) != nullptr;
}

std::vector<SessionClaims::Ending> SessionClaims::Due(BootTime now) {
  while (!ends_.empty() && ends_.begin()->first <= now) {
    End(claims_.find(ends_.begin()->second));
  }
  std::vector<Ending> due;
  due.reserve(left_.size());
  for (const auto& [number, ending] : left_) {
    due.push_back(ending);
  }
  deleting_.merge(left_);
  ONCEMQ_CHECK(left_.empty(), "each ending is handed out to one at a time (C2)");
  return due;
}

void SessionClaims::Gone(uint64_t number) {
  left_.erase(number);
  deleting_.erase(number);
}

void SessionClaims::Failed(uint64_t number) {
  if (auto one = deleting_.extract(number); !one.empty()) {
    left_.insert(std::move(one));
  }
}

void SessionClaims::Clear() {
  claims_.clear();
  numbers_.clear();
  ends_.clear();
  pending_.clear();
  left_.clear();
  deleting_.clear();
}

std::optional<BootTime> SessionClaims::next() const {
  return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first);
}

}  // namespace oncemq
