// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/store_catalogue.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "oncemq/base/address.h"
#include "oncemq/base/switch_record.h"
#include "oncemq/clients/store_secret.h"

namespace oncemq {
namespace {

constexpr size_t kLongestName = 31;  // with what stands before it a role of PostgreSQL has 63
constexpr size_t kLongestAddress = 1'024;
constexpr size_t kMostStores = 16;  // in one plan

struct Scheme {
  std::string_view begins;
  uint16_t port = 0;      // where none is said; 0: no hosts stand there
  bool users = false;     // each application can be one of its own
  bool database = false;  // an address names one
  bool locks = false;
  bool record = false;
};

constexpr Scheme kSchemes[] = {
    {.begins = "redis://", .port = 6379, .users = true, .locks = true},
    {.begins = "redis-sentinel://", .port = 26379, .users = true, .locks = true},
    {.begins = "rediss://", .port = 6379, .users = true, .locks = true},
    {.begins = "rediss-sentinel://", .port = 26379, .users = true, .locks = true},
    {.begins = "postgres://",
     .port = 5432,
     .users = true,
     .database = true,
     .locks = true,
     .record = true},
    {.begins = "mariadb://",
     .port = 3306,
     .users = true,
     .database = true,
     .locks = true,
     .record = true},
    {.begins = "zookeeper://", .port = 2181, .users = true, .locks = true, .record = true},
    {.begins = "etcd://", .port = 2379, .locks = true, .record = true},
    {.begins = "unix://", .locks = true},
    {.begins = "redlock://", .port = 6379, .locks = true},
    {.begins = "redlocks://", .port = 6379, .locks = true},
    {.begins = "memcached://", .port = 11211, .locks = true},
    {.begins = "memory:", .locks = true},
    {.begins = "file:", .record = true}};

std::string UnknownScheme() {
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    known.append(known.empty() ? "" : ", ").append(scheme.begins);
  }
  return "begins like no store that we know: use one of " + known;
}

// The hosts are those of the sentinels then, and the path says which server is meant.
bool BySentinels(const Scheme& scheme) {
  return scheme.begins.find("-sentinel:") != std::string_view::npos;
}

// Its server knows one password and one set of rights for each user, whatever path is behind it.
// In ZooKeeper each node knows them for itself.
bool KeepsPasswords(const Scheme& scheme) {
  return scheme.users && scheme.begins != "zookeeper://";
}

const Scheme* SchemeOf(std::string_view address) {
  const auto* at = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                [&](const Scheme& one) { return address.starts_with(one.begins); });
  return at != std::end(kSchemes) ? at : nullptr;
}

class Faults {
 public:
  void Demand(bool holds, const std::string& path, std::string text) {
    if (!holds) {
      all_.push_back({path, std::move(text)});
    }
  }
  std::vector<CatalogueFault> Take() { return std::move(all_); }

 private:
  std::vector<CatalogueFault> all_;
};

// What stands behind the hosts, without parameters: "/database".
std::string_view PathOf(std::string_view address, const Scheme& scheme) {
  address = address.substr(0, address.find('?'));
  address.remove_prefix(std::min(scheme.begins.size(), address.size()));
  return address.substr(std::min(address.find('/'), address.size()));
}

// What tells its servers from others, as far as an address can: names of one host differ. A
// database behind a local socket is known by its parameters.
std::set<std::string> ServersOf(const NamedStore* store) {
  const Scheme* scheme = store != nullptr ? SchemeOf(store->address) : nullptr;
  if (scheme == nullptr || scheme->port == 0) {
    return {};
  }
  const std::string_view path = PathOf(store->address, *scheme);
  std::string_view hosts = store->address;
  const auto parameters = CutAt(hosts, '?');
  hosts.remove_prefix(scheme->begins.size());
  hosts.remove_suffix(path.size());
  if (hosts.empty()) {
    return {"?" + std::string(parameters.value_or(""))};
  }
  std::set<std::string> servers;
  for (std::optional<std::string_view> more = hosts; more;) {
    std::string_view one = *more;
    more = CutAt(one, ',');
    if (const auto at = ParseHostAndPort(one, scheme->port)) {
      std::string host = at->host;
      std::transform(host.begin(), host.end(), host.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      servers.insert(host + ":" + std::to_string(at->port) +
                     (BySentinels(*scheme) ? std::string(path) : ""));
    }
  }
  return servers;
}

// It goes into statements, and into paths.
bool IsPlain(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  });
}

void CheckStore(const std::string& name, const NamedStore& store, Faults& faults) {
  const std::string path = "stores." + name;
  faults.Demand(IsStoreName(name), path, "a store is called by 1 to 64 of a-z 0-9 - _ .");
  const std::string& address = store.address;
  const auto printable = [](char c) { return c > ' ' && c < '\x7f'; };
  const bool text = !address.empty() && address.size() <= kLongestAddress &&
                    std::all_of(address.begin(), address.end(), printable);
  const std::string at = path + ".address";
  faults.Demand(text, at, "must be an address, of at most 1024 characters without a blank");
  const Scheme* scheme = SchemeOf(address);
  faults.Demand(!text || scheme != nullptr, at, UnknownScheme());
  if (!text || scheme == nullptr) {
    return;
  }
  faults.Demand(address.find('@') == std::string::npos, at,
                "holds a user: it is the application that asks, with a secret of its own");
  faults.Demand(!scheme->database || PathOf(address, *scheme).size() > 1, at,
                "names no database behind its host");
  faults.Demand(!scheme->users || IsPlain(PathOf(address, *scheme)), at,
                "may have letters, digits and / . _ - only behind its hosts");
  faults.Demand(scheme->users || store.anybody, path,
                "knows no users, so it refuses nobody: say `anybody: true`, or use another one");
}

