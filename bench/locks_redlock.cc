// SPDX-License-Identifier: Apache-2.0
// What does a lock over five masters cost? Floor: the two raw commands of the simplest lock there
// is, SET NX PX and DEL, sent by one thread to all five before it waits for all of them, nothing
// checked; of a hand-off, DEL at all five, and three that one who asks without a pause has set. The
// masters are child processes on loopback.
#include <hiredis/hiredis.h>

#include <memory>

#include "lock_bench.h"
#include "oncemq/locks/redlock_locks.h"
#include "support/redis_masters.h"

namespace oncemq::bench {
namespace {

constexpr size_t kMasters = 5;
constexpr size_t kQuorum = 3;

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
  // At how many.
  size_t Take(const std::string& name) const {
    return Say("SET " + name + " 0123456789abcdef NX PX 30000");
  }
  void Give(const std::string& name) const { Say("DEL " + name); }

 private:
  size_t Say(const std::string& command) const {
    for (redisContext* context : contexts_) {
      int done = 0;
      redisAppendCommand(context, command.c_str());
      while (done == 0) {
        Need(redisBufferWrite(context, &done) == REDIS_OK, "the raw pair failed");
      }
    }
    size_t set = 0;
    for (redisContext* context : contexts_) {
      void* reply = nullptr;
      Need(redisGetReply(context, &reply) == REDIS_OK, "the raw pair failed");
      set += static_cast<redisReply*>(reply)->type == REDIS_REPLY_STATUS ? 1 : 0;
      freeReplyObject(reply);
    }
    return set;
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
  const Raw holder(masters);
  const Raw waiter(masters);
  const auto hand_off = [&] {
    Need(holder.Take("handed") == kMasters, "the raw name was taken");
    size_t set = 0;
    const auto take = [&] {
      set += waiter.Take("handed");
      return set >= kQuorum;
    };
    const double took = SpunHandOff(take, [&] { holder.Give("handed"); });
    waiter.Give("handed");
    return took;
  };
  MeasureLocks({.name = {},
                .one = *one,
                .two = *two,
                .raw =
                    [&](size_t thread) {
                      return [raw = std::make_shared<Raw>(masters),
                              name = "lock" + std::to_string(thread)] {
                        Need(raw->Take(name) == kMasters, "the raw name was taken");
                        raw->Give(name);
                      };
                    },
                .raw_hand_off = hand_off,
                .hand_offs = 100},
               report);
  return 0;
}

}  // namespace
}  // namespace oncemq::bench

int main(int argc, char** argv) {
  return oncemq::bench::Main(argc, argv);
}
