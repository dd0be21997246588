// SPDX-License-Identifier: Apache-2.0
#include "sql_world.h"

#ifdef ONCEMQ_WITH_MARIADB
#include "oncemq/clients/mariadb_client.h"
#include "oncemq/locks/mariadb_locks.h"
#include "sql/mariadb_store.h"
#include "support/mariadb_server.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/clients/postgres_client.h"
#include "oncemq/locks/postgres_locks.h"
#include "sql/postgres_store.h"
#include "support/postgres_server.h"
#endif

namespace oncemq::testing {
namespace {

constexpr SqlTimes kPatient{milliseconds(10'000), milliseconds(30'000)};
constexpr const char* kTestClock = "(SELECT us FROM test_clock)";

#ifdef ONCEMQ_WITH_POSTGRES
class PostgresWorld final : public SqlWorld {
 public:
  std::optional<std::string> Missing() const override { return PostgresServer::Missing(); }
  void Start() override { server_ = PostgresServer::Start(); }
  uint16_t port() const override { return server_->port(); }
  std::string UrlAt(uint16_t port) const override { return PostgresServer::UrlAt(port); }
  void Kill9() override { server_->Kill9(); }
  void Pause() override { server_->Pause(); }
  void Continue() override { server_->Continue(); }
  void Restart() override { server_->Restart(); }

  LockCapabilities can() const override { return PostgresLockCapabilities(); }
  Result<std::shared_ptr<LockEngine>> OpenLocks(const std::string& url, const std::string& space,
                                                milliseconds call,
                                                size_t max_waiters) const override {
    return OpenPostgresLocks(
        url,
        {.space = space, .connect = kPatient.connect, .call = call, .max_waiters = max_waiters});
  }
  Result<std::unique_ptr<SqlStore>> OpenStore(const std::string& url, const std::string& space,
                                              milliseconds call, bool own_clock) const override {
    PostgresStoreOptions options{.space = space, .times = {kPatient.connect, call}};
    options.clock = own_clock ? kTestClock : options.clock;
    return OpenPostgresStore(*ParsePostgresEndpoint(url), options);
  }
  Result<std::unique_ptr<SqlClient>> OpenClient(const std::string& url) const override {
    return OpenPostgres(*ParsePostgresEndpoint(url), kPatient);
  }

 private:
  std::unique_ptr<PostgresServer> server_;
};
#endif

#ifdef ONCEMQ_WITH_MARIADB
class MariadbWorld final : public SqlWorld {
 public:
  std::optional<std::string> Missing() const override { return MariadbServer::Missing(); }
  void Start() override { server_ = MariadbServer::Start(); }
  uint16_t port() const override { return server_->port(); }
  std::string UrlAt(uint16_t port) const override { return MariadbServer::UrlAt(port); }
  void Kill9() override { server_->Kill9(); }
  void Pause() override { server_->process().Pause(); }
  void Continue() override { server_->process().Continue(); }
  void Restart() override { server_->Restart(); }

  LockCapabilities can() const override { return MariadbLockCapabilities(); }
  Result<std::shared_ptr<LockEngine>> OpenLocks(const std::string& url, const std::string& space,
                                                milliseconds call,
                                                size_t max_waiters) const override {
    return OpenMariadbLocks(
        url,
        {.space = space, .connect = kPatient.connect, .call = call, .max_waiters = max_waiters});
  }
  Result<std::unique_ptr<SqlStore>> OpenStore(const std::string& url, const std::string& space,
                                              milliseconds call, bool own_clock) const override {
    MariadbStoreOptions options{.space = space, .times = {kPatient.connect, call}};
    options.clock = own_clock ? kTestClock : options.clock;
    return OpenMariadbStore(*ParseMariadbEndpoint(url), options);
  }
  Result<std::unique_ptr<SqlClient>> OpenClient(const std::string& url) const override {
    return OpenMariadb(*ParseMariadbEndpoint(url), kPatient);
  }

 private:
  std::unique_ptr<MariadbServer> server_;
};
#endif

template <class World>
std::unique_ptr<SqlWorld> Make() {
  return std::make_unique<World>();
}

}  // namespace

std::vector<SqlWorldKind> SqlWorlds() {
  return {
#ifdef ONCEMQ_WITH_POSTGRES
      {"postgres", Make<PostgresWorld>},
#endif
#ifdef ONCEMQ_WITH_MARIADB
      {"mariadb", Make<MariadbWorld>},
#endif
  };
}

}  // namespace oncemq::testing
