// SPDX-License-Identifier: Apache-2.0
// What does a lock in a SQL database cost? Floor: the statements that it needs, by the same client:
// a look and a write of one row, twice, over as many connections; of a hand-off, the same. The
// servers are child processes on loopback, whose disks are not waited for (fsync is off).
#include <memory>

#include "lock_bench.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/clients/postgres_client.h"
#include "oncemq/locks/postgres_locks.h"
#include "support/postgres_server.h"
#endif
#ifdef ONCEMQ_WITH_MARIADB
#include "oncemq/clients/mariadb_client.h"
#include "oncemq/locks/mariadb_locks.h"
#include "support/mariadb_server.h"
#endif

namespace oncemq::bench {
namespace {

constexpr SqlTimes kTimes{.call = milliseconds(20'000)};

struct Database {
  std::string name;
  std::unique_ptr<LockDomain> one;
  std::unique_ptr<LockDomain> two;
  std::unique_ptr<SqlClient> raw;
  std::string_view read;
  std::string_view write;

  void RawPair(int64_t row) const {
    for (int i = 0; i < 2; i++) {
      Need(raw->Run({read, {row}}).has_value(), "the look failed");
      Need(raw->Run({write, {int64_t{i}, row}}).has_value(), "the write failed");
    }
  }
};

template <class Open>
std::unique_ptr<LockDomain> DomainOf(const Open& open) {
  auto locks = open();
  Need(locks.has_value(), "no engine");
  return *LockDomain::Open(*std::move(locks));
}

void Measure(const Database& in, Report& report) {
  Need(in.raw->Run({"CREATE TABLE bench_row (id bigint PRIMARY KEY, n bigint)"}).has_value(),
       "no table");
  for (int row = 0; row < 64; row++) {
    const std::string insert = "INSERT INTO bench_row VALUES (" + std::to_string(row) + ", 0)";
    Need(in.raw->Run({insert}).has_value(), "no row");
  }
  const auto pair = [&] {
    const double begin = WallSeconds();
    in.RawPair(0);
    return (WallSeconds() - begin) * 1e6;
  };
  MeasureLocks({.name = in.name + ": ",
                .one = *in.one,
                .two = *in.two,
                .raw =
                    [&](size_t thread) {
                      return [&, row = static_cast<int64_t>(thread)] { in.RawPair(row); };
                    },
                .raw_hand_off = pair,
                .pairs = 150,
                .hand_offs = 200},
               report);
}

int Main(int argc, char** argv) {
  Report report("locks/sql", argc, argv);
#ifdef ONCEMQ_WITH_POSTGRES
  if (const auto missing = testing::PostgresServer::Missing()) {
    Need(false, missing->c_str());
  }
  const auto postgres = testing::PostgresServer::Start();
  const auto in_postgres = [&] {
    return OpenPostgresLocks(postgres->url(), {.call = milliseconds(20'000)});
  };
  Measure({"postgres", DomainOf(in_postgres), DomainOf(in_postgres),
           *OpenPostgres(*ParsePostgresEndpoint(postgres->url()), kTimes),
           "SELECT n FROM bench_row WHERE id = $1", "UPDATE bench_row SET n = $1 WHERE id = $2"},
          report);
#endif
#ifdef ONCEMQ_WITH_MARIADB
  if (const auto missing = testing::MariadbServer::Missing()) {
    Need(false, missing->c_str());
  }
  const auto mariadb = testing::MariadbServer::Start();
  const auto in_mariadb = [&] {
    return OpenMariadbLocks(mariadb->url(), {.call = milliseconds(20'000)});
  };
  Measure({"mariadb", DomainOf(in_mariadb), DomainOf(in_mariadb),
           *OpenMariadb(*ParseMariadbEndpoint(mariadb->url()), kTimes),
           "SELECT n FROM bench_row WHERE id = ?", "UPDATE bench_row SET n = ? WHERE id = ?"},
          report);
#endif
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
