// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/service_locks.h"

#include "oncemq/framework/store_file.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_engines.h"

namespace oncemq {

LockOptions ServiceLockOptions(const ServiceLocks& locks) {
  return {.needs = locks.needs, .lease = locks.lease};
}

Result<LockCapabilities> ServiceLockCapabilities(const ServiceLocks& locks) {
  if (locks.catalogue.empty()) {
    return CapabilitiesAt(locks.at);
  }
  const auto catalogue = LoadStores(locks.catalogue);
  if (!catalogue) {
    return catalogue.error();
  }
  const auto access = Authorise(*catalogue, {locks.application, locks.secret}, locks.scope);
  if (!access) {
    return access.error();
  }
  const StoreApplication& application = catalogue->applications.find(locks.application)->second;
  return CatalogueCapabilities(*catalogue, *PlanOf(*catalogue, application, locks.scope));
}

Status CheckServiceLocks(const ServiceOptions& options) {
  if (!options.locks.any()) {
    return {};
  }
  const auto can = ServiceLockCapabilities(options.locks);
  return can ? CheckLockOptions(ServiceLockOptions(options.locks), *can) : Status(can.error());
}

}  // namespace oncemq
