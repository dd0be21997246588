// SPDX-License-Identifier: Apache-2.0
// What does a lock in Redis cost? Floor: the two raw commands of the simplest lock there is, SET NX
// PX and DEL, one connection, nothing checked. The server is a child process on loopback.
//
//   pair            acquire and release, nobody else wants it: median and 99th percentile
//   hand-off        from the call of release to the return of the waiter's acquire
//   contenders      locks per second with 1, 8 and 64 threads for one name, and their fairness
#include <hiredis/hiredis.h>

#include <atomic>
#include <memory>
#include <thread>

#include "bench_report.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"

namespace oncemq {
namespace {

constexpr int kRounds = 10;
constexpr int kPairs = 2'000;

double At(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

void Need(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "locks_redis: %s\n", what);
    std::exit(1);
  }
}

struct Raw {
  redisContext* context;
  explicit Raw(uint16_t port) : context(redisConnect("127.0.0.1", port)) {
    Need(context != nullptr && context->err == 0, "no connection");
  }
  ~Raw() { redisFree(context); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void Pair() const {
    freeReplyObject(redisCommand(context, "SET lock %s NX PX 30000", "0123456789abcdef"));
    freeReplyObject(redisCommand(context, "DEL lock"));
  }
};

// Turn and turn about, so that what the machine does hits both. Returns what a raw pair takes.
double Pairs(LockDomain& domain, const Raw& raw, bench::Report& report) {
  std::vector<double> ours;
  std::vector<double> floors;
  std::vector<double> ours_late;
  std::vector<double> floors_late;
  for (int round = 0; round < kRounds; round++) {
    std::vector<double> mine;
    std::vector<double> theirs;
    for (int i = 0; i < kPairs; i++) {
      double begin = bench::WallSeconds();
      raw.Pair();
      theirs.push_back((bench::WallSeconds() - begin) * 1e6);
      begin = bench::WallSeconds();
      auto lease = domain.Acquire("pair");
      Need(lease && *lease && (*lease)->Release() == Released::kYes, "the pair failed");
      mine.push_back((bench::WallSeconds() - begin) * 1e6);
    }
    ours.push_back(At(mine, 0.5));
    floors.push_back(At(theirs, 0.5));
    ours_late.push_back(At(mine, 0.99));
    floors_late.push_back(At(theirs, 0.99));
  }
  report.AddPairs("pair, median", ours, "us", floors);
  report.AddPairs("pair, 99th percentile", ours_late, "us", floors_late);
  return bench::Median(floors);
}

void HandOffs(LockDomain& one, LockDomain& two, bench::Report& report) {
  constexpr int kTimes = 2'000;
  constexpr double kWanted = 250;
  std::vector<double> took;
  for (int i = 0; i < kTimes; i++) {
    auto holder = one.Acquire("hand-off");
    Need(holder && *holder, "no hold");
    std::atomic<double> got{0};
    std::jthread waits([&] {
      const auto lease = two.Acquire("hand-off");
      got = bench::WallSeconds();
      Need(lease && *lease, "no turn");
    });
    while (one.engine().Look("hand-off")->parties.size() < 2) {
      std::this_thread::yield();
    }
    const double begin = bench::WallSeconds();
    (*holder)->Release();
    waits.join();
    took.push_back((got - begin) * 1e6);
  }
  report.Add("hand-off, median (wanted)", At(took, 0.5), "us", kWanted);
  report.Add("hand-off, 99th percentile (wanted)", At(took, 0.99), "us", kWanted);
}

// Beside it, how many raw pairs one connection makes.
void Contenders(LockDomain& domain, int count, double raw_pair, bench::Report& report) {
  constexpr double kSeconds = 2;
  std::vector<uint64_t> got(static_cast<size_t>(count));
  std::atomic<bool> ends{false};
  const double begin = bench::WallSeconds();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < count; t++) {
      threads.emplace_back([&, t] {
        while (!ends) {
          const auto lease = domain.Acquire("contended");
          Need(lease && *lease, "no turn");
          got[static_cast<size_t>(t)]++;
        }
      });
    }
    SleepFor(milliseconds(static_cast<int64_t>(kSeconds * 1000)));
    ends = true;
  }
  uint64_t all = 0;
  for (const uint64_t one : got) {
    all += one;
  }
  const std::string who = std::to_string(count) + (count == 1 ? " contender" : " contenders");
  const double took = bench::WallSeconds() - begin;
  report.Add(who, static_cast<double>(all) / took, "locks/s", 1e6 / raw_pair);
  report.Add(who + ", least to most",
             static_cast<double>(*std::min_element(got.begin(), got.end())), "locks",
             static_cast<double>(*std::max_element(got.begin(), got.end())));
}

int Main(int argc, char** argv) {
  if (const auto missing = testing::RedisServer::Missing()) {
    std::fprintf(stderr, "locks_redis: %s\n", missing->c_str());
    return 1;
  }
  bench::Report report("locks/redis", argc, argv);
  const auto server = testing::RedisServer::Start();
  const auto open = [&] {
    auto locks = OpenRedisLocks(server->url(), {.max_connections = 64});
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*locks);
  };
  const auto one = open();
  const auto two = open();
  const Raw raw(server->port());
  const double raw_pair = Pairs(*one, raw, report);
  HandOffs(*one, *two, report);
  for (const int count : {1, 8, 64}) {
    Contenders(*one, count, raw_pair, report);
  }
  return 0;
}

}  // namespace
}  // namespace oncemq

int main(int argc, char** argv) {
  return oncemq::Main(argc, argv);
}
