// SPDX-License-Identifier: Apache-2.0
// RequestedWhere: what this process has asked for, and where: by it a hold can be asked for once
// more in the store that it moves to, and given back wherever it may be.
//
// Thread safety: any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

class RequestedWhere {
 public:
  struct Entry {
    LockMode mode = LockMode::kExclusive;
    std::string who;
    bool fenced = false;
    uint32_t epoch = 0;                      // in which it was asked for last
    std::map<std::string, BootTime> stores;  // that may know it, until they have forgotten it
    std::string waits_at;                    // in whose queue; empty: in none
    BootTime until{};                        // all of its stores have forgotten it by then
    bool given_back = false;                 // or about to be
    milliseconds lease{0};                   // of the hold
    BootTime held_until = BootTime::min();   // in the past: it waits, or is not renewed any more
    uint64_t tried = 0;                      // to be moved, for the last time; counts all tries
    bool moving = false;                     // is being asked for where it moves to

    bool MayBeAt(const std::string& store, BootTime now) const {
      const auto at = stores.find(store);
      return at != stores.end() && at->second > now;
    }
  };

  // From now on `store` may know of it: by a request, or because a hold of ours moves there. None:
  // it is not ours any more, or somebody moves it, and it must not be asked for: a store need not
  // cope with two requests of one token at a time, as of a renewal and a Confirm().
  void Add(const AcquireRequest& request, const std::string& store, BootTime now);
  std::optional<Entry> Moves(const LockClaim& claim, const std::string& store, uint32_t epoch,
                             BootTime now);
  // Behind a Moves() that gave one out, whatever came of it.
  std::optional<Entry> Moved(const Token& token);
  // 0: it never was.
  uint64_t Tried(const Token& token) const;
  void WaitsAt(const AcquireRequest& request, const std::string& store, BootTime now);
  // Granted.
  void Holds(const AcquireRequest& request, BootTime now);
  // Renewed, or tried to.
  void Extended(const LockClaim& claim, const std::vector<std::string>& stores, BootTime now);
  std::optional<Entry> Find(const Token& token) const;
  // Its stores are about to be told. Whatever moves it meanwhile has to take that back.
  std::optional<Entry> GivesBack(const Token& token);
  void Forget(const Token& token);
  // Of all that this process holds. Nothing: it holds nothing.
  std::optional<milliseconds> ShortestLease(BootTime now) const;

 private:
  Entry& At(const AcquireRequest& request, BootTime now) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<Token, Entry> entries_ GUARDED_BY(mutex_);
  size_t sweep_at_ GUARDED_BY(mutex_) = 1024;
  uint64_t tries_ GUARDED_BY(mutex_) = 0;
};

}  // namespace oncemq
