// SPDX-License-Identifier: Apache-2.0
// What does a lock in etcd cost? Floor: the two transactions of the simplest lock there is, a put
// of what is not there and a removal of that one, by the same client, nothing else checked; of a
// hand-off, a removal and the event of its watch. The server is a child process on loopback, one
// member.
//
//   watched         changes per second beside 64 watches of a key each; the floor, of all keys each
#include <atomic>
#include <thread>

#include "lock_bench.h"
#include "oncemq/clients/etcd_client.h"
#include "oncemq/locks/etcd_locks.h"
#include "support/etcd_server.h"

namespace oncemq::bench {
namespace {

EtcdOp Put(const std::string& key, int64_t lease = 0) {
  return {.kind = EtcdOp::Kind::kPut, .key = key, .value = "0123456789abcdef", .lease = lease};
}

EtcdOp Delete(const std::string& key) {
  return {.kind = EtcdOp::Kind::kDelete, .key = key};
}

void RawPair(EtcdClient& client, int64_t lease, const std::string& key) {
  const auto put = client.Run(EtcdTxn{.if_all = {{.what = EtcdCompare::What::kCreated, .key = key}},
                                      .then = {Put(key, lease)}});
  Need(put && put->succeeded, "the raw put failed");
  const auto removed = client.Run(EtcdTxn{
      .if_all = {{.what = EtcdCompare::What::kCreated, .key = key, .number = put->header.revision}},
      .then = {Delete(key)}});
  Need(removed && removed->succeeded, "the raw removal failed");
}

// What an event of a watch takes.
double RawEvent(EtcdClient& client) {
  std::atomic<bool> begun{false};
  std::atomic<double> heard{0};
  Need(client.Run(Put("watched")).has_value(), "no put");
  std::jthread watches([&] {
    const BootTime until = SystemClock::Instance().Boot() + std::chrono::seconds(20);
    static_cast<void>(
        client.Watch({.key = "watched", .puts = false}, until, {}, [&](const EtcdEvent& event) {
          heard = WallSeconds();
          begun = true;
          begun.notify_all();
          return event.kind == EtcdEvent::Kind::kBegun;
        }));
  });
  begun.wait(false);
  const double begin = WallSeconds();
  Need(client.Run(Delete("watched")).has_value(), "no removal");
  watches.join();
  return (heard - begin) * 1e6;
}

// Changes per second while so many watch a key each, or all of them everything.
double Watched(EtcdClient& client, bool everything) {
  constexpr int kWatches = 64;
  constexpr int kChanges = 1'000;
  std::atomic<int> begun{0};
  std::stop_source stop;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kWatches; t++) {
    threads.emplace_back([&, t] {
      const std::string key = everything ? "w/" : "w/" + std::to_string(t);
      const BootTime until = SystemClock::Instance().Boot() + std::chrono::seconds(60);
      static_cast<void>(client.Watch({.key = key, .end = everything ? "w0" : ""}, until,
                                     stop.get_token(), [&](const EtcdEvent& event) {
                                       begun += event.kind == EtcdEvent::Kind::kBegun ? 1 : 0;
                                       return true;
                                     }));
    });
  }
  while (begun < kWatches) {
    std::this_thread::yield();
  }
  const double begin = WallSeconds();
  for (int i = 0; i < kChanges; i++) {
    Need(client.Run(Put("w/" + std::to_string(i % kWatches))).has_value(), "no put");
  }
  const double took = WallSeconds() - begin;
  stop.request_stop();
  return kChanges / took;
}

int Main(int argc, char** argv) {
  if (const auto missing = testing::EtcdServer::Missing()) {
    std::fprintf(stderr, "locks_etcd: %s\n", missing->c_str());
    return 1;
  }
  Report report("locks/etcd", argc, argv);
  const auto server = testing::EtcdServer::Start();
  const auto open = [&] {
    auto locks = OpenEtcdLocks(server->url(), {.max_connections = 64});
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*locks);
  };
  const auto one = open();
  const auto two = open();
  const auto client = EtcdClient::Open(*ParseEtcdEndpoint(server->url()), {}, 64);
  Need(client.has_value(), "no client");
  const auto lease = (*client)->Grant(std::chrono::seconds(600));
  Need(lease.has_value(), "no lease");
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw =
                    [&](size_t thread) {
                      return [&, key = "lock" + std::to_string(thread)] {
                        RawPair(**client, lease->id, key);
                      };
                    },
                .raw_hand_off = [&] { return RawEvent(**client); },
                .pairs = 300},
               report);
  report.Add("watched", Watched(**client, false), "changes/s", Watched(**client, true));
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
