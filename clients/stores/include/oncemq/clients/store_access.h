// SPDX-License-Identifier: Apache-2.0
// Who may use which store of a catalogue, and as whom.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/clients/store_catalogue.h"
#include "oncemq/clients/store_secret.h"

namespace oncemq {

struct GrantedStore {
  std::string name;
  std::string address;  // with the application's user and password: never to be printed
  bool anybody = false;
};

struct StoreAccess {
  // All names of an application live in spaces of its own: "payments", "payments.settlement".
  std::string space;
  std::vector<GrantedStore> locks;
  std::optional<GrantedStore> record;
};

// Failures: kInvalid, with the reason: the catalogue is faulty, it has no such application, that is
// not its secret, it may not use this scope. Blocks: for the time of SecretFits.
//
// Thread safety: any thread.
Result<StoreAccess> Authorise(const StoreCatalogue& catalogue, const StoreIdentity& who,
                              std::string_view scope = {});

// Of an application and one of its scopes.
std::string SpaceOf(std::string_view application, std::string_view scope);
// What an application is called in the stores: never as somebody who administers them.
std::string StoreUser(std::string_view application);
// Where an application finds a store, and as whom: user and password in front of the hosts; in
// MariaDB a database of its own, in ZooKeeper a path of its own. As it is where anybody may.
std::string AddressFor(const NamedStore& store, std::string_view name, const StoreIdentity& who);

}  // namespace oncemq
