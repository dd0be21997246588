// SPDX-License-Identifier: Apache-2.0
// What does a lock over five masters cost? Floor: the two raw commands of the simplest lock there
// is, SET NX PX and DEL, sent by one thread to all five before it waits for all of them, nothing
// checked. The masters are child processes on loopback.
#include <hiredis/hiredis.h>

#include "lock_bench.h"
#include "oncemq/locks/redlock_locks.h"
#include "support/redis_masters.h"

namespace oncemq::bench {
namespace {

constexpr size_t kMasters = 5;

class Raw {
 public:
  explicit Raw(testing::RedisMasters& masters) {
    for (size_t i = 0; i < masters.size(); i++) {
      contexts_.push_back(redisConnect("127.0.0.1", masters[i].port()));
      Need(contexts_.back() != nullptr && contexts_.back()->err == 0, "no connection");
    }
  }
  ~Raw() {
    for (redisContext* context : contexts_) {
      redisFree(context);
    }
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void Pair() const {
    Say("SET lock 0123456789abcdef NX PX 30000");
    Say("DEL lock");
  }

 private:
  void Say(const char* command) const {
    for (redisContext* context : contexts_) {
      int done = 0;
      redisAppendCommand(context, command);
      while (done == 0) {
        Need(redisBufferWrite(context, &done) == REDIS_OK, "the raw pair failed");
      }
    }
    for (redisContext* context : contexts_) {
      void* reply = nullptr;
      Need(redisGetReply(context, &reply) == REDIS_OK, "the raw pair failed");
      freeReplyObject(reply);
    }
  }

  std::vector<redisContext*> contexts_;
};

int Main(int argc, char** argv) {
  if (const auto missing = testing::RedisServer::Missing()) {
    std::fprintf(stderr, "locks_redlock: %s\n", missing->c_str());
    return 1;
  }
  Report report("locks/redlock", argc, argv);
  testing::RedisMasters masters(kMasters);
  const auto open = [&] {
    auto locks = OpenRedlock(masters.url());
    Need(locks.has_value(), "no engine");
    return *LockDomain::Open(*locks);
  };
  const auto one = open();
  const auto two = open();
  const Raw raw(masters);
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw = [&] { raw.Pair(); },
                .wake = [] { return 250.0; },  // what a wake takes in Redis
                .hand_offs = 100},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
