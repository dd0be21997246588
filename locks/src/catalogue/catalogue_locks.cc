// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/catalogue_locks.h"

#include <utility>
#include <vector>

#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/switch_stores.h"

namespace oncemq {
namespace {

Error InvalidCatalogue(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

Error Of(std::string_view store, const Error& error) {
  return {error.code, error.effect, "the store " + std::string(store) + ": " + error.message};
}

Result<std::shared_ptr<SwitchedLocks>> OpenSwitched(const StoreAccess& access,
                                                    const SwitchboardOptions& switching,
                                                    bool only_begun) {
  auto plan = OpenSwitchedPlan(access);
  if (!plan) {
    return plan.error();
  }
  if (only_begun) {
    return OpenBegun(*std::move(plan), switching);
  }
  return SwitchedLocks::Open(std::move(plan->stores), std::move(plan->record), switching);
}

}  // namespace

Result<SwitchedPlan> OpenSwitchedPlan(const StoreAccess& access) {
  SwitchedPlan plan;
  for (const GrantedStore& store : access.locks) {
    auto named = NamedLocksAt(store.name, store.address, access.space);
    if (!named) {
      return Of(store.name, named.error());
    }
    plan.stores.push_back(*std::move(named));
  }
  if (!access.record) {
    return InvalidCatalogue(
        "the catalogue says no `record` for these locks, so nothing can be switched");
  }
  auto record = OpenSwitchStore(access.record->address, access.space);
  if (!record) {
    return record.error();
  }
  plan.record = *std::move(record);
  return plan;
}

// The services write the first one: whoever else did it might name the wrong main store.
Result<std::shared_ptr<SwitchedLocks>> OpenBegun(SwitchedPlan plan,
                                                 const SwitchboardOptions& switching) {
  const auto text = plan.record->Read();
  if (!text) {
    return text.error();
  }
  if (text->text.empty()) {
    return InvalidCatalogue(
        "there is no switch record yet; the first service writes it. One that was lost is begun "
        "again with --first-epoch");
  }
  return SwitchedLocks::Open(std::move(plan.stores), std::move(plan.record), switching);
}

Result<std::shared_ptr<LockEngine>> OpenGrantedLocks(const StoreAccess& access,
                                                     const SwitchboardOptions& switching,
                                                     bool only_begun) {
  if (!access.record) {
    return OpenLockEngine(access.locks.front().address, access.space);
  }
  auto switched = OpenSwitched(access, switching, only_begun);
  if (!switched) {
    return switched.error();
  }
  return std::shared_ptr<LockEngine>(*std::move(switched));
}

Result<std::shared_ptr<LockEngine>> OpenCatalogueLocks(const StoreCatalogue& catalogue,
                                                       const StoreIdentity& who,
                                                       std::string_view scope,
                                                       const SwitchboardOptions& switching) {
  const auto access = Authorise(catalogue, who, scope);
  return access ? OpenGrantedLocks(*access, switching) : access.error();
}

Result<std::shared_ptr<SwitchedLocks>> OpenCatalogueSwitch(const StoreCatalogue& catalogue,
                                                           const StoreIdentity& who,
                                                           std::string_view scope,
                                                           const SwitchboardOptions& switching,
                                                           bool only_begun) {
  const auto access = Authorise(catalogue, who, scope);
  return access ? OpenSwitched(*access, switching, only_begun) : access.error();
}

}  // namespace oncemq
