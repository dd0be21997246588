// SPDX-License-Identifier: Apache-2.0
// A library of its own, oncemq::service_locks: with it come the clients of all lock stores.
#include "oncemq/framework/service_locks.h"
#include "oncemq/framework/store_file.h"
#include "oncemq/locks/catalogue_locks.h"
#include "oncemq/locks/lock_engines.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenEngine(const ServiceLocks& locks) {
  if (locks.catalogue.empty()) {
    return OpenLockEngine(locks.at, locks.space, locks.read_at);
  }
  const auto catalogue = LoadStores(locks.catalogue);
  if (!catalogue) {
    return catalogue.error();
  }
  return OpenCatalogueLocks(*catalogue, {locks.application, locks.secret}, locks.scope);
}

}  // namespace

Result<std::unique_ptr<LockDomain>> OpenServiceLocks(const ServiceOptions& options) {
  if (!options.locks.any()) {
    return std::unique_ptr<LockDomain>();
  }
  auto engine = OpenEngine(options.locks);
  if (!engine) {
    return engine.error();
  }
  return LockDomain::Open(*std::move(engine), ServiceLockOptions(options.locks));
}

}  // namespace oncemq
