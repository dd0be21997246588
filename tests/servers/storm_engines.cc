// SPDX-License-Identifier: Apache-2.0
#include "storm_engines.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#ifdef ONCEMQ_WITH_ETCD
#include "oncemq/locks/etcd_locks.h"
#include "support/etcd_server.h"
#endif
#ifdef ONCEMQ_WITH_MARIADB
#include "oncemq/locks/mariadb_locks.h"
#include "support/mariadb_server.h"
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
#include "oncemq/locks/memcached_locks.h"
#include "support/memcached_server.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/base/bytes.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/locks/postgres_locks.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/redis_locks.h"
#include "oncemq/locks/redlock_locks.h"
#include "support/redis_server.h"
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "oncemq/locks/zookeeper_locks.h"
#include "support/zookeeper_server.h"
#endif

namespace oncemq::testing {
namespace {

using Ports = std::vector<uint16_t>;

std::string At(const std::string& scheme, const Ports& ports) {
  std::string url = scheme + "://";
  for (size_t i = 0; i < ports.size(); i++) {
    url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(ports[i]);
  }
  return url;
}

// Of the kind that tests/support/ starts.
template <class Server>
class OneStormServer : public StormServer {
 public:
  using Url = std::function<std::string(const Ports& ports)>;
  OneStormServer(std::unique_ptr<Server> server, Url url)
      : server_(std::move(server)), url_(std::move(url)) {}

  Ports ports() const override { return {server_->port()}; }
  void Put(PlayerOptions& player, const Ports& ports) const override { player.at = url_(ports); }
  // Of some, each connection is a process.
  void Pause() override {
    if constexpr (requires { server_->Pause(); }) {
      server_->Pause();
    } else {
      server_->process().Pause();
    }
  }
  void Continue() override {
    if constexpr (requires { server_->Continue(); }) {
      server_->Continue();
    } else {
      server_->process().Continue();
    }
  }
  void Kill9() override { server_->Kill9(); }
  void Restart() override { server_->Restart(); }

 protected:
  const std::unique_ptr<Server> server_;

 private:
  const Url url_;
};

template <class Server>
std::unique_ptr<StormServer> One(std::unique_ptr<Server> server,
                                 typename OneStormServer<Server>::Url url) {
  return std::make_unique<OneStormServer<Server>>(std::move(server), std::move(url));
}

std::function<std::string(const Ports&)> Of(const std::string& scheme) {
  return [scheme](const Ports& ports) { return At(scheme, ports); };
}

#ifdef ONCEMQ_WITH_REDIS

std::unique_ptr<RedisServer> StartRedis(bool keeps) {
  return RedisServer::Start(
      keeps ? std::vector<std::string>{"--appendonly", "yes", "--appendfsync", "always"}
            : std::vector<std::string>());
}

class RedisStormServer : public OneStormServer<RedisServer> {
 public:
  explicit RedisStormServer(bool keeps) : OneStormServer(StartRedis(keeps), Of("redis")) {}

  size_t CutWakes(const Networks&) override {
    const auto client = RedisClient::Open(*ParseRedisEndpoint(server_->url()));
    const auto cut =
        client ? (*client)->Run(RedisCommand{"CLIENT", "KILL", "TYPE", "pubsub"}) : client.error();
    return cut ? static_cast<size_t>(cut->integer) : 0;
  }
};

// Under a switchboard, over the first of two; the other one stands by.
class SwitchedStormServer final : public RedisStormServer {
 public:
  explicit SwitchedStormServer(bool keeps) : RedisStormServer(keeps), other_(StartRedis(keeps)) {}

  void Put(PlayerOptions& player, const Ports& ports) const override {
    std::filesystem::create_directories(player.directory / "switch");
    player.stores = {{"x", At("redis", ports)}, {"y", other_->url()}};
  }

 private:
  const std::unique_ptr<RedisServer> other_;
};

class RedlockStormServer final : public StormServer {
 public:
  explicit RedlockStormServer(bool keeps) {
    for (int i = 0; i < 5; i++) {
      masters_.push_back(StartRedis(keeps));
    }
  }

  Ports ports() const override {
    Ports ports;
    for (const auto& master : masters_) {
      ports.push_back(master->port());
    }
    return ports;
  }
  void Put(PlayerOptions& player, const Ports& ports) const override {
    player.at = At("redlock", ports);
  }
  void Pause() override { Next().process().Pause(); }
  void Continue() override { masters_[turn_]->process().Continue(); }
  void Kill9() override { Next().Kill9(); }
  void Restart() override { masters_[turn_]->Restart(); }

