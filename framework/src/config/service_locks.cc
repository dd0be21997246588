// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/service_locks.h"

#include "oncemq/framework/store_file.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_engines.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenEngine(const ServiceLocks& locks) {
  if (locks.catalogue.empty()) {
    return OpenLockEngine(locks.at, locks.space);
  }
  const auto catalogue = LoadStores(locks.catalogue);
  if (!catalogue) {
    return catalogue.error();
  }
  return OpenCatalogueLocks(*catalogue, {locks.application, locks.secret}, locks.scope);
}

LockOptions OptionsOf(const ServiceLocks& locks) {
  return {.needs = locks.needs, .lease = locks.lease};
}

}  // namespace

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

Result<std::unique_ptr<LockDomain>> OpenServiceLocks(const ServiceOptions& options) {
  if (!options.locks.any()) {
    return std::unique_ptr<LockDomain>();
  }
  auto engine = OpenEngine(options.locks);
  if (!engine) {
    return engine.error();
  }
  return LockDomain::Open(*std::move(engine), OptionsOf(options.locks));
}

Status CheckServiceLocks(const ServiceOptions& options) {
  if (!options.locks.any()) {
    return {};
  }
  const auto can = ServiceLockCapabilities(options.locks);
  return can ? CheckLockOptions(OptionsOf(options.locks), *can) : Status(can.error());
}

}  // namespace oncemq
