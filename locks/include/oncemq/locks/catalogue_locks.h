// SPDX-License-Identifier: Apache-2.0
// Locks by the names of a catalogue: an application says who it is and for which scope, and gets
// the stores that the catalogue gives it, as its own user there and in a space of its own.
//
//   const auto catalogue = LoadStores(path);  // oncemq/framework/store_file.h
//   auto locks = OpenCatalogueLocks(*catalogue, {"payments", secret}, "settlement");
//
// Limits, first: this refuses whoever asks here. Whoever opens a store past it is refused by the
// store, once it was told (lock_grants.h), and not where the catalogue says `anybody`.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/base/switch_store.h"
#include "oncemq/base/switchboard.h"
#include "oncemq/clients/store_access.h"
#include "oncemq/clients/store_catalogue.h"
#include "oncemq/locks/lock_engine.h"
#include "oncemq/locks/switched_locks.h"

namespace oncemq {

// What the locks of a plan can do, nobody asked: a switch record may allow shorter leases only, and
// says so when they are opened. Failures: kInvalid, for stores that this build cannot open, or that
// cannot be switched from one to another.
Result<LockCapabilities> CatalogueCapabilities(const StoreCatalogue& catalogue,
                                               const StorePlan& plan);

// One engine; several, or one with a record, as SwitchedLocks whose first store is the main one.
// Its switchboard is called as the space is. `switching`: its stores and its seal are filled in.
// Failures: kInvalid for those who are refused, by us or by a store, never with a secret in it;
// else the engine's.
//
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenCatalogueLocks(const StoreCatalogue& catalogue,
                                                       const StoreIdentity& who,
                                                       std::string_view scope = {},
                                                       const SwitchboardOptions& switching = {});

// The same for those who were authorised already. With `only_begun` also kInvalid where nobody has
// written the record yet.
Result<std::shared_ptr<LockEngine>> OpenGrantedLocks(const StoreAccess& access,
                                                     const SwitchboardOptions& switching = {},
                                                     bool only_begun = false);

// The same for those who switch; also kInvalid where the plan has no record, and, with
// `only_begun`, where nobody has written one yet.
Result<std::shared_ptr<SwitchedLocks>> OpenCatalogueSwitch(const StoreCatalogue& catalogue,
                                                           const StoreIdentity& who,
                                                           std::string_view scope = {},
                                                           const SwitchboardOptions& switching = {},
                                                           bool only_begun = false);

// What can be switched, for those who were authorised already: the stores in their order, and where
// their record is kept, which alone is asked.
struct SwitchedPlan {
  std::vector<NamedLocks> stores;
  std::shared_ptr<SwitchStore> record;
};
// Failures: kInvalid, where the plan has no record; else those of whoever keeps it.
Result<SwitchedPlan> OpenSwitchedPlan(const StoreAccess& access);
// For those who do not begin: also kInvalid where nobody has written the record yet.
Result<std::shared_ptr<SwitchedLocks>> OpenBegun(SwitchedPlan plan,
                                                 const SwitchboardOptions& switching);

}  // namespace oncemq
