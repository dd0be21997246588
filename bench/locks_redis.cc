// SPDX-License-Identifier: Apache-2.0
// What does a lock in Redis cost? Floor: the two raw commands of the simplest lock there is, SET NX
// PX and DEL, one connection, nothing checked. The server is a child process on loopback.
#include <hiredis/hiredis.h>

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
  void Pair() const {
    freeReplyObject(redisCommand(context, "SET lock %s NX PX 30000", "0123456789abcdef"));
    freeReplyObject(redisCommand(context, "DEL lock"));
  }
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
  const Raw raw(server->port());
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw = [&] { raw.Pair(); },
                .wake = [] { return 250.0; },  // wanted
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
