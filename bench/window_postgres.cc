// SPDX-License-Identifier: Apache-2.0
// The cost of the window in PostgreSQL at the level atomic, for each message of a batch. Three
// floors do the same to two plain tables, by libpq:
//   batched   marker rows by one INSERT, one INSERT for each effect, COMMIT: one pipeline
//   arrays    markers and effects by one INSERT each, where all effects are alike
//   single    BEGIN, marker, effect, COMMIT for each message, as users write it
// One connection and one thread each. The server waits for no disk (fsync is off).
#include <array>
#include <string>
#include <vector>

#include "bench_report.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/sql_effects.h"
#include "support/postgres_server.h"

namespace oncemq::bench {
namespace {

constexpr std::string_view kEffect = "INSERT INTO effects (id, cents) VALUES ($1, $2)";

void Need(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "window/postgres: %s\n", what);
    std::exit(3);
  }
}

class Bench {
 public:
  explicit Bench(const std::string& url) {
    Need(MigratePostgresWindow(url, "oncemq").has_value(), "no tables");
    client_ = *OpenPostgres(*ParsePostgresPlace(url), {.call = milliseconds(20'000)}, 1);
    window_ = *OpenPostgresWindow(
        url, {.scope = "bench", .level = Level::kAtomic, .call = milliseconds(20'000)});
    Sql("CREATE TABLE effects (id bytea, cents bigint)");
    Sql("CREATE TABLE seen (id bytea PRIMARY KEY, part int, off bigint)");
  }

  // Microseconds of a message.
  double Ours(size_t batch, size_t messages) {
    return Timed(messages, batch, [&](const std::vector<std::string>& ids) {
      std::vector<ClaimRequest> claims;
      std::vector<CompleteRequest> done;
      for (const std::string& id : ids) {
        const Token token{1, ++tokens_};
        claims.push_back({.id = id, .token = token, .at = {0, 3, next_}});
        done.push_back({.id = id, .token = token, .at = {0, 3, next_++}});
      }
      std::vector<ClaimAnswer> answers(ids.size());
      std::vector<Change> changes(ids.size());
      Need(window_->Claim(claims, answers).has_value(), "no claim");
      const auto effects = *window_->NewEffects(0, 3, claims);
      for (const std::string& id : ids) {
        effects->Begin();
        Need(effects->sql()->Add({kEffect, {std::string_view(id), next_}}).has_value(), "no add");
        Need(effects->Keep().has_value(), "not kept");
      }
      Need(window_->CompleteWith(*effects, done, changes).has_value() &&
               changes.front() == Change::kMade,
           "not written");
    });
  }
  double Batched(size_t batch, size_t messages) {
    return Timed(messages, batch, [&](const std::vector<std::string>& ids) {
      const std::vector<std::string_view> texts(ids.begin(), ids.end());
      std::vector<SqlStatement> statements{{kMarkers, {SqlTexts(texts), int64_t{3}, next_}}};
      for (const std::string& id : ids) {
        statements.push_back({kEffect, {std::string_view(id), next_++}});
      }
      const auto done = client_->Try(statements);
      Need(done && !done->refusal, "the floor failed");
    });
  }
  double Arrays(size_t batch, size_t messages) {
    return Timed(messages, batch, [&](const std::vector<std::string>& ids) {
      const std::vector<std::string_view> texts(ids.begin(), ids.end());
      const std::array statements{
          SqlStatement{kMarkers, {SqlTexts(texts), int64_t{3}, next_}},
          SqlStatement{"INSERT INTO effects SELECT id, $2 FROM unnest($1::bytea[]) AS id",
                       {SqlTexts(texts), next_++}}};
      const auto done = client_->Try(statements);
      Need(done && !done->refusal, "the floor failed");
    });
  }
  double Single(size_t messages) {
    return Timed(messages, 1, [&](const std::vector<std::string>& ids) {
      const std::string_view id = ids.front();
      auto transaction = client_->Begin();
      Need(transaction.has_value(), "no transaction");
      const auto seen =
          (*transaction)
              ->Run({"INSERT INTO seen VALUES ($1, 3, $2) ON CONFLICT DO NOTHING", {id, next_}});
      Need(seen && seen->affected == 1, "the floor failed");
      Need((*transaction)->Run({kEffect, {id, next_++}}).has_value(), "the floor failed");
      Need((*transaction)->Commit().has_value(), "the floor failed");
    });
  }

 private:
  static constexpr std::string_view kMarkers =
      "INSERT INTO seen SELECT id, $2, $3 FROM unnest($1::bytea[]) AS id";

  void Sql(const char* text) { Need(client_->Run({text}).has_value(), text); }
  template <class Work>
  double Timed(size_t messages, size_t batch, Work work) {
    std::vector<std::vector<std::string>> batches;
    for (size_t i = 0; i < messages; i += batch) {
      std::vector<std::string>& ids = batches.emplace_back();
      for (size_t j = 0; j < batch; j++) {
        ids.push_back("payment-" + std::to_string(ids_++) + "-0123456789");
      }
    }
    const double begin = WallSeconds();
    for (const std::vector<std::string>& ids : batches) {
      work(ids);
    }
    return (WallSeconds() - begin) * 1e6 / static_cast<double>(batches.size() * batch);
  }

  std::unique_ptr<SqlClient> client_;
  std::unique_ptr<Window> window_;
  uint64_t tokens_ = 0;
  int64_t next_ = 0;
  int64_t ids_ = 0;
};

int Main(int argc, char** argv) {
  if (const auto missing = testing::PostgresServer::Missing()) {
    Need(false, missing->c_str());
  }
  const auto server = testing::PostgresServer::Start();
  Bench bench(server->url());
  Report report("window/postgres", argc, argv);
  const size_t rounds = HasFlag(argc, argv, "--quick") ? 3 : 9;
  for (const size_t batch : {1, 16, 128, 500}) {
    const size_t messages = batch == 1 ? 2'000 : 16'000;
    std::vector<double> ours, batched, arrays, single;
    for (size_t round = 0; round < rounds; round++) {
      ours.push_back(bench.Ours(batch, messages));
      batched.push_back(bench.Batched(batch, messages));
      arrays.push_back(bench.Arrays(batch, messages));
      single.push_back(bench.Single(1'000));
    }
    const std::string name = "batches of " + std::to_string(batch) + " / ";
    report.AddPairs(name + "batched", batched, "us", ours);
    report.AddPairs(name + "arrays", arrays, "us", ours);
    report.AddPairs(name + "single", single, "us", ours);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
