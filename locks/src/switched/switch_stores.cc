// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/switch_stores.h"

#include "oncemq/base/switch_record.h"
#ifdef ONCEMQ_WITH_ETCD
#include "etcd_switch_store.h"
#endif
#ifdef ONCEMQ_WITH_MARIADB
#include "oncemq/clients/mariadb_client.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/clients/postgres_client.h"
#endif
#include "sql_switch_store.h"
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "zookeeper_switch_store.h"
#endif

namespace oncemq {
namespace {

using Opened = Result<std::shared_ptr<SwitchStore>>;

constexpr std::string_view kFile = "file:";
[[maybe_unused]] constexpr size_t kConnections = 4;

[[maybe_unused]] Opened InSql(Result<std::unique_ptr<SqlClient>> client, const std::string& name) {
  return client ? OpenSqlSwitchStore(*std::move(client), name) : Opened(client.error());
}

}  // namespace

Opened OpenSwitchStore(std::string_view address, const std::string& name) {
  if (!IsStoreName(name)) {
    return Error{Code::kInvalid, Effect::kNone, "a switchboard is called as stores are"};
  }
  if (address.starts_with(kFile)) {
    return OpenFileSwitchStore(std::string(address.substr(kFile.size())), name);
  }
#ifdef ONCEMQ_WITH_ETCD
  if (address.starts_with("etcd:")) {
    return OpenEtcdSwitchStore(address, name);
  }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  if (address.starts_with("postgres:")) {
    const auto endpoint = ParsePostgresEndpoint(address);
    return endpoint ? InSql(OpenPostgres(*endpoint, {}, kConnections), name)
                    : Opened(endpoint.error());
  }
#endif
#ifdef ONCEMQ_WITH_MARIADB
  if (address.starts_with("mariadb:")) {
    const auto endpoint = ParseMariadbEndpoint(address);
    return endpoint ? InSql(OpenMariadb(*endpoint, {}, kConnections), name)
                    : Opened(endpoint.error());
  }
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
  if (address.starts_with("zookeeper:")) {
    return OpenZooKeeperSwitchStore(address, name);
  }
#endif
  return Error{Code::kInvalid, Effect::kNone,
               "this build keeps no switch record at such an address"};
}

}  // namespace oncemq
