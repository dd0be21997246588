// SPDX-License-Identifier: Apache-2.0
// MemcachedClaims: until when each hold that was asked for here lasts, by a clock of this process,
// and in which epoch. The server keeps a hold for whole seconds and one more, so only whoever asked
// can tell that it has ended: it is not extended then, and the name may be taken over.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/token.h"

namespace oncemq {

struct MemcachedClaim {
  BootTime until = BootTime::min();  // what the server acknowledged
  BootTime at_most;                  // what it was asked for: a reply may still be on its way
  uint32_t epoch = 0;
  // What the key held when it was last seen to be this one's; 0: never. Whoever changes it by that
  // version needs no look before.
  uint64_t version = 0;
  std::string bytes;
};

class MemcachedClaims {
 public:
  // Before it is asked for, or its extension is.
  void Sent(const Token& token, uint32_t epoch, BootTime at_most, BootTime now) {
    MutexLock lock(mutex_);
    if (claims_.size() >= sweep_at_) {
      std::erase_if(claims_,
                    [now](const auto& claim) { return claim.second.at_most + kKept < now; });
      sweep_at_ = std::max<size_t>(1024, claims_.size() * 2);
    }
    MemcachedClaim& claim = claims_[token];
    claim.at_most = std::max(claim.at_most, at_most);
    claim.epoch = epoch;
  }
  void Acknowledged(const Token& token, BootTime until, uint64_t version, std::string bytes) {
    MutexLock lock(mutex_);
    if (const auto at = claims_.find(token); at != claims_.end()) {
      at->second.until = std::max(at->second.until, until);
      at->second.version = version;
      at->second.bytes = std::move(bytes);
    }
  }
  std::optional<MemcachedClaim> Find(const Token& token) const {
    MutexLock lock(mutex_);
    const auto at = claims_.find(token);
    return at == claims_.end() ? std::nullopt : std::optional(at->second);
  }
  // Asked for here, and over whatever the server has answered or will.
  bool Ended(const Token& token, BootTime now) const {
    const auto claim = Find(token);
    return claim && claim->at_most <= now;
  }
  void Forget(const Token& token) {
    MutexLock lock(mutex_);
    claims_.erase(token);
  }
  // The server had the name for somebody else. Whoever tries often leaves nothing behind here.
  void Refused(const Token& token, bool had_some) {
    if (!had_some) {
      Forget(token);
    }
  }

 private:
  // Longer than the server keeps it.
  static constexpr milliseconds kKept{10'000};
  struct Order {
    bool operator()(const Token& a, const Token& b) const {
      return a.process != b.process ? a.process < b.process : a.attempt < b.attempt;
    }
  };

  mutable Mutex mutex_;
  std::map<Token, MemcachedClaim, Order> claims_ GUARDED_BY(mutex_);
  size_t sweep_at_ GUARDED_BY(mutex_) = 1024;
};

}  // namespace oncemq
