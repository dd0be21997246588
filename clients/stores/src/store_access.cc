// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/store_access.h"

#include <algorithm>

namespace oncemq {
namespace {

Error Refused(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

}  // namespace

std::string SpaceOf(std::string_view application, std::string_view scope) {
  std::string space(application);
  if (!scope.empty()) {
    space.append(".").append(scope);
  }
  return space;
}

// Nobody who runs a server is called so: a grant gives its user a password.
std::string StoreUser(std::string_view application) {
  return "oncemq_" + std::string(application);
}

std::string AddressFor(const NamedStore& store, std::string_view name, const StoreIdentity& who) {
  constexpr std::string_view kBehind = "://";
  const size_t at = store.address.find(kBehind);
  if (store.anybody || at == std::string::npos) {
    return store.address;
  }
  const size_t begin = at + kBehind.size();
  const std::string scheme = store.address.substr(0, at);
  std::string place = store.address.substr(begin);
  if (scheme == "mariadb") {
    const size_t end = std::min(place.find('?'), place.size());
    place.insert(end, "_" + who.application);
  } else if (scheme == "zookeeper") {
    place.append(place.ends_with('/') ? "" : "/").append(who.application);
  }
  return scheme + "://" + StoreUser(who.application) + ":" + StorePassword(who, name) + "@" + place;
}

Result<StoreAccess> Authorise(const StoreCatalogue& catalogue, const StoreIdentity& who,
                              std::string_view scope) {
  if (const auto faults = FaultsOf(catalogue); !faults.empty()) {
    return Refused("the catalogue of stores: `" + faults.front().path + "` " + faults.front().text);
  }
  const auto at = catalogue.applications.find(who.application);
  if (at == catalogue.applications.end()) {
    return Refused("the catalogue of stores has no such application");
  }
  const StoreApplication& application = at->second;
  if (!SecretFits(who.secret, application.secret)) {
    return Refused("that is not the secret of the application " + at->first);
  }
  if (!scope.empty() && !application.scopes.contains(scope)) {
    return Refused("the application " + at->first + " may not use this scope");
  }
  const auto granted = [&](const std::string& name) {
    const NamedStore& store = catalogue.stores.find(name)->second;
    return GrantedStore{name, AddressFor(store, name, who), store.anybody};
  };
  const StorePlan& plan = *PlanOf(catalogue, application, scope);
  StoreAccess access{SpaceOf(who.application, scope), {}, std::nullopt};
  for (const std::string& name : plan.locks) {
    access.locks.push_back(granted(name));
  }
  if (!plan.record.empty()) {
    access.record = granted(plan.record);
  }
  return access;
}

}  // namespace oncemq
