// SPDX-License-Identifier: Apache-2.0
// What does a lock of a database session cost? Floor: the two statements of the database's own, one
// that takes it if it is free and one that gives it back, over a connection by the same client; of
// a hand-off, giving it back and the answer of one that asks without a pause, as nobody is woken.
// The servers are child processes on loopback.
#include <cstring>
#include <memory>

#include "lock_bench.h"
#include "oncemq/base/mutex.h"
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

constexpr size_t kLines = 16;  // as many as the engine keeps holds
constexpr milliseconds kCall{20'000};

using Engine = Result<std::shared_ptr<LockEngine>>;

struct Words {
  std::string_view take;
  std::string_view give;
  bool word = false;  // the key is a word; else a number
};

class Raw {
 public:
  Raw(SqlClient& client, const Words& words) : words_(words) {
    auto line = client.OpenOwn();
    Need(line.has_value(), "no connection");
    line_ = *std::move(line);
  }
  bool Take(int64_t key) { return Say(words_.take, key); }
  void Give(int64_t key) { Need(Say(words_.give, key), "the raw lock was not held"); }
  // As one of several threads that share the connection.
  void Pair(int64_t key) {
    MutexLock lock(mutex_);
    Need(Take(key), "the raw name was taken");
    Give(key);
  }

 private:
  bool Say(std::string_view text, int64_t key) {
    const std::string word = std::to_string(key);
    const SqlStatement statement =
        words_.word ? SqlStatement{text, {word}} : SqlStatement{text, {key}};
    const auto said = line_->Run({&statement, 1}, SystemClock::Instance().Boot() + kCall);
    Need(said && !said->refusal && said->answers.size() == 1 && said->answers[0].rows.size() == 1,
         "the raw statement failed");
    return said->answers[0].rows[0][0] == "1";
  }

  const Words words_;
  std::unique_ptr<SqlLine> line_;
  Mutex mutex_;
};

void Measure(const std::string& name, const std::function<Engine()>& open,
             std::unique_ptr<SqlClient> client, const Words& words, Report& report) {
  const auto domain = [&] {
    auto locks = open();
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*std::move(locks));
  };
  const auto one = domain();
  const auto two = domain();
  std::vector<std::unique_ptr<Raw>> lines;
  for (size_t i = 0; i < kLines; i++) {
    lines.push_back(std::make_unique<Raw>(*client, words));
  }
  constexpr int64_t kHanded = 1'000;
  const auto hand_off = [&] {
    Need(lines[0]->Take(kHanded), "the raw name was taken");
    const double took =
        SpunHandOff([&] { return lines[1]->Take(kHanded); }, [&] { lines[0]->Give(kHanded); });
    lines[1]->Give(kHanded);
    return took;
  };
  MeasureLocks({.name = name + ": ",
                .one = *one,
                .two = *two,
                .raw =
                    [&](size_t thread) {
                      return [&line = *lines[thread % kLines],
                              key = static_cast<int64_t>(thread) + 1] { line.Pair(key); };
                    },
                .raw_hand_off = hand_off,
                .pairs = 300,
                .hand_offs = 100},
               report);
}

int Main(int argc, char** argv) {
  Report report("locks/sessions", argc, argv);
#ifdef ONCEMQ_WITH_POSTGRES
  if (const auto missing = testing::PostgresServer::Missing()) {
    Need(false, missing->c_str());
  }
  const auto postgres = testing::PostgresServer::Start();
  const std::string advisory = "postgres-advisory" + postgres->url().substr(strlen("postgres"));
  Measure(
      "postgres-advisory",
      [&] { return OpenPostgresAdvisoryLocks(advisory, {.call = kCall, .max_holds = kLines}); },
      *OpenPostgres(*ParsePostgresPlace(postgres->url())),
      {"SELECT pg_try_advisory_lock($1)::int", "SELECT pg_advisory_unlock($1)::int"}, report);
#endif
#ifdef ONCEMQ_WITH_MARIADB
  if (const auto missing = testing::MariadbServer::Missing()) {
    Need(false, missing->c_str());
  }
  const auto mariadb = testing::MariadbServer::Start();
  const std::string get_lock = "mariadb-get-lock" + mariadb->url().substr(strlen("mariadb"));
  Measure(
      "mariadb-get-lock",
      [&] { return OpenMariadbGetLockLocks(get_lock, {.call = kCall, .max_holds = kLines}); },
      *OpenMariadb(*ParseMariadbPlace(mariadb->url())),
      {"SELECT GET_LOCK(?, 0)", "SELECT RELEASE_LOCK(?)", true}, report);
#endif
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
