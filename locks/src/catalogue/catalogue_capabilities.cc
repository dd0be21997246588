// SPDX-License-Identifier: Apache-2.0
// The capabilities of the stores of a plan. None is opened for that.
#include <string>
#include <vector>

#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_engines.h"

namespace oncemq {
namespace {

Result<NamedLocks> NamedIn(const StoreCatalogue& catalogue, const std::string& name) {
  const auto store = catalogue.stores.find(name);
  const auto can = store != catalogue.stores.end()
                       ? CapabilitiesAt(store->second.address)
                       : Error{Code::kInvalid, Effect::kNone, "the catalogue has none"};
  if (!can) {
    return Error{can.error().code, can.error().effect,
                 "the store " + name + ": " + can.error().message};
  }
  return NamedLocks{name, *can, {}};
}

}  // namespace

Result<LockCapabilities> CatalogueCapabilities(const StoreCatalogue& catalogue,
                                               const StorePlan& plan) {
  std::vector<NamedLocks> stores;
  for (const std::string& name : plan.locks) {
    auto named = NamedIn(catalogue, name);
    if (!named) {
      return named.error();
    }
    stores.push_back(*std::move(named));
  }
  if (plan.record.empty() && stores.size() == 1) {
    return stores.front().capabilities;
  }
  return SwitchedCapabilities(stores);
}

}  // namespace oncemq
