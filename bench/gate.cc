// SPDX-License-Identifier: Apache-2.0
// How long a caller of the gate waits: Pre() and Final() of an operation, at 2,000 operations a
// second (or --rate) from 32 callers, counted from the moment at which each was due. Next to it, in
// the same run and at the same rate: one round trip that does nothing, and the operation by hand,
// without tokens, leases or fences. In Redis that is SET NX, then SET; in PostgreSQL INSERT ... ON
// CONFLICT DO NOTHING, then UPDATE. Neither server waits for a disk.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench_report.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/gate/gate.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"

namespace oncemq::bench {
namespace {

constexpr int kCallers = 32;
constexpr int kConnections = 24;  // of a window, and of the operations by hand: servers have 60
double per_second = 2'000;
constexpr double kMeanTarget = 500;  // us
constexpr double kP99Target = 2'000;

void MustHold(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "gate: %s\n", what);
    std::exit(3);
  }
}

struct Waits {
  double mean = 0;
  double p99 = 0;
};

// `operation` gets a number that no other one has.
Waits Paced(double seconds, const std::function<void(int64_t)>& operation) {
  static std::atomic<int64_t> operations{0};
  std::vector<std::vector<double>> waits(kCallers);
  const double begin = WallSeconds() + 0.05;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < kCallers; caller++) {
      callers.emplace_back([&, caller] {
        double due = begin + caller / per_second;
        for (; due < begin + seconds; due += kCallers / per_second) {
          std::this_thread::sleep_for(std::chrono::duration<double>(due - WallSeconds()));
          operation(++operations);
          waits[static_cast<size_t>(caller)].push_back((WallSeconds() - due) * 1e6);
        }
      });
    }
  }
  std::vector<double> all;
  double sum = 0;
  for (const std::vector<double>& some : waits) {
    for (const double wait : some) {
      all.push_back(wait);
      sum += wait;
    }
  }
  std::sort(all.begin(), all.end());
  return {sum / static_cast<double>(all.size()), all[all.size() * 99 / 100]};
}

std::function<void(int64_t)> ByGate(Gate& gate) {
  return [&gate](int64_t number) {
    PreAnswer pre = gate.Pre(Contents::OfBytes("order"), {.key = std::to_string(number)});
    MustHold(pre.state == PreState::kPermitted, pre.error.message.c_str());
    MustHold(pre.ticket.Final("receipt").has_value(), "not on record");
  };
}

void ReportWaits(Report& report, const std::string& name, const Waits& waits) {
  report.Add(name + " / mean, target", waits.mean, "us", kMeanTarget);
  report.Add(name + " / p99, target", waits.p99, "us", kP99Target);
}

