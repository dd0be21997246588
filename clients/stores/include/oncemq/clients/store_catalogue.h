// SPDX-License-Identifier: Apache-2.0
// StoreCatalogue: the stores that an operations team offers, by name; which of them are used, for
// all applications, for one, or for a scope of one; and which applications there are. A file is one
// way to fill it in (oncemq/framework/store_file.h), a program is another.
//
// Limits, first: whoever holds the catalogue checks it, so what it refuses, it refuses to those who
// ask. Against those who go round it stands the store: it knows each application as a user of its
// own (store_access.h). A store that knows no users says `anybody`, and refuses nobody.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"

namespace oncemq {

struct NamedStore {
  // As its engine has it, without a user: that is whoever asks.
  std::string address;
  // Your statement that everybody who reaches the store may do everything there. Needed where a
  // store knows no users: memcached, etcd, several Redis masters, a directory, memory.
  bool anybody = false;
};

// What is used for what, by the names of the stores.
struct StorePlan {
  std::vector<std::string> locks;  // the first is the main one, the others back it up in order
  // Which of several is in force is kept there: a store that is none of them, nor on their servers.
  std::string record;
};

struct StoreApplication {
  std::string secret;             // its digest (DigestOfSecret), never itself
  std::optional<StorePlan> plan;  // none: the catalogue's
  // The scopes that it may ask for, beside none, each with a plan of its own or with its own none.
  std::map<std::string, std::optional<StorePlan>, std::less<>> scopes;
};

struct StoreCatalogue {
  std::map<std::string, NamedStore, std::less<>> stores;
  std::optional<StorePlan> plan;  // for all who have none of their own
  std::map<std::string, StoreApplication, std::less<>> applications;
};

// Of an application or a scope: 1 to 31 of a-z, 0-9 and -, the first no -.
bool IsApplicationName(std::string_view name);

// The one that counts: of the scope, else of the application, else of the catalogue, each as a
// whole. nullptr: none says anything. An empty scope is the application itself.
const StorePlan* PlanOf(const StoreCatalogue& catalogue, const StoreApplication& application,
                        std::string_view scope);

struct CatalogueFault {
  std::string path;  // "stores.redis-a.address", as the file has it
  std::string text;
};
// What contradicts itself, or cannot be kept. Nothing of an address or a digest is repeated.
std::vector<CatalogueFault> FaultsOf(const StoreCatalogue& catalogue);

}  // namespace oncemq
