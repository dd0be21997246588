// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_grants.h"

#include <map>
#include <utility>

#include "store_statements.h"

namespace oncemq {
namespace {

struct Kind {
  std::string_view scheme;
  const char* reader;
  std::vector<std::string> (*statements)(const GrantOrder& order);
};

constexpr Kind kKinds[] = {{"redis://", "redis-cli", RedisStatements},
                           {"redis-sentinel://", "redis-cli", RedisStatements},
                           {"rediss://", "redis-cli", RedisStatements},
                           {"rediss-sentinel://", "redis-cli", RedisStatements},
                           {"postgres://", "psql", PostgresStatements},
                           {"mariadb://", "mariadb", MariadbStatements},
                           {"zookeeper://", "zkCli.sh", ZooKeeperStatements}};

StoreGrant GrantOf(const std::string& name, const NamedStore& store, GrantOrder order,
                   const StoreIdentity& who) {
  StoreGrant grant{name, store.address, "", {}};
  const std::string user = StoreUser(who.application);
  const std::string password = StorePassword(who, name);
  order.application = who.application;
  order.user = user;
  order.password = password;
  for (const Kind& kind : kKinds) {
    if (!store.anybody && store.address.starts_with(kind.scheme)) {
      order.place = std::string_view(store.address).substr(kind.scheme.size());
      grant.reader = kind.reader;
      grant.statements = kind.statements(order);
    }
  }
  return grant;
}

}  // namespace

Result<std::vector<StoreGrant>> LockGrants(const StoreCatalogue& catalogue,
                                           const StoreIdentity& who) {
  if (const auto access = Authorise(catalogue, who); !access) {
    return access.error();
  }
  const StoreApplication& application = catalogue.applications.find(who.application)->second;
  std::map<std::string, GrantOrder> orders;
  const auto add = [&](std::string_view scope) {
    const StorePlan& plan = *PlanOf(catalogue, application, scope);
    for (const std::string& store : plan.locks) {
      orders[store].locks = true;
      orders[store].spaces.push_back(SpaceOf(who.application, scope));
    }
    if (!plan.record.empty()) {
      orders[plan.record].record = true;
    }
  };
  add("");
  for (const auto& [scope, plan] : application.scopes) {
    add(scope);
  }
  std::vector<StoreGrant> grants;
  for (auto& [name, order] : orders) {
    grants.push_back(GrantOf(name, catalogue.stores.find(name)->second, std::move(order), who));
  }
  return grants;
}

}  // namespace oncemq
