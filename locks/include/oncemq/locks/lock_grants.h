// SPDX-License-Identifier: Apache-2.0
// What stores have to be told before an application may keep locks there, and nobody else may touch
// them: users and rights in Redis, PostgreSQL and MariaDB, a node of its own in ZooKeeper.
//
// Limits, first: docs/stores.md says what each store cannot refuse. Nothing here is applied: it is
// printed, and an administrator of the store reads and runs it. No secret is in it, but what stores
// keep of passwords is: whoever has read it can try passwords against it, of 256 bits each.
#pragma once

#include <string>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/clients/store_access.h"

namespace oncemq {

struct StoreGrant {
  std::string store;    // its name in the catalogue
  std::string address;  // without a user
  std::string reader;   // what takes the statements: "redis-cli", "psql", "mariadb", "zkCli.sh";
                        // empty: nobody, the store knows no users
  // One line each, in this order; the same each time, and harmless the second time.
  std::vector<std::string> statements;
};

// Of every store that the application may use for locks, in any of its scopes. Failure: kInvalid,
// as Authorise() has it. Blocks for the time of a SecretFits.
//
// Thread safety: any thread.
Result<std::vector<StoreGrant>> LockGrants(const StoreCatalogue& catalogue,
                                           const StoreIdentity& who);

}  // namespace oncemq
