// SPDX-License-Identifier: Apache-2.0
// What does a lock in Redis cost? Floor: the two raw commands of the simplest lock there is, SET NX
// PX and DEL, one connection, nothing checked; of a hand-off, DEL and PUBLISH to one that hears it
// and asks by SET NX PX. The server is a child process on loopback.
#include <hiredis/hiredis.h>

#include <memory>

#include "lock_bench.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"

namespace oncemq::bench {
namespace {

struct Raw {
  redisContext* context;
  explicit Raw(uint16_t port) : context(redisConnect("127.0.0.1", port)) {
    Need(context != nullptr && context->err == 0, "no connection");
  }
  ~Raw() { redisFree(context); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void Take(const std::string& name) const {
    auto* reply = static_cast<redisReply*>(
        redisCommand(context, "SET %s 0123456789abcdef NX PX 30000", name.c_str()));
    Need(reply != nullptr && reply->type == REDIS_REPLY_STATUS, "the raw SET failed");
    freeReplyObject(reply);
  }
  void Give(const std::string& name) const {
    freeReplyObject(redisCommand(context, "DEL %s", name.c_str()));
  }
  // What was appended, or what is pushed.
  void Read() const {
    void* reply = nullptr;
    Need(redisGetReply(context, &reply) == REDIS_OK, "no answer");
    freeReplyObject(reply);
  }
};

class RawHandOff {
 public:
  explicit RawHandOff(uint16_t port) : holder_(port), waiter_(port), hears_(port) {
    freeReplyObject(redisCommand(hears_.context, "SUBSCRIBE freed"));
  }
  double operator()() const {
    holder_.Take("handed");
    std::atomic<bool> waits{false};
    double got = 0;
    std::jthread waiter([&] {
      waits = true;
      hears_.Read();
      waiter_.Take("handed");
      got = WallSeconds();
    });
    while (!waits) {
      std::this_thread::yield();
    }
    const double begin = WallSeconds();
    redisAppendCommand(holder_.context, "DEL handed");
    redisAppendCommand(holder_.context, "PUBLISH freed handed");
    holder_.Read();
    holder_.Read();
    waiter.join();
    waiter_.Give("handed");
    return (got - begin) * 1e6;
  }

 private:
  const Raw holder_;
  const Raw waiter_;
  const Raw hears_;
};

int Main(int argc, char** argv) {
  if (const auto missing = testing::RedisServer::Missing()) {
    std::fprintf(stderr, "locks_redis: %s\n", missing->c_str());
    return 1;
  }
  Report report("locks/redis", argc, argv);
  const auto server = testing::RedisServer::Start();
  const auto open = [&] {
    auto locks = OpenRedisLocks(server->url(), {.max_connections = 64});
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*locks);
  };
  const auto one = open();
  const auto two = open();
  const RawHandOff hand_off(server->port());
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw =
                    [&](size_t thread) {
                      return [raw = std::make_shared<Raw>(server->port()),
                              name = "lock" + std::to_string(thread)] {
                        raw->Take(name);
                        raw->Give(name);
                      };
                    },
                .raw_hand_off = [&] { return hand_off(); },
                .pairs = 2'000,
                .hand_offs = 2'000},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