void CheckPlan(const StoreCatalogue& catalogue, const std::string& path, const StorePlan& plan,
               Faults& faults) {
  const std::string locks = path + ".locks";
  const std::string record = path + ".record";
  faults.Demand(!plan.locks.empty(), locks, "must name a store");
  faults.Demand(plan.locks.size() <= kMostStores, locks, "names more than 16 stores");
  const auto find = [&](const std::string& name) {
    const auto at = catalogue.stores.find(name);
    return at != catalogue.stores.end() ? &at->second : nullptr;
  };
  std::set<std::string_view> seen;
  std::set<std::string> servers;
  for (const std::string& name : plan.locks) {
    const NamedStore* store = find(name);
    const Scheme* scheme = store != nullptr ? SchemeOf(store->address) : nullptr;
    faults.Demand(store != nullptr, locks, "names a store that is not under `stores`");
    faults.Demand(scheme == nullptr || scheme->locks, locks, "names a store that keeps no locks");
    faults.Demand(seen.insert(name).second, locks, "names a store twice");
    servers.merge(ServersOf(store));
  }
  if (plan.record.empty()) {
    faults.Demand(plan.locks.size() < 2, path,
                  "names several stores, so it must say with `record` where it is kept which of "
                  "them is in force");
    return;
  }
  const NamedStore* store = find(plan.record);
  const Scheme* scheme = store != nullptr ? SchemeOf(store->address) : nullptr;
  faults.Demand(store != nullptr, record, "names a store that is not under `stores`");
  faults.Demand(scheme == nullptr || scheme->record, record, "names a store that keeps no records");
  const auto at = ServersOf(store);
  const bool with_locks = std::any_of(at.begin(), at.end(),
                                      [&](const auto& server) { return servers.contains(server); });
  faults.Demand(!seen.contains(plan.record) && !with_locks, record,
                "would be lost with the store that is to be left: name one that is not in `locks`, "
                "on a server of its own");
}

// The second grant would take the first one's password, and its rights.
void CheckPasswords(const StoreCatalogue& catalogue, const std::string& path,
                    const StoreApplication& application, Faults& faults) {
  std::set<std::string_view> names;
  const auto add = [&](const StorePlan* plan) {
    if (plan != nullptr) {
      names.insert(plan->locks.begin(), plan->locks.end());
      names.insert(plan->record);
    }
  };
  add(PlanOf(catalogue, application, ""));
  for (const auto& [scope, plan] : application.scopes) {
    add(plan ? &*plan : nullptr);
  }
  std::map<std::string, std::string_view> known;
  for (const std::string_view name : names) {
    const auto store = catalogue.stores.find(name);
    const Scheme* scheme =
        store != catalogue.stores.end() ? SchemeOf(store->second.address) : nullptr;
    if (scheme == nullptr || !KeepsPasswords(*scheme) || store->second.anybody) {
      continue;
    }
    for (const std::string& server : ServersOf(&store->second)) {
      faults.Demand(known.emplace(server, name).first->second == name, path,
                    "has two stores of one server, which knows one password and one set of rights "
                    "for each user: use one of them");
    }
  }
}

void CheckApplication(const StoreCatalogue& catalogue, const std::string& name,
                      const StoreApplication& application, Faults& faults) {
  const std::string path = "applications." + name;
  faults.Demand(IsApplicationName(name), path,
                "an application is called by 1 to 31 of a-z 0-9 -, the first no -");
  faults.Demand(IsSecretDigest(application.secret), path + ".secret",
                "must be the digest that `oncemq store register` prints, never the secret itself");
  if (application.plan) {
    CheckPlan(catalogue, path, *application.plan, faults);
  }
  faults.Demand(PlanOf(catalogue, application, "") != nullptr, path,
                "has no stores: say `locks` here, or under `default` for all");
  CheckPasswords(catalogue, path, application, faults);
  for (const auto& [scope, plan] : application.scopes) {
    const std::string at = path + ".scopes." + scope;
    faults.Demand(IsApplicationName(scope), at,
                  "a scope is called by 1 to 31 of a-z 0-9 -, the first no -");
    if (plan) {
      CheckPlan(catalogue, at, *plan, faults);
    }
  }
}

}  // namespace

bool IsApplicationName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

const StorePlan* PlanOf(const StoreCatalogue& catalogue, const StoreApplication& application,
                        std::string_view scope) {
  const auto at = application.scopes.find(scope);
  if (at != application.scopes.end() && at->second) {
    return &*at->second;
  }
  const std::optional<StorePlan>& plan = application.plan ? application.plan : catalogue.plan;
  return plan ? &*plan : nullptr;
}

std::vector<CatalogueFault> FaultsOf(const StoreCatalogue& catalogue) {
  Faults faults;
  for (const auto& [name, store] : catalogue.stores) {
    CheckStore(name, store, faults);
  }
  if (catalogue.plan) {
    CheckPlan(catalogue, "default", *catalogue.plan, faults);
  }
  for (const auto& [name, application] : catalogue.applications) {
    CheckApplication(catalogue, name, application, faults);
  }
  return faults.Take();
}

}  // namespace oncemq
