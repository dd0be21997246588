// SPDX-License-Identifier: Apache-2.0
// What SwitchedLocks is made of; its parts are in switched_requests.cc, switched_holds.cc and
// switched_locks.cc.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/check.h"
#include "requested_where.h"
#include "switched_store.h"

namespace oncemq {

using StoreNames = std::vector<std::string>;

inline bool HasStore(const StoreNames& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct SwitchedLocks::Parts {
  // A record may name stores that this process was not told of.
  bool Has(std::string_view name) const {
    return std::any_of(stores.begin(), stores.end(),
                       [&](const auto& store) { return store->name() == name; });
  }
  // Precondition: there is one.
  SwitchedStore& Store(std::string_view name) {
    const auto at = std::find_if(stores.begin(), stores.end(),
                                 [&](const auto& store) { return store->name() == name; });
    ONCEMQ_CHECK(at != stores.end(), "only a record of known stores is in force");
    return **at;
  }
  SwitchedStore& Front(const SwitchRecord& record) {
    return Store(record.mode == SwitchMode::kDrain ? record.to : record.from);
  }
  LockAnswer Drained(const AcquireRequest& request);
  // `where` knows already that it may be there.
  Result<LockAnswer> RequestAt(SwitchedStore& store, const AcquireRequest& request,
                               bool gives_fence);
  Status Undo(const StoreNames& grants, size_t granted, const AcquireRequest& request);
  Status ExtendAt(SwitchedStore& store, std::span<const LockClaim> claims,
                  std::span<Extended> answers);
  // Whether a lease from `since` on may have ended, by a clock a little faster than ours.
  bool MayHaveEnded(BootTime since, milliseconds lease) const {
    return clock.Boot() >= since + lease - microseconds(lease) / 1'000;
  }
  // True: held there now, and in the other store since `extended_at`.
  Result<bool> Move(SwitchedStore& to, const SwitchRecord& record, const LockClaim& claim,
                    BootTime extended_at);
  std::vector<size_t> InTurn(std::span<const LockClaim> claims) const;
  std::vector<bool> MoveSome(SwitchedStore& to, const SwitchRecord& record,
                             std::span<const LockClaim> claims, BootTime extended_at);
  Status ExtendDrained(const SwitchRecord& record, std::span<const LockClaim> claims,
                       std::span<Extended> answers);
  Status ExtendAlsoAt(SwitchedStore& to, const SwitchRecord& record,
                      std::span<const LockClaim> claims, std::span<Extended> answers,
                      BootTime extended_at);
  Result<Freed> EvictInBoth(const SwitchRecord& record, std::string_view name, const Fence& fence);
  bool SealedSince(const SwitchRecord& record);
  milliseconds TargetAnswersWithin(const SwitchRecord& record) const;
  void WatchTarget(const SwitchRecord& record, BootTime sent_at, const Status& taken);
  Status CheckGrants(SwitchedStore& store);
  Status CanBePlanned(SwitchedStore& from, SwitchedStore& to);
  std::optional<size_t> HoldsLeft(const SwitchRecord& record);
  LockSwitch ReportOf(const SwitchRecord& record);

  const Clock& clock;
  HoldListeners listeners;
  std::vector<std::unique_ptr<SwitchedStore>> stores;
  LockCapabilities can;
  RequestedWhere where;
  std::unique_ptr<Switchboard> board;  // last: its thread seals the stores
};

}  // namespace oncemq
