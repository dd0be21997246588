// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/catalogue_locks.h"

#include <utility>
#include <vector>

#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/switch_stores.h"

namespace oncemq {
namespace {

Error Invalid(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

Error Of(std::string_view store, const Error& error) {
  return {error.code, error.effect, "the store " + std::string(store) + ": " + error.message};
}

Result<std::shared_ptr<SwitchedLocks>> OpenSwitched(const StoreAccess& access,
                                                    const SwitchboardOptions& switching,
                                                    bool only_begun) {
  std::vector<NamedLocks> stores;
  for (const GrantedStore& store : access.locks) {
    const auto can = CapabilitiesAt(store.address);
    if (!can) {
      return Of(store.name, can.error());
    }
    stores.push_back({store.name, *can, [address = store.address, space = access.space] {
                        return OpenLockEngine(address, space);
                      }});
  }
  if (!access.record) {
    return Invalid("the catalogue says no `record` for these locks, so nothing can be switched");
  }
  auto record = OpenSwitchStore(access.record->address, access.space);
  if (!record) {
    return record.error();
  }
  if (only_begun) {
    const auto text = (*record)->Read();
    if (!text) {
      return text.error();
    }
    if (text->text.empty()) {
      return Invalid("there is no switch record yet; the first service writes it");
    }
  }
  return SwitchedLocks::Open(std::move(stores), *std::move(record), switching);
}

}  // namespace

Result<LockCapabilities> CatalogueCapabilities(const StoreCatalogue& catalogue,
                                               const StorePlan& plan) {
  std::vector<NamedLocks> stores;
  for (const std::string& name : plan.locks) {
    const auto store = catalogue.stores.find(name);
    const auto can = store != catalogue.stores.end()
                         ? CapabilitiesAt(store->second.address)
                         : Error{Code::kInvalid, Effect::kNone, "the catalogue has none"};
    if (!can) {
      return Of(name, can.error());
    }
    stores.push_back({name, *can, nullptr});
  }
  if (plan.record.empty() && stores.size() == 1) {
    return stores.front().capabilities;
  }
  return SwitchedCapabilities(stores);
}

Result<std::shared_ptr<LockEngine>> OpenCatalogueLocks(const StoreCatalogue& catalogue,
                                                       const StoreIdentity& who,
                                                       std::string_view scope,
                                                       const SwitchboardOptions& switching) {
  const auto access = Authorise(catalogue, who, scope);
  if (!access) {
    return access.error();
  }
  if (!access->record) {
    return OpenLockEngine(access->locks.front().address, access->space);
  }
  auto switched = OpenSwitched(*access, switching, false);
  if (!switched) {
    return switched.error();
  }
  return std::shared_ptr<LockEngine>(*std::move(switched));
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