 private:
  RedisServer& Next() {
    turn_ = (turn_ + 1) % masters_.size();
    return *masters_[turn_];
  }
  std::vector<std::unique_ptr<RedisServer>> masters_;
  size_t turn_ = 0;
};

StormEngine Redis() {
  return {.name = "redis",
          .can = RedisLockCapabilities(),
          .missing = RedisServer::Missing,
          .start = [](bool keeps) { return std::make_unique<RedisStormServer>(keeps); },
          .forgets = true,
          .apart = true,
          .cuts_wakes = true};
}
StormEngine Switched() {
  return {.name = "switched",
          .can = RedisLockCapabilities(),
          .missing = RedisServer::Missing,
          .start = [](bool keeps) { return std::make_unique<SwitchedStormServer>(keeps); },
          .forgets = true,
          .apart = true,
          .cuts_wakes = true};
}
// A master that forgets is no storm's: only a pause of a lease makes it good.
StormEngine Redlock() {
  return {.name = "redlock",
          .can = RedlockCapabilities(),
          .missing = RedisServer::Missing,
          .start = [](bool keeps) { return std::make_unique<RedlockStormServer>(keeps); }};
}

#endif
#ifdef ONCEMQ_WITH_POSTGRES

class PostgresStormServer final : public OneStormServer<PostgresServer> {
 public:
  explicit PostgresStormServer(bool keeps)
      : OneStormServer(
            PostgresServer::Start({keeps ? "synchronous_commit=on" : "synchronous_commit=off"}),
            [](const Ports& ports) { return PostgresServer::UrlAt(ports.front()); }) {}

  // Who listens says nothing else, but after two seconds without a word: whether the server lives.
  size_t CutWakes(const Networks&) override {
    const auto client = OpenPostgres(*ParsePostgresEndpoint(server_->url()));
    const auto cut =
        client ? (*client)->Run({"SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) "
                                 "FROM pg_stat_activity WHERE query LIKE 'LISTEN oncemq_lock_%'"})
               : client.error();
    const auto count = cut ? ParseDecimal(cut->rows.at(0).at(0).value_or("")) : std::nullopt;
    return static_cast<size_t>(count.value_or(0));
  }
};

StormEngine Postgres() {
  return {.name = "postgres",
          .can = PostgresLockCapabilities(),
          .missing = PostgresServer::Missing,
          .start = [](bool keeps) { return std::make_unique<PostgresStormServer>(keeps); },
          .forgets = true,
          .cuts_wakes = true};
}

#endif
#ifdef ONCEMQ_WITH_MARIADB

StormEngine Mariadb() {
  const auto start = [](bool keeps) {
    return One(MariadbServer::Start({keeps ? "--innodb-flush-log-at-trx-commit=1"
                                           : "--innodb-flush-log-at-trx-commit=0"}),
               [](const Ports& ports) { return MariadbServer::UrlAt(ports.front()); });
  };
  return {.name = "mariadb",
          .can = MariadbLockCapabilities(),
          .missing = MariadbServer::Missing,
          .start = start,
          .lease = milliseconds(250),  // who has waited for a while looks as often
          .forgets = true};
}

#endif
#ifdef ONCEMQ_WITH_ETCD

class EtcdStormServer final : public OneStormServer<EtcdServer> {
 public:
  EtcdStormServer() : OneStormServer(EtcdServer::Start(), Of("etcd")) {}

  // A watch has a connection of its own, and is the first that is said on it.
  size_t CutWakes(const Networks& networks) override {
    uint64_t all = 0;
    for (const auto& network : networks) {
      network->CutThoseBegunBy("POST /v3/watch ");
      all += network->cut_by_beginning();
    }
    return all - std::exchange(before_, all);
  }

 private:
  uint64_t before_ = 0;
};

StormEngine Etcd() {
  return {.name = "etcd",
          .can = EtcdLockCapabilities(),
          .missing = EtcdServer::Missing,
          .start = [](bool) { return std::make_unique<EtcdStormServer>(); },
          .session = milliseconds(2'000),
          .fences_of_requests = true,
          .cuts_wakes = true};
}

#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER

StormEngine ZooKeeper() {
  return {.name = "zookeeper",
          .can = ZooKeeperLockCapabilities(),
          .missing = ZooKeeperServer::Missing,
          .start = [](bool) { return One(ZooKeeperServer::Start(), Of("zookeeper")); },
          .session = milliseconds(600),
          .fences_of_requests = true};
}

#endif
#ifdef ONCEMQ_WITH_MEMCACHED

StormEngine Memcached() {
  return {.name = "memcached",
          .can = MemcachedLockCapabilities(),
          .missing = MemcachedServer::Missing,
          .start = [](bool) { return One(MemcachedServer::Start(), Of("memcached")); },
          .keeps = false};
}

#endif

}  // namespace

// The first one is that over which the museum is opened.
const std::vector<StormEngine>& StormEngines() {
  static const std::vector<StormEngine> engines{
#ifdef ONCEMQ_WITH_REDIS
      Redis(),     Switched(),
#endif
#ifdef ONCEMQ_WITH_POSTGRES
      Postgres(),
#endif
#ifdef ONCEMQ_WITH_MARIADB
      Mariadb(),
#endif
#ifdef ONCEMQ_WITH_ETCD
      Etcd(),
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
      ZooKeeper(),
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
      Memcached(),
#endif
#ifdef ONCEMQ_WITH_REDIS
      Redlock(),
#endif
  };
  return engines;
}

const StormEngine& StormEngineOf(std::string_view name) {
  static const StormEngine none{.missing = [] { return "this build has no such engine"; }};
  const auto& engines = StormEngines();
  const auto at = std::find_if(engines.begin(), engines.end(),
                               [&](const StormEngine& engine) { return engine.name == name; });
  return at == engines.end() ? none : *at;
}

}  // namespace oncemq::testing