std::unique_ptr<Gate> OpenGate(Result<std::unique_ptr<Window>> window) {
  MustHold(window.has_value(), "no window");
  auto gate =
      Gate::Open(*std::move(window), {.application = "bench", .within = milliseconds(5'000)});
  MustHold(gate.has_value(), "no gate");
  return *std::move(gate);
}

// A store, and three ways to ask it: one round trip that does nothing, an operation by hand and by
// the gate. The store stays up for as long as they are there.
struct MeasuredStore {
  std::string name;
  std::shared_ptr<void> server;
  std::function<void(int64_t)> round_trip;
  std::function<void(int64_t)> by_hand;
  std::unique_ptr<Gate> gate;
};

MeasuredStore InPostgres() {
  std::shared_ptr<testing::PostgresServer> server = testing::PostgresServer::Start();
  MustHold(MigratePostgresWindow(server->url(), "oncemq").has_value(), "no tables");
  PostgresWindowOptions options;
  options.scope = "gate";
  options.level = Level::kOpaque;
  options.max_connections = kConnections;
  auto gate = OpenGate(OpenPostgresWindow(server->url(), options));
  const std::shared_ptr<SqlClient> client =
      *OpenPostgres(*ParsePostgresEndpoint(server->url()), {.durable = true}, kConnections);
  MustHold(client->Run({"CREATE TABLE seen (id bigint PRIMARY KEY, result bytea)"}).has_value(),
           "no table");
  const auto round_trip = [client](int64_t) {
    MustHold(client->Run({"SELECT 1"}).has_value(), "no answer");
  };
  const auto by_hand = [client](int64_t number) {
    const auto pre = client->Run({"INSERT INTO seen VALUES ($1) ON CONFLICT DO NOTHING", {number}});
    MustHold(pre && pre->affected == 1, "the operation by hand failed");
    MustHold(client
                 ->Run({"UPDATE seen SET result = $2 WHERE id = $1",
                        {number, std::string_view("receipt")}})
                 .has_value(),
             "the operation by hand failed");
  };
  return {"postgres", server, round_trip, by_hand, std::move(gate)};
}

MeasuredStore InRedis() {
  std::shared_ptr<testing::RedisServer> server = testing::RedisServer::Start();
  RedisWindowOptions options;
  options.scope = "gate";
  options.level = Level::kOpaque;
  options.max_connections = kConnections;
  auto gate = OpenGate(OpenRedisWindow(server->url(), options));
  const std::shared_ptr<RedisClient> client =
      *RedisClient::Open(*ParseRedisEndpoint(server->url()), {}, kConnections);
  const auto run = [client](const RedisCommand& command) {
    const auto reply = client->Run(command);
    MustHold(reply.has_value(), "no answer");
    return *reply;
  };
  const auto round_trip = [run](int64_t) { run(RedisCommand{"PING"}); };
  const auto by_hand = [run](int64_t number) {
    const std::string key = "seen:" + std::to_string(number);
    const RedisReply pre = run(RedisCommand{"SET", key, "running", "NX", "PX", "3600000"});
    MustHold(pre.text == "OK", "the operation by hand failed");
    run(RedisCommand{"SET", key, "receipt", "PX", "604800000"});
  };
  return {"redis", server, round_trip, by_hand, std::move(gate)};
}

void Measure(const MeasuredStore& store, double seconds, int rounds, Report& report) {
  std::vector<double> means, p99s, hand_means, hand_p99s, trips;
  // Connections are made, and plans.
  Paced(1, store.by_hand);
  Paced(2, ByGate(*store.gate));
  for (int round = 0; round < rounds; round++) {
    trips.push_back(Paced(seconds / 2, store.round_trip).mean);
    const Waits by_hand = Paced(seconds, store.by_hand);
    const Waits ours = Paced(seconds, ByGate(*store.gate));
    means.push_back(ours.mean);
    p99s.push_back(ours.p99);
    hand_means.push_back(by_hand.mean);
    hand_p99s.push_back(by_hand.p99);
  }
  ReportWaits(report, store.name, {Median(means), Median(p99s)});
  report.AddPairs(store.name + " / mean, one round trip", means, "us", trips);
  report.AddPairs(store.name + " / mean, by hand", means, "us", hand_means);
  report.AddPairs(store.name + " / p99, by hand", p99s, "us", hand_p99s);
}

int Main(int argc, char** argv) {
  Report report("gate", argc, argv);
  const bool quick = HasFlag(argc, argv, "--quick");
  const double seconds = quick ? 2 : 10;
  if (const auto rate = Argument(argc, argv, "--rate")) {
    per_second = std::atof(rate->c_str());
  }
  const auto memory =
      OpenGate(OpenMemoryWindow({.level = Level::kOpaque}, SystemClock::Instance()));
  ReportWaits(report, "memory", Paced(seconds, ByGate(*memory)));
  for (const auto& missing :
       {testing::PostgresServer::Missing(), testing::RedisServer::Missing()}) {
    MustHold(!missing, missing ? missing->c_str() : "");
  }
  for (const auto& open : {InRedis, InPostgres}) {
    Measure(open(), seconds, quick ? 1 : 3, report);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
