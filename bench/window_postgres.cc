// SPDX-License-Identifier: Apache-2.0
// The cost of the window in PostgreSQL at the level atomic, for each message of a batch. Three
// floors do the same to two plain tables, by libpq:
//   batched   marker rows by one INSERT, one INSERT for each effect, COMMIT: one pipeline
//   arrays    markers and effects by one INSERT each, where all effects are alike
//   single    BEGIN, marker, effect, COMMIT for each message, as users write it
// One connection and one thread each. The server waits for no disk (fsync is off). Then the time
// from when a message is due to its commit, at 2,000 messages a second; and the same costs where
// ids do not rise, as UUIDs do not.
#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/hash.h"
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

using Ids = std::vector<std::string>;

class Bench {
 public:
  Bench(const std::string& url, bool random) : random_(random) {
    Need(MigratePostgresWindow(url, "oncemq").has_value(), "no tables");
    client_ = *OpenPostgres(*ParsePostgresEndpoint(url), {.call = milliseconds(20'000)}, 1);
    window_ = *OpenPostgresWindow(
        url, {.scope = "bench", .level = Level::kAtomic, .call = milliseconds(20'000)});
    owner_epoch_ = *window_->RaiseOwnerEpoch(0, 3, 0);
    Sql("CREATE TABLE effects (id bytea, cents bigint)");
    Sql("CREATE TABLE seen (id bytea PRIMARY KEY, part int, off bigint)");
  }

  // As the runtime calls the window for a run of an owned partition.
  void Ours(const Ids& ids) {
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> done;
    for (const std::string& id : ids) {
      const Token token{1, ++tokens_};
      const LogTime time{milliseconds(1'700'000'000'000 + next_)};
      claims.push_back({.id = id,
                        .token = token,
                        .at = {0, 3, next_},
                        .owner_epoch = owner_epoch_,
                        .time = time,
                        .first = true});
      done.push_back({.id = id, .token = token, .at = {0, 3, next_++}, .time = time});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    std::vector<MarkerChange> changes(ids.size());
    Need(window_->Claim(claims, answers).has_value() &&
             answers.front().answer == ClaimVerdict::kGranted,
         "no claim");
    const auto effects = *window_->NewEffects(0, 3, claims);
    for (const std::string& id : ids) {
      effects->Begin();
      Need(effects->sql()->Add({kEffect, {std::string_view(id), next_}}).has_value(), "no add");
      Need(effects->Keep().has_value(), "not kept");
    }
    Need(window_->CompleteWith(*effects, done, changes).has_value() &&
             changes.front() == MarkerChange::kMade,
         "not written");
  }
  void Batched(const Ids& ids) {
    const std::vector<std::string_view> texts(ids.begin(), ids.end());
    std::vector<SqlStatement> statements{{kMarkers, {SqlTexts(texts), int64_t{3}, next_}}};
    for (const std::string& id : ids) {
      statements.push_back({kEffect, {std::string_view(id), next_++}});
    }
    const auto done = client_->Try(statements);
    Need(done && !done->refusal, "the floor failed");
  }
  void Arrays(const Ids& ids) {
    const std::vector<std::string_view> texts(ids.begin(), ids.end());
    const std::array statements{
        SqlStatement{kMarkers, {SqlTexts(texts), int64_t{3}, next_}},
        SqlStatement{"INSERT INTO effects SELECT id, $2 FROM unnest($1::bytea[]) AS id",
                     {SqlTexts(texts), next_++}}};
    const auto done = client_->Try(statements);
    Need(done && !done->refusal, "the floor failed");
  }
  void Single(const Ids& ids) {
    const std::string_view id = ids.front();
    auto transaction = client_->Begin();
    Need(transaction.has_value(), "no transaction");
    const auto seen =
        (*transaction)
            ->Run({"INSERT INTO seen VALUES ($1, 3, $2) ON CONFLICT DO NOTHING", {id, next_}});
    Need(seen && seen->affected == 1, "the floor failed");
    Need((*transaction)->Run({kEffect, {id, next_++}}).has_value(), "the floor failed");
    Need((*transaction)->Commit().has_value(), "the floor failed");
  }

  // Microseconds of a message, in batches one after the other.
  template <class Way>
  double Timed(Way way, size_t batch, size_t messages) {
    std::vector<Ids> batches;
    for (size_t i = 0; i < messages; i += batch) {
      batches.push_back(NewIds(batch));
    }
    const double begin = WallSeconds();
    for (const Ids& ids : batches) {
      (this->*way)(ids);
    }
    return (WallSeconds() - begin) * 1e6 / static_cast<double>(batches.size() * batch);
  }

  // Microseconds from a message's due time to its commit, sorted. A batch is all that is due.
  template <class Way>
  std::vector<double> Paced(Way way, size_t messages) {
    constexpr double kEvery = 1.0 / 2'000;
    constexpr size_t kMost = 500;
    std::vector<double> latencies;
    const double begin = WallSeconds();
    while (latencies.size() < messages) {
      const size_t first = latencies.size();
      const double early = begin + static_cast<double>(first) * kEvery - WallSeconds();
      if (early > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(early));
      }
      const auto due = static_cast<size_t>((WallSeconds() - begin) / kEvery) + 1;
      const size_t size = std::clamp<size_t>(due - first, 1, kMost);
      (this->*way)(NewIds(size));
      const double end = WallSeconds();
      for (size_t i = first; i < first + size; i++) {
        latencies.push_back((end - begin - static_cast<double>(i) * kEvery) * 1e6);
      }
    }
    std::sort(latencies.begin(), latencies.end());
    return latencies;
  }

 private:
  static constexpr std::string_view kMarkers =
      "INSERT INTO seen SELECT id, $2, $3 FROM unnest($1::bytea[]) AS id";

  void Sql(const char* text) { Need(client_->Run({text}).has_value(), text); }
  Ids NewIds(size_t count) {
    Ids ids;
    for (size_t i = 0; i < count; i++) {
      const auto random = static_cast<long long>(MixBits(static_cast<uint64_t>(ids_)) >> 1);
      ids.push_back((random_ ? std::to_string(random) : "payment") + "-" + std::to_string(ids_++) +
                    "-0123456789");
    }
    return ids;
  }

  const bool random_;
  std::unique_ptr<SqlClient> client_;
  std::unique_ptr<Window> window_;
  OwnerEpoch owner_epoch_ = 0;
  uint64_t tokens_ = 0;
  int64_t next_ = 0;
  int64_t ids_ = 0;
};

void MeasureBatches(Bench& bench, Report& report, std::string name, size_t batch, size_t rounds) {
  const size_t messages = batch == 1 ? 2'000 : 16'000;
  std::vector<double> ours, batched, arrays, single;
  for (size_t round = 0; round < rounds; round++) {
    ours.push_back(bench.Timed(&Bench::Ours, batch, messages));
    batched.push_back(bench.Timed(&Bench::Batched, batch, messages));
    arrays.push_back(bench.Timed(&Bench::Arrays, batch, messages));
    single.push_back(bench.Timed(&Bench::Single, 1, 1'000));
  }
  name += "batches of " + std::to_string(batch) + " / ";
  report.AddPairs(name + "batched", batched, "us", ours);
  report.AddPairs(name + "arrays", arrays, "us", ours);
  report.AddPairs(name + "single", single, "us", ours);
}

void MeasureLatency(Bench& bench, Report& report, size_t rounds) {
  constexpr size_t kMessages = 4'000;
  std::vector<double> ours, batched, ours_late, batched_late;
  for (size_t round = 0; round < rounds; round++) {
    const std::vector<double> mine = bench.Paced(&Bench::Ours, kMessages);
    const std::vector<double> theirs = bench.Paced(&Bench::Batched, kMessages);
    ours.push_back(mine[mine.size() / 2]);
    batched.push_back(theirs[theirs.size() / 2]);
    ours_late.push_back(mine[mine.size() * 99 / 100]);
    batched_late.push_back(theirs[theirs.size() * 99 / 100]);
  }
  report.AddPairs("2,000 a second, median / batched", batched, "us", ours);
  report.AddPairs("2,000 a second, 99th / batched", batched_late, "us", ours_late);
}

int Main(int argc, char** argv) {
  if (const auto missing = testing::PostgresServer::Missing()) {
    Need(false, missing->c_str());
  }
  Report report("window/postgres", argc, argv);
  const size_t rounds = HasFlag(argc, argv, "--quick") ? 3 : 9;
  for (const bool random : {false, true}) {
    const auto server = testing::PostgresServer::Start({"shared_buffers=256MB"});
    Bench bench(server->url(), random);
    for (const size_t batch : {1, 16, 128, 500}) {
      MeasureBatches(bench, report, random ? "random ids, " : "", batch, rounds);
    }
    if (!random) {
      MeasureLatency(bench, report, rounds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
